"""Collector → [exporting] → files.  `playhead export`: runs as OTLP JSON lines and their contents as files.

Reads the records of runs from a collector, then all contents and threads that they refer to, and writes them to a
folder or to one file, for another collector or other tools (`wire.export_layout` describes the files). The refs that
are still to be read, and the open spans of a run, are on disk, so that memory does not grow with the number of runs.

`export_test` writes one run as a pytest file instead.
"""

import hashlib
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import zstandard

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.output import ShowProgress, progress
from playhead.client.operations import BlockingClient
from playhead.errors import ClientError, CollectorUnreachable, NotAuthorized, NotFound, SettingInvalid
from playhead.model.canonical import Content, canonical_json
from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from playhead.wire import export_layout as layout
from playhead.wire.export_layout import Manifest
from playhead.wire.operations import RunSummary
from playhead.wire.operations.runs import OtlpRequest
from playhead.wire.pack import Pack, ThreadExtension

_TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.zst")


# --- the files of an export -------------------------------------------------------------------------------------------


class _LineWriter:
    """Writes lines to a file; counts and hashes them."""

    def __init__(self, to: BinaryIO) -> None:
        self._to = to
        self._hash = hashlib.sha256()
        self.lines = self.bytes = 0

    def write(self, line: bytes) -> None:
        data = line + b"\n"
        self._to.write(data)
        self._hash.update(data)
        self.lines += 1
        self.bytes += len(data)

    def done(self) -> layout.LineFile:
        return layout.LineFile(self.lines, self.bytes, self._hash.hexdigest())


class ExportFiles:
    """The files of an export while it is written. Methods raise OSError."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._lines = {name: _LineWriter(stack.enter_context((folder / name).open("wb"))) for name in layout.LINE_FILES}

    def line(self, name: str, line: bytes) -> None:
        """Adds a line to the line file with this name."""
        self._lines[name].write(line)

    def content(self, content: Content) -> None:
        """Adds a content. Call this once for each content."""
        ref = content.ref.plain
        path = self._folder / layout.content_file(ref.digest.hex())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.data)
        self.line(layout.CONTENTS, layout.ContentLine.of(content).line())

    def files(self) -> dict[str, layout.LineFile]:
        """Returns the counts and hashes of the line files, for the manifest."""
        return {name: writer.done() for name, writer in self._lines.items()}

    def manifest(self, manifest: layout.Manifest) -> None:
        """Writes the manifest. Call this last: it marks the export as complete."""
        (self._folder / layout.MANIFEST).write_bytes(layout.manifest_bytes(manifest))


@contextmanager
def export_to(output: Path) -> Generator[ExportFiles]:
    """Gives the files of an export. When the block ends without an error, they are at `output`: as a folder, or as one
    file if the name has a suffix of an archive.

    Until then they are in a temporary folder beside it. Raises SettingInvalid if `output` exists and is not an empty
    folder, or cannot be written.
    """
    if output.exists() and (output.is_file() or any(output.iterdir())):
        raise SettingInvalid(f"{output} exists: name another --output, or remove it")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    except OSError as error:
        raise SettingInvalid(
            f"nothing can be written beside {output} ({error.strerror}): name another --output"
        ) from error
    try:
        with ExitStack() as stack:
            yield ExportFiles(folder, stack)
        if output.name.endswith(_TAR_SUFFIXES):
            _pack_as_tar(folder, output)
        else:
            folder.chmod(0o755)
            if output.exists():
                output.rmdir()
            folder.rename(output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _pack_as_tar(folder: Path, output: Path) -> None:
    partial = folder.with_name(folder.name + ".tar")
    try:
        with partial.open("wb") as to:
            if output.name.endswith(".zst"):
                with zstandard.ZstdCompressor(level=9).stream_writer(to, closefd=False) as packed:
                    _add_files(folder, packed, "w|")
            else:
                _add_files(folder, to, "w|" if output.name.endswith(".tar") else "w|gz")
        partial.rename(output)
    finally:
        partial.unlink(missing_ok=True)


def _add_files(folder: Path, to: object, mode: str) -> None:
    """Adds the line files before the contents: a reader of the stream then knows each content's description before its
    bytes."""
    with cast(Any, tarfile).open(fileobj=to, mode=mode, format=tarfile.PAX_FORMAT) as tar:
        for name in (layout.MANIFEST, *layout.LINE_FILES):
            tar.add(folder / name, name)
        for path in sorted((folder / layout.FOLDER).rglob("*")):
            if path.is_file():
                tar.add(path, path.relative_to(folder).as_posix())


# --- what is still to be read -----------------------------------------------------------------------------------------

_WAITING, _STORED, _MISSING = 0, 1, 2
_QUEUE_SCHEMA = """
create table ref (number integer primary key, digest blob not null unique, state int not null);
create index ref_waiting on ref (number) where state = 0;
create table ended (span text primary key) without rowid;
create table unended (span text primary key, line blob not null) without rowid;
"""


class RefQueue:
    """A queue of refs (as digests), each queued once; also notes which spans have ended. Stored in a temporary file
    that SQLite removes."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)  # without a name: SQLite's own temporary file
        self._db.executescript("pragma journal_mode = off; pragma synchronous = off;" + _QUEUE_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._db.close()

    def add(self, digests: Iterable[bytes]) -> None:
        """Queues refs; refs that are in the queue already keep their state."""
        self._execute_each("insert or ignore into ref (digest, state) values (?, 0)", digests)

    def next(self, count: int) -> list[bytes]:
        """Returns up to `count` waiting refs, those that were added last first: these are the longest threads, which
        contain those of earlier calls."""
        query = "select digest from ref where state = 0 order by number desc limit ?"
        return [digest for (digest,) in self._db.execute(query, (count,))]

    def mark_stored(self, digests: Iterable[bytes]) -> None:
        """Marks refs as read."""
        self._set_state(digests, _STORED)

    def mark_missing(self, digests: Iterable[bytes]) -> None:
        """Marks refs under which nothing is stored."""
        self._set_state(digests, _MISSING)

    def is_stored(self, digest: bytes) -> bool:
        """Whether this ref was read."""
        row = self._db.execute("select 1 from ref where digest = ? and state = ?", (digest, _STORED)).fetchone()
        return row is not None

    @property
    def waiting(self) -> int:
        """The number of refs that are still to be read."""
        return self._db.execute("select count(*) from ref where state = 0").fetchone()[0]

    def mark_ended(self, spans: Sequence[str]) -> None:
        """Marks spans as ended, and drops their earlier, open versions."""
        self._execute_each("insert or ignore into ended (span) values (?)", spans)
        self._execute_each("delete from unended where span = ?", spans)

    def keep_open_span(self, span: str, line: bytes) -> None:
        """Stores the open version of a span, unless the span is known to have ended."""
        row = self._db.execute("select 1 from ended where span = ?", (span,)).fetchone()
        if row is None:
            self._db.execute("insert or replace into unended (span, line) values (?, ?)", (span, line))

    def end_run(self) -> Iterator[bytes]:
        """Yields the open spans of the run, then forgets all spans."""
        for (line,) in self._db.execute("select line from unended order by span"):
            yield line
        self._db.execute("delete from unended")
        self._db.execute("delete from ended")

    def _set_state(self, digests: Iterable[bytes], state: int) -> None:
        rows = [(digest, state) for digest in digests]
        self._db.execute("begin")
        query = (
            "insert into ref (digest, state) values (?, ?) on conflict (digest) do update set state = excluded.state"
        )
        self._db.executemany(query, rows)
        self._db.execute("commit")

    def _execute_each(self, query: str, values: Iterable[bytes | str]) -> None:
        self._db.execute("begin")
        self._db.executemany(query, [(value,) for value in values])
        self._db.execute("commit")


# --- reading runs and their contents ----------------------------------------------------------------------------------

_REFS_AT_ONCE = 500
_POSTED_TO_API = "api"
"""The source of scores that were posted to the API."""


@dataclass(slots=True)
class ExportCounts:
    """Counts of what was read so far."""

    runs: int = 0
    spans: int = 0
    logs: int = 0
    contents: int = 0
    content_bytes: int = 0
    missing: int = 0
    unreadable: int = 0
    scores: int = 0
    notes: int = 0


class Exporter:
    """Reads runs, then their contents, and writes them to the export's files; `counts` says what was read."""

    def __init__(self, client: BlockingClient, files: ExportFiles, queue: RefQueue, show: ShowProgress) -> None:
        self._client, self._files, self._queue, self._show = client, files, queue, show
        self.counts = ExportCounts()

    def run(self, run: RunSummary) -> None:
        """Writes the records of a run, its notes, and the scores that were posted to the API. (Scores that programs
        recorded are among the log events.)"""
        fields = {name: run[name] for name in ("run", "name", "status", "started", "ended")}
        self._files.line(layout.RUNS, canonical_json(fields | {"fork_of": run["fork_of"]}))
        for request in self._client.otlp(run["run"]):
            self._records(request)
            self._show(f"{self.counts.runs + 1:,} runs, spans", self.counts.spans, None)
        for line in self._queue.end_run():
            self._write(layout.TRACES, line)
            self.counts.spans += 1
        for score in self._client.scores(run["run"], source=_POSTED_TO_API):
            self._files.line(layout.SCORES, layout.score_line(score))
            self.counts.scores += 1
        for note in self._client.notes(run["run"]):
            self._files.line(layout.NOTES, layout.note_line(note))
            self.counts.notes += 1
        self.counts.runs += 1

    def _records(self, request: OtlpRequest) -> None:
        if "resourceLogs" in request:
            scopes = (scope for resource in request["resourceLogs"] for scope in resource["scopeLogs"])
            self.counts.logs += sum(len(scope["logRecords"]) for scope in scopes)
            self._write(layout.LOGS, canonical_json(request))
        resources = [entry for entry in map(self._ended, request.get("resourceSpans", [])) if entry["scopeSpans"]]
        if resources:
            self._write(layout.TRACES, canonical_json({"resourceSpans": resources}))

    def _ended(self, resource: dict[str, Any]) -> dict[str, Any]:
        """Returns the spans of a resource that have ended. Puts the others aside, until it is known whether the run has
        an ended version of them."""
        scopes: list[dict[str, Any]] = []
        for scope in resource["scopeSpans"]:
            ended: list[dict[str, Any]] = []
            for span in scope["spans"]:
                if "endTimeUnixNano" in span:
                    ended.append(span)
                else:
                    alone = {**resource, "scopeSpans": [{**scope, "spans": [span]}]}
                    self._queue.keep_open_span(_span_key(span), canonical_json({"resourceSpans": [alone]}))
            self._queue.mark_ended([_span_key(span) for span in ended])
            self.counts.spans += len(ended)
            scopes += [{**scope, "spans": ended}] if ended else []
        return {**resource, "scopeSpans": scopes}

    def _write(self, name: str, line: bytes) -> None:
        self._files.line(name, line)
        self._queue.add(layout.refs_in(line))

    def contents(self) -> None:
        """Writes all contents and threads that the records refer to, and those that these refer to."""
        while digests := self._queue.next(_REFS_AT_ONCE):
            refs: Sequence[ContentRef] = [ContentRef.from_digest(digest) for digest in digests]
            while refs:
                pack, looked_at = self._pack(refs)
                self._pack_stored(pack)
                unknown = [ref.digest for ref in refs[:looked_at] if not self._queue.is_stored(ref.digest)]
                self._queue.mark_missing(unknown)
                self.counts.missing += len(unknown)
                refs = [ref for ref in refs[looked_at:] if not self._queue.is_stored(ref.digest)]
                self._show("contents", self.counts.contents, self.counts.contents + self._queue.waiting)

    def _pack(self, refs: Sequence[ContentRef]) -> tuple[Pack, int]:
        """Returns the contents of these refs, and how many of the refs were looked at. A content that the collector
        cannot read is left out and counted."""
        try:
            return self._client.content_pack(refs)
        except (CollectorUnreachable, NotAuthorized):
            raise
        except ClientError:
            if len(refs) > 1:
                return self._pack(refs[: len(refs) // 2])
            self.counts.unreadable += 1
            return Pack((), ()), 1

    def _pack_stored(self, pack: Pack) -> None:
        for content in pack.contents:
            digest = content.ref.digest
            if not self._queue.is_stored(digest):
                self._files.content(content)
                self.counts.contents += 1
                self.counts.content_bytes += len(content.data)
                self._queue.mark_stored([digest])
                self._queue.add(layout.refs_in(content.data))
        for thread in pack.threads:
            nodes = extend(thread.messages, thread.parent)
            new = [node for node in nodes if not self._queue.is_stored(node.ref.digest)]
            if not new:
                continue
            messages = tuple(node.message for node in new)
            self._files.line(layout.THREADS, layout.thread_line(ThreadExtension(new[0].parent, messages)))
            self._queue.mark_stored(node.ref.digest for node in new)
            self._queue.add(message.digest for message in messages)


def _span_key(span: dict[str, Any]) -> str:
    return f"{span['traceId']} {span['spanId']}"


def with_relatives(
    client: BlockingClient, runs: Iterable[RunSummary], *, parents: bool, forks: bool
) -> Iterator[RunSummary]:
    """Yields these runs and, if wanted, the runs that they were forked from and their forks, each once."""
    seen: set[str] = set()
    for run in runs:
        stack = [run]
        while stack:
            relative = stack.pop()
            if relative["run"] in seen:
                continue
            seen.add(relative["run"])
            yield relative
            above = relative["fork_of"]
            if parents and above is not None and above not in seen:
                stack += client.runs(id=above, limit=1)
            if forks:
                stack += client.runs(fork_of=relative["run"])


# --- the command ------------------------------------------------------------------------------------------------------


def export_runs(
    address: CollectorAddress,
    output_path: Path,
    runs: Sequence[str],
    where: Mapping[str, Any],
    *,
    parents: bool,
    forks: bool,
    json: bool,
) -> None:
    """Exports the given runs or, without any, those that meet the conditions `where`. Prints what was written."""
    with (
        address.ask_collector() as client,
        export_to(output_path) as files,
        RefQueue() as queue,
        progress() as show,
    ):
        named = (client.run(run_id(client, run)) for run in runs) if runs else client.runs(**where)
        exporter = Exporter(client, files, queue, show)
        _export_runs(exporter, with_relatives(client, named, parents=parents, forks=forks))
        counts = asdict(exporter.counts)
        manifest = Manifest(
            _playhead_version(), datetime.now(UTC).isoformat(timespec="seconds"), **counts, files=files.files()
        )
        files.manifest(manifest)
    if json:
        output.as_json({"output": str(output_path), **counts})
        return
    absent = {"refs of which nothing is stored": counts.pop("missing"), "unreadable contents": counts.pop("unreadable")}
    written = {name.replace("_", " "): f"{count:,}" for name, count in counts.items()}
    output.facts({"written to": output_path, **written} | {name: count or None for name, count in absent.items()})


def export_test(address: CollectorAddress, run: str, output_path: Path | None, *, force: bool = False) -> None:
    """Writes the run's test to the file, or to the terminal. Raises SettingInvalid if the file exists (unless `force`
    is set) or cannot be written."""
    if output_path is not None and output_path.exists() and not force:
        raise SettingInvalid(f"{output_path} exists: name another --output, or write over it with --force")
    with address.ask() as client:
        text = client.test_of(run_id(client, run))
    if output_path is None:
        output.content(Content(text.encode(), "text/x-python"))
        return
    try:
        output_path.parent.mkdir(parents=True, exist_ok=True)
        output_path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingInvalid(f"{output_path} cannot be written ({error.strerror}): name another --output") from error
    output.facts({"written to": output_path})


def _export_runs(exporter: Exporter, runs: Iterable[RunSummary]) -> None:
    for run in runs:
        exporter.run(run)
    if not exporter.counts.runs:
        raise NotFound("no run meets these conditions: `playhead runs` lists them")
    exporter.contents()


def _playhead_version() -> str:
    try:
        return version("playhead")
    except PackageNotFoundError:
        return "0"
