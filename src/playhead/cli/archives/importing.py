"""Files → [importing] → collector.  `playhead import`: our exports, OTLP files and exports of other tools.

`sources` reads the files as items: records, contents, threads and scores. `Uploader` sends them to a collector in the
same way as the SDK does. `ImportPosition` stores how many items were sent, in the order in which the files are read,
so that the same command continues after an interruption. A position is valid only for the same, unchanged files, and
for the same collector in the same epoch.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx
import orjson
import typer

from playhead.archive.documents import Format
from playhead.archive.records import JSON, FilePlace, OtlpRecord, UnreadableRecord, request_of
from playhead.cli import output
from playhead.cli.archives.sources import (
    ExportedNote,
    ExportedScore,
    ImportFiles,
    Item,
    StoredContent,
    StoredThread,
    existing,
    total_bytes,
)
from playhead.cli.connection import CollectorAddress
from playhead.cli.output import ShowProgress, progress
from playhead.client import Client
from playhead.errors import BadRequest, ClientError, CollectorUnreachable, Conflict, NotAuthorized, NotFound
from playhead.export.counters import ShipCounters
from playhead.export.delivery import BatchSender
from playhead.export.http import CollectorEndpoint
from playhead.model.canonical import Content, canonical_json, parse_json
from playhead.model.names import STORED_HEADER
from playhead.outbound.otlp import rejected_logs, rejected_spans
from playhead.settings import sdk as settings
from playhead.settings.sdk import Settings
from playhead.wire.delays import backoff_delays
from playhead.wire.export_layout import NoteLine, ScoreLine
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead.wire.retries import Unavailable

T = TypeVar("T")


# --- sending ----------------------------------------------------------------------------------------------------------

# As much as the SDK sends at a time: receivers accept it, and larger requests would not compress better.
MAX_BYTES, MAX_RECORDS = 4 * 2**20, 1_000
_MAX_REFS = 1_000
# Enough time for a collector to restart.
_RETRY_SECONDS = 60.0
_ERROR_SENTENCES = {
    "unreachable": "the collector at {at} cannot be reached: start one with `playhead serve`, or name it with --url",
    "timeout": "the collector at {at} does not answer in time",
    "stranger": "what answers at {at} is no Playhead collector: name one with --url",
    "another answer": "what answers at {at} is no Playhead collector any more: see what is at that address",
    "busy": "the collector at {at} cannot take more now",
    "everything refused": "the collector at {at} refuses everything: see its log, and whether the two versions fit",
    "odd answer": "{at} gives answers that no collector gives: see what is between it and this program",
}
_WITHOUT_WAITING = {"stranger", "another answer", "everything refused"}


@dataclass(slots=True)
class Imported:
    """Counts of what was sent, and of what was new. `content_bytes`: with repetitions; `new_bytes`: without what the
    collector had."""

    spans: int = 0
    logs: int = 0
    scores: int = 0
    notes: int = 0
    duplicates: int = 0
    contents: int = 0
    content_bytes: int = 0
    new_contents: int = 0
    new_bytes: int = 0
    runs: set[int] = field(default_factory=set[int])


class Uploader:
    """Sends data to one collector. `refuse` is called with each item that the collector refuses."""

    def __init__(self, settings: Settings, refuse: Callable[[UnreadableRecord], None], client: Client) -> None:
        """`client`: a client of the same collector; `close` closes it, too."""
        self._client = client
        self._endpoint = CollectorEndpoint(settings, ShipCounters())
        self._sending = BatchSender(self._endpoint.shown)
        self._refuse = refuse
        self.done = Imported()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()
        self._endpoint.close()

    def epoch(self) -> str:
        """Returns the collector's epoch: it changes when the collector may have lost contents, or is another one."""
        return self._with_retries(lambda: str(self._ask([])["epoch"]))

    # --- spans and log records ------------------------------------------------------------------------------------

    def records(self, batch: Sequence[OtlpRecord]) -> None:
        """Sends records of one signal and one form. Raises CollectorUnreachable, NotAuthorized."""
        accepted, given_up = self._with_retries(lambda: self._sending.send(batch, self._send_records))
        if batch[0].signal == "traces":
            self.done.spans += accepted
        else:
            self.done.logs += accepted
        self.done.runs.update(hash(entry.run) for entry in batch)
        for entry in given_up:
            self._refuse(UnreadableRecord(entry.item.where, f"the collector refuses it: {entry.why}"))

    def _send_records(self, batch: Sequence[OtlpRecord]) -> tuple[int, str]:
        if not batch:
            return 0, ""
        signal, form = batch[0].signal, batch[0].form
        answer = self._endpoint.exchange(f"/v1/{signal}", request_of(batch), form)
        self._count(answer)
        if form == JSON:
            return _partial_success(answer.content)
        return rejected_spans(answer.content) if signal == "traces" else rejected_logs(answer.content)

    def _count(self, answer: httpx.Response) -> None:
        counts = _stored_counts(answer.headers.get(STORED_HEADER, ""))
        for name in ("duplicates", "contents", "content_bytes", "new_contents", "new_bytes"):
            setattr(self.done, name, getattr(self.done, name) + counts.get(name, 0))

    # --- contents -------------------------------------------------------------------------------------------------

    def contents(self, batch: Sequence[StoredContent]) -> None:
        """Sends those contents that the collector does not have. Raises the same errors as `records`."""
        missing: set[str] = set()
        for start in range(0, len(batch), _MAX_REFS):
            refs = [entry.line.ref for entry in batch[start : start + _MAX_REFS]]
            missing.update(self._with_retries(lambda refs=refs: self._ask(refs))["missing"])
        self.done.contents += len(batch)
        self.done.content_bytes += sum(entry.line.size for entry in batch)
        portion: list[tuple[StoredContent, Content]] = []
        size = 0
        for entry in batch:
            content = self._content(entry) if entry.line.ref in missing else None
            if content is None:
                continue
            if portion and size + len(content.data) > MAX_BYTES:
                self._upload(portion)
                portion, size = [], 0
            portion.append((entry, content))
            size += len(content.data)
        if portion:
            self._upload(portion)

    def _content(self, stored: StoredContent) -> Content | None:
        try:
            content = stored.line.content(stored.path.read_bytes())
        except OSError as error:
            self._refuse(UnreadableRecord(stored.where, f"{stored.path.name} cannot be read ({error.strerror})"))
            return None
        if content is None:
            self._refuse(
                UnreadableRecord(stored.where, f"{stored.path.name} has other bytes than its name says: it is damaged")
            )
            return None
        return content

    def _upload(self, portion: Sequence[tuple[StoredContent, Content]]) -> None:
        def send(part: Sequence[tuple[StoredContent, Content]]) -> tuple[int, str]:
            answer = self._post_pack(Pack(tuple(content for _, content in part), ()))
            refused = cast(list[dict[str, Any]], answer.get("refused", []))
            return len(refused), str(refused[0]["message"]) if refused else ""

        _, given_up = self._with_retries(lambda: self._sending.send(portion, send))
        lost = {id(entry.item) for entry in given_up}
        accepted = [content for entry in portion if id(entry) not in lost for content in entry[1:]]
        self.done.new_contents += len(accepted)
        self.done.new_bytes += sum(len(content.data) for content in accepted)
        for entry in given_up:
            self._refuse(UnreadableRecord(entry.item[0].where, f"the collector refuses it: {entry.why}"))

    def threads(self, batch: Sequence[StoredThread]) -> None:
        """Sends threads. Raises the same errors as `records`."""

        def send(part: Sequence[StoredThread]) -> tuple[int, str]:
            self._post_pack(Pack((), tuple(entry.thread for entry in part)))
            return 0, ""

        _, given_up = self._with_retries(lambda: self._sending.send(batch, send))
        for entry in given_up:
            self._refuse(UnreadableRecord(entry.item.where, f"the collector refuses it: {entry.why}"))

    # --- scores and notes -----------------------------------------------------------------------------------------

    def scores(self, batch: Sequence[ExportedScore]) -> None:
        """Posts scores with their original times and authors: scores that are stored already change nothing. Raises the
        same errors as `records`."""
        for entry in batch:
            self.done.scores += self._is_posted(partial(self._post_score, entry.score), entry.where)

    def notes(self, batch: Sequence[ExportedNote]) -> None:
        """The same for notes."""
        for entry in batch:
            self.done.notes += self._is_posted(partial(self._post_note, entry.note), entry.where)

    def _is_posted(self, post: Callable[[], object], where: FilePlace) -> bool:
        """Posts an item, and returns whether the collector took it."""
        try:
            self._post(post)
        except (BadRequest, Conflict, NotFound) as error:
            self._refuse(UnreadableRecord(where, f"the collector refuses it: {error}"))
            return False
        return True

    def _post_score(self, score: ScoreLine) -> object:
        return self._client.score(
            score.run, score.name, score.value, span=score.span, label=score.label, comment=score.comment,
            author=score.author, id=score.id, time=score.time,
        )  # fmt: skip

    def _post_note(self, note: NoteLine) -> object:
        return self._client.add_note(
            note.run, note.text, label=note.label, at=note.event, author=note.author, id=note.id, time=note.time
        )

    def _post(self, post: Callable[[], object]) -> None:
        """Posts an item. Retries for a minute if the collector is busy or cannot be reached. Raises ClientError."""
        began = time.monotonic()
        for delay in backoff_delays():
            try:
                post()
                return
            except (BadRequest, Conflict, NotFound, NotAuthorized):
                raise
            except ClientError as error:
                if time.monotonic() - began > _RETRY_SECONDS:
                    raise CollectorUnreachable(f"{error}; the same command goes on from here") from error
            time.sleep(delay)

    def _ask(self, refs: Sequence[str]) -> dict[str, Any]:
        return orjson.loads(self._endpoint.post("/v1/content/missing", orjson.dumps({"refs": refs}), JSON))

    def _post_pack(self, pack: Pack) -> dict[str, Any]:
        return orjson.loads(self._endpoint.post("/v1/content", encode_pack(pack), PACK))

    # --- waiting --------------------------------------------------------------------------------------------------

    def _with_retries(self, send: Callable[[], T]) -> T:
        """Calls `send` until it succeeds. Retries without a limit while the collector is busy, and for a minute if it
        cannot be reached."""
        began = time.monotonic()
        for delay in backoff_delays():
            try:
                return send()
            except Unavailable as error:
                waited = time.monotonic() - began
                if error.cause == "denied":
                    raise NotAuthorized(
                        f"the collector at {self._endpoint.shown} wants another key: set --api-key"
                    ) from error
                if error.cause in _WITHOUT_WAITING or (error.cause != "busy" and waited > _RETRY_SECONDS):
                    raise self._unreachable_error(error) from error
                time.sleep(max(delay, error.retry_after if error.cause == "busy" else 0.0))
        raise AssertionError  # never reached: the delays do not end

    def _unreachable_error(self, error: Unavailable) -> CollectorUnreachable:
        sentence = _ERROR_SENTENCES.get(error.cause, "{at} takes nothing").format(at=self._endpoint.shown)
        return CollectorUnreachable(f"{sentence}; the same command goes on from here")


def threads_size(thread: ThreadExtension) -> int:
    """Returns the approximate size of a thread in a pack, in bytes."""
    return 80 * (1 + len(thread.messages))


def _partial_success(body: bytes) -> tuple[int, str]:
    partial = cast(dict[str, Any], orjson.loads(body or b"{}").get("partialSuccess", {}))
    count = int(partial.get("rejectedSpans", 0)) + int(partial.get("rejectedLogRecords", 0))
    return count, str(partial.get("errorMessage", ""))


def _stored_counts(stored: str) -> dict[str, int]:
    """Parses the header `STORED_HEADER`: `name=count`, separated by commas."""
    pairs = (pair.strip().partition("=") for pair in stored.split(","))
    return {name: int(count) for name, _, count in pairs if count.isdecimal()}


# --- the position of an import ----------------------------------------------------------------------------------------

_POSITION_FOLDER = "imports"
_WRITE_EVERY_SECONDS = 1.0


class ImportPosition:
    """The position of one import, in a file in the journal's folder."""

    def __init__(self, journal_dir: Path, endpoint: str, paths: Sequence[Path], epoch: str, *, restart: bool) -> None:
        facts = [endpoint, [_file_state(path) for path in paths]]
        self._path = journal_dir / _POSITION_FOLDER / f"{sha256(canonical_json(facts)).hexdigest()[:32]}.json"
        self._epoch = epoch
        self.continued_after = 0 if restart else self._read()
        self.skip = self._done = self.continued_after
        self._written = time.monotonic()

    def advance(self, items: int) -> None:
        """Counts items that the collector has acknowledged."""
        self._done += items
        if time.monotonic() - self._written >= _WRITE_EVERY_SECONDS:
            self.write()

    def write(self) -> None:
        """Stores the position. If that fails, nothing happens: an interrupted import then starts again from the
        beginning."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial = self._path.with_suffix(".partial")
            partial.write_bytes(canonical_json({"epoch": self._epoch, "done": self._done}))
            partial.replace(self._path)
        except OSError:
            return
        self._written = time.monotonic()

    def finished(self) -> None:
        """Deletes the position after a complete import."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            return

    def _read(self) -> int:
        try:
            value = parse_json(self._path.read_bytes())
            return int(value["done"]) if value["epoch"] == self._epoch else 0
        except (OSError, ValueError, TypeError, KeyError):
            return 0


def _file_state(path: Path) -> list[object]:
    """Returns values that change when the file changes, or one of the folder's files."""
    files = sorted(entry for entry in path.rglob("*") if entry.is_file()) if path.is_dir() else [path]
    whole = sha256()
    for file in files:
        about = file.stat()
        whole.update(canonical_json([str(file), about.st_size, about.st_mtime_ns]))
    return [str(path.resolve()), whole.hexdigest()]


# --- the command ------------------------------------------------------------------------------------------------------

_SHOWN_REFUSED = 20
_KEPT_REFUSED = 1_000


@dataclass(slots=True)
class _RefusedItems:
    """Items that were not imported: their number, and the first ones, to be shown."""

    count: int = 0
    first: list[UnreadableRecord] = field(default_factory=list[UnreadableRecord])

    def add(self, record: UnreadableRecord) -> None:
        self.count += 1
        if len(self.first) < _KEPT_REFUSED:
            self.first.append(record)


def import_into(
    address: CollectorAddress, paths: Sequence[Path], form: Format | None, most: int, *, restart: bool, json: bool
) -> bool:
    """Imports these files, and prints what was read. Returns False if something was left out.

    `most`: maximum size of a record in bytes. `restart`: starts from the beginning, also after an interrupted import.
    """
    client = address.ask_collector()
    in_force = settings.load(endpoint=client.base_url, api_key=address.api_key)
    refused = _RefusedItems()
    scratch = Path(tempfile.mkdtemp(prefix="playhead-import-"))
    try:
        sources = ImportFiles(form, most, scratch, total_bytes(existing(paths)))
        uploader = Uploader(in_force, refused.add, client)
        position = ImportPosition(in_force.journal_dir, in_force.collector, paths, uploader.epoch(), restart=restart)
        try:
            with progress() as show:
                _send_items(sources.items(paths), uploader, position, refused, lambda: show_bytes(show, sources))
        except BaseException:
            position.write()
            raise
        finally:
            uploader.close()
        position.finished()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    _print_result(sources, uploader, position, refused, json=json)
    return not refused.count


def show_bytes(show: ShowProgress, sources: ImportFiles) -> None:
    """Shows how much of the files was read."""
    show("bytes", sources.read_bytes, max(sources.total_bytes, sources.read_bytes))


def _send_items(
    items: Iterable[Item], uploader: Uploader, position: ImportPosition, refused: _RefusedItems, show: Any
) -> None:
    for batch in _batches(items, position.skip, refused):
        first = batch[0]
        if isinstance(first, OtlpRecord):
            uploader.records(batch)
        elif isinstance(first, StoredContent):
            uploader.contents(batch)
        elif isinstance(first, ExportedScore):
            uploader.scores(batch)
        elif isinstance(first, ExportedNote):
            uploader.notes(batch)
        else:
            uploader.threads(batch)
        position.advance(len(batch))
        show()


def _batches(items: Iterable[Item], skip: int, refused: _RefusedItems) -> Iterator[list[Any]]:
    """Yields lists of items that can be sent together. Leaves out the first `skip` items."""
    batch: list[Any] = []
    size = 0
    for item in items:
        if isinstance(item, UnreadableRecord):
            refused.add(item)
            continue
        if skip:
            skip -= 1
            continue
        if batch and (size >= MAX_BYTES or len(batch) >= MAX_RECORDS or not _go_together(batch[0], item)):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += _size_of(item)
    if batch:
        yield batch


def _go_together(first: Item, second: Item) -> bool:
    if isinstance(first, OtlpRecord) and isinstance(second, OtlpRecord):
        return (first.signal, first.form) == (second.signal, second.form)
    return type(first) is type(second)


def _size_of(item: Item) -> int:
    if isinstance(item, OtlpRecord):
        return item.size
    return threads_size(item.thread) if isinstance(item, StoredThread) else 0


def _print_result(
    sources: ImportFiles, uploader: Uploader, position: ImportPosition, refused: _RefusedItems, *, json: bool
) -> None:
    done = uploader.done
    facts: dict[str, Any] = {**asdict(done), "runs": len(done.runs), "refused": refused.count}
    if json:
        left_out = [{"where": str(record.where), "why": record.why} for record in refused.first]
        output.as_json(
            {**facts, "continued_after": position.continued_after, "formats": sources.formats, "left_out": left_out}
        )
        return
    output.facts(
        {
            "read": ", ".join(sorted(set(sources.formats.values()))) or "nothing",
            "continued after": f"{position.continued_after:,} records" if position.continued_after else None,
            "runs": f"{len(done.runs):,}",
            "spans": f"{done.spans:,}{_note_on_duplicates(done.duplicates)}",
            "log records": f"{done.logs:,}" if done.logs else None,
            "scores": f"{done.scores:,}" if done.scores else None,
            "notes": f"{done.notes:,}" if done.notes else None,
            "contents": f"{done.contents:,}, {done.content_bytes:,} bytes",
            "new contents": f"{done.new_contents:,}, {done.new_bytes:,} bytes",
            "left out": f"{refused.count:,}" if refused.count else None,
        }
    )
    for record in refused.first[:_SHOWN_REFUSED]:
        output.echo(f"{record.where}: {record.why}", err=True)
    if refused.count > _SHOWN_REFUSED:
        typer.echo(f"and {refused.count - _SHOWN_REFUSED:,} more: --json lists them", err=True)


def _note_on_duplicates(duplicates: int) -> str:
    """Returns a note on items that were stored before. "At least": the collector does not recognise all of them, since
    it stores sealed runs in another form."""
    return f" (at least {duplicates:,} of them stored before)" if duplicates else ""
