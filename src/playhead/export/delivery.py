"""shipment → [delivery] → http.  Content first, then log events, then spans; what the collector has, it is not sent.

Imports HTTP and protobuf, a tenth of a second of work: only the shipping thread imports this module.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import orjson

from playhead.export.counters import ShipCounters
from playhead.export.http import Endpoint, NotThere, Refused, elsewhere, everything_refused
from playhead.export.otlp import logs_request, rejected_logs, rejected_spans, traces_request
from playhead.export.patience import Problems, Unavailable
from playhead.export.shipment import Shipment
from playhead.model.canonical import Content
from playhead.model.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.refs.known import KnownRefs
from playhead.settings import Settings

T = TypeVar("T")

_PROTOBUF = "application/x-protobuf"
# 1 KiB: a question costs about 100 bytes and a round trip; a smaller content is sent for little more than that.
_WORTH_ASKING_BYTES = 1024
# 20 items in a row, and none taken: it is not the items.
_MOST_REFUSED_IN_A_ROW = 20
_MOST_EPOCHS = 3


class Delivery:
    """Delivers shipments to one endpoint.  Belongs to one thread of one process."""

    def __init__(
        self,
        settings: Settings,
        counters: ShipCounters,
        problems: Problems,
        on_epoch_change: Callable[[], None] = lambda: None,
    ):
        """`on_epoch_change`: the collector may have let go of content that it had."""
        self._endpoint = Endpoint(settings, counters)
        self._counters = counters
        self._problems = problems
        self._on_epoch_change = on_epoch_change
        self._known = KnownRefs()
        self._epoch: str | None = None
        self._takes_content: bool | None = None
        self._refused_in_a_row = 0

    def close(self) -> None:
        """Closes the connection."""
        self._endpoint.close()

    def look_again(self) -> None:
        """Finds out anew whether the endpoint takes content: a collector may have taken a plain one's place."""
        if self._takes_content is False:
            self._takes_content = None

    def deliver(self, shipment: Shipment) -> None:
        """Returns when all of it was acknowledged; raises Unavailable.

        What was acknowledged leaves the shipment, so that delivering it again continues where it failed.
        """
        if not shipment:
            return
        if self._takes_content is None:
            self._greet()
        if self._takes_content:
            self._deliver_content(shipment)
        shipment.contents.clear()
        shipment.threads.clear()
        # Before spans: what a log event belongs to is then announced before it ends.
        logs = list(shipment.log_events())
        self._counters.logs += self._send(logs, self._send_logs)
        shipment.happenings.clear()
        self._counters.spans += self._send(shipment.spans, self._send_spans)
        shipment.spans.clear()
        self._counters.batches += 1

    # --- content ------------------------------------------------------------------------------------------------------

    def _greet(self) -> None:
        try:
            self._ask([])
        except Refused as refused:
            if refused.status >= 500:
                raise everything_refused(self._endpoint.shown, refused) from refused
            self._speak_plainly()
        except NotThere:
            self._speak_plainly()
        else:
            self._takes_content = True
            self._endpoint.encoding = "zstd"

    def _speak_plainly(self) -> None:
        self._takes_content = False
        self._endpoint.encoding = "gzip"  # the one that OTLP receivers must understand
        self._problems.tell(
            "plain",
            f"{self._endpoint.shown} is no Playhead collector: it is sent spans, and content stays in the "
            "journal; set OTEL_EXPORTER_OTLP_ENDPOINT to a collector (`playhead serve`), which can forward spans",
        )

    def _deliver_content(self, shipment: Shipment) -> None:
        for _ in range(_MOST_EPOCHS):
            epoch = self._epoch
            items: list[Content | ThreadExtension] = [*self._wanted(shipment), *shipment.threads]
            self._send(items, self._upload)
            if self._epoch == epoch:
                return
            # What was left out because the collector had it may be gone: once more, all of it.

    def _wanted(self, shipment: Shipment) -> list[Content]:
        known = self._known
        unknown = {d: content for d, content in shipment.contents.items() if not (d in known or known.older(d))}
        large = [content.ref.plain for content in unknown.values() if len(content.data) >= _WORTH_ASKING_BYTES]
        if not large:
            return list(unknown.values())
        missing = self._ask_again(large)
        for ref in large:
            if ref not in missing:
                self._known.add(ref.digest, ref.plain)
        return [c for c in unknown.values() if len(c.data) < _WORTH_ASKING_BYTES or c.ref.plain in missing]

    def _ask_again(self, refs: Sequence[ContentRef]) -> set[str]:
        try:
            return self._ask(refs)
        except (Refused, NotThere) as error:
            self._takes_content = None  # it answered before: find out what it is now
            raise Unavailable("content", f"{self._endpoint.shown} takes no content any more ({error})") from error

    def _ask(self, refs: Sequence[ContentRef]) -> set[str]:
        answer = self._talk("/v1/content/missing", orjson.dumps({"refs": refs}), "application/json")
        self._counters.asked_refs += len(refs)
        return set(cast(list[str], answer["missing"]))

    def _upload(self, items: Sequence[Content | ThreadExtension]) -> int:
        contents = tuple(item for item in items if isinstance(item, Content))
        threads = tuple(item for item in items if isinstance(item, ThreadExtension))
        try:
            answer = self._talk("/v1/content", encode_pack(Pack(contents, threads)), PACK)
        except NotThere as error:
            self._takes_content = None
            raise Unavailable("content", f"{self._endpoint.shown} takes no content any more ({error})") from error
        for content in contents:
            self._known.add(content.ref.digest, content.ref.plain)
        self._counters.contents += len(contents)
        self._counters.content_bytes_raw += sum(len(content.data) for content in contents)
        self._counters.threads += len(threads)
        self._counters.unknown_parents += len(answer.get("unknown_parents", ()))
        return 0

    def _talk(self, path: str, body: bytes, media_type: str) -> dict[str, Any]:
        raw = self._endpoint.post(path, body, media_type)
        try:
            answer = cast(dict[str, Any], orjson.loads(raw))
            epoch = str(answer["epoch"])
        except (ValueError, TypeError, KeyError) as error:
            raise NotThere(f"{path} does not answer as a Playhead collector does") from error
        if self._epoch not in {None, epoch}:
            self._known.forget()
            self._on_epoch_change()
        self._epoch = epoch
        return answer

    # --- OTLP ---------------------------------------------------------------------------------------------------------

    def _send_spans(self, spans: Sequence[Span]) -> int:
        try:
            answer = self._endpoint.post("/v1/traces", traces_request(spans), _PROTOBUF)
        except NotThere as error:
            raise elsewhere(self._endpoint.shown, error) from error
        return self._told_of(*rejected_spans(answer))

    def _send_logs(self, logs: Sequence[LogEvent]) -> int:
        try:
            answer = self._endpoint.post("/v1/logs", logs_request(logs), _PROTOBUF)
        except NotThere as error:
            if self._takes_content:
                raise elsewhere(self._endpoint.shown, error) from error
            self._problems.tell(
                "no logs", f"{self._endpoint.shown} takes no OTLP logs ({error}): it is sent spans without their events"
            )
            return len(logs)
        return self._told_of(*rejected_logs(answer))

    def _told_of(self, rejected: int, message: str) -> int:
        if rejected or message:
            self._problems.tell("partial", f"{self._endpoint.shown} did not take {rejected} records: {message}")
        return rejected

    def _send(self, items: Sequence[T], send: Callable[[Sequence[T]], int]) -> int:
        """How many were taken.  What is refused is halved until those are found that cannot be taken, and left out."""
        if not items:
            return 0
        try:
            rejected = send(items)
        except (Refused, ValueError, TypeError) as error:  # the latter two: OTLP cannot express it
            if len(items) > 1:
                half = len(items) // 2
                return self._send(items[:half], send) + self._send(items[half:], send)
            self._leave_out(error)
            return 0
        self._refused_in_a_row = 0
        self._counters.rejected += rejected
        return len(items) - rejected

    def _leave_out(self, error: Exception) -> None:
        self._refused_in_a_row += 1
        if isinstance(error, Refused) and self._refused_in_a_row > _MOST_REFUSED_IN_A_ROW:
            raise everything_refused(self._endpoint.shown, error)
        self._counters.rejected += 1
        self._problems.tell(
            f"refused {error}"[:40],
            f"{self._endpoint.shown} refused a record, which is left out ({error}); more of this kind are counted only",
        )
