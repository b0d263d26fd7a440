"""[import]: sends records, contents and threads to a collector, in the same way as the SDK does."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import httpx
import orjson

from playhead.archive.records import JSON, OtlpRecord, UnreadableRecord, request_of
from playhead.cli.moving.sources import ExportedScore, StoredContent, StoredThread
from playhead.client import Client
from playhead.errors import BadRequest, ClientError, CollectorUnreachable, Conflict, NotAuthorized, NotFound
from playhead.export.counters import ShipCounters
from playhead.export.delivery import Sending
from playhead.export.http import CollectorEndpoint
from playhead.model.canonical import Content
from playhead.model.names import STORED_HEADER
from playhead.outbound.otlp import rejected_logs, rejected_spans
from playhead.settings.sdk import Settings
from playhead.wire.export_layout import ScoreLine
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead.wire.retries import Unavailable, backoff_delays

T = TypeVar("T")

# As much as the SDK sends at a time: receivers accept it, and larger requests would not compress better.
MAX_BYTES, MAX_RECORDS = 4 * 2**20, 1_000
_MAX_REFS = 1_000
# Enough time for a collector to restart.
_RETRY_SECONDS = 60.0
_SENTENCES = {
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
    duplicates: int = 0
    contents: int = 0
    content_bytes: int = 0
    new_contents: int = 0
    new_bytes: int = 0
    runs: set[int] = field(default_factory=set[int])
    refused: int = 0


class Uploader:
    """Sends data to one collector. `refuse` is called with each item that the collector refuses."""

    def __init__(self, settings: Settings, refuse: Callable[[UnreadableRecord], None], client: Client) -> None:
        """`client`: a client of the same collector; `close` closes it, too."""
        self._client = client
        self._endpoint = CollectorEndpoint(settings, ShipCounters())
        self._sending = Sending(self._endpoint.shown)
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
        counts = _counts(answer.headers.get(STORED_HEADER, ""))
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
            content = Content(stored.path.read_bytes(), stored.line.media_type)
        except OSError as error:
            self._refuse(UnreadableRecord(stored.where, f"{stored.path.name} cannot be read ({error.strerror})"))
            return None
        if content.ref.digest != stored.line.ref.digest:
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

    # --- scores ---------------------------------------------------------------------------------------------------

    def scores(self, batch: Sequence[ExportedScore]) -> None:
        """Posts scores with their original times and authors: scores that are stored already change nothing. Raises the
        same errors as `records`."""
        for entry in batch:
            try:
                self._post_score(entry.score)
            except (BadRequest, Conflict, NotFound) as error:
                self._refuse(UnreadableRecord(entry.where, f"the collector refuses it: {error}"))
            else:
                self.done.scores += 1

    def _post_score(self, score: ScoreLine) -> None:
        """Posts a score. Retries for a minute if the collector is busy or cannot be reached. Raises ClientError."""
        began = time.monotonic()
        for delay in backoff_delays():
            try:
                self._client.score(
                    score.run, score.name, score.value, span=score.span, label=score.label, comment=score.comment,
                    author=score.author, id=score.id, time=score.time,
                )  # fmt: skip
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
                    raise self._away(error) from error
                time.sleep(max(delay, error.retry_after if error.cause == "busy" else 0.0))
        raise AssertionError  # never reached: the delays do not end

    def _away(self, error: Unavailable) -> CollectorUnreachable:
        sentence = _SENTENCES.get(error.cause, "{at} takes nothing").format(at=self._endpoint.shown)
        return CollectorUnreachable(f"{sentence}; the same command goes on from here")


def threads_size(thread: ThreadExtension) -> int:
    """Returns the approximate size of a thread in a pack, in bytes."""
    return 80 * (1 + len(thread.messages))


def _partial_success(body: bytes) -> tuple[int, str]:
    partial = cast(dict[str, Any], orjson.loads(body or b"{}").get("partialSuccess", {}))
    count = int(partial.get("rejectedSpans", 0)) + int(partial.get("rejectedLogRecords", 0))
    return count, str(partial.get("errorMessage", ""))


def _counts(stored: str) -> dict[str, int]:
    """Parses the header `STORED_HEADER`: `name=count`, separated by commas."""
    pairs = (pair.strip().partition("=") for pair in stored.split(","))
    return {name: int(count) for name, _, count in pairs if count.isdecimal()}
