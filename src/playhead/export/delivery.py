"""shipment → [delivery] → http.  Delivers a shipment to the collector, and finds the records that it refuses.

Contents are sent first, then log events, then spans. Contents that the collector has are not sent again.

A refused batch is halved until single items are left (`BatchSender`, which destinations use, too). An item is given up
only when it is refused alone, its neighbours were accepted, and it is refused again after that. If the cause of a
refusal may be temporary (see `http`), all items are first sent again after a wait.

Imports HTTP, which takes a while: only the shipping thread imports this module.
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlencode

import orjson

from playhead.export.counters import ShipCounters
from playhead.export.dead_letters import DeadLetters, Record
from playhead.export.http import CollectorEndpoint, RequestRejected, everything_refused
from playhead.export.left_runs import LeftRun
from playhead.export.shipment import Shipment
from playhead.model.canonical import Content
from playhead.model.names import TAKEN_OVER_HEADER
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.outbound.otlp import logs_request, rejected_logs, rejected_spans, traces_request
from playhead.refs.intake import KnownRefs
from playhead.settings.sdk import Settings
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead.wire.retries import ProblemReporter, Unavailable

# --- batches, and the items in them that are refused ------------------------------------------------------------------


Item = TypeVar("Item")

# When 20 items in a row are refused, the cause is not the items.
_MAX_REFUSED_IN_A_ROW = 20
# With the delays of `backoff`, 5 tries take 3 to 6 s; after that the items are tried in smaller batches.
_UNSURE_RETRIES = 5
_TOO_LARGE = 413


@dataclass(frozen=True, slots=True)
class RejectedItem(Generic[Item]):
    """An item that the collector refused for good, and its reason."""

    item: Item
    why: str


@dataclass(slots=True)
class _RejectionSearch(Generic[Item]):
    accepted: int = 0
    suspects: list[Item] = field(default_factory=list[Item])
    rejected: list[RejectedItem[Item]] = field(default_factory=list[RejectedItem[Item]])
    refused_in_a_row: int = 0


class BatchSender:
    """Sends items to one endpoint. Used by one thread."""

    def __init__(self, shown: str):
        """`shown`: the endpoint's name for messages to the user."""
        self._shown = shown
        self._doubts = 0

    def send(
        self, items: Sequence[Item], send: Callable[[Sequence[Item]], tuple[int, str]]
    ) -> tuple[int, list[RejectedItem[Item]]]:
        """Returns the number of accepted items, and the items given up. Raises Unavailable.

        `send` makes one request with the given items and may be called again with the same ones. It returns how many of
        them the collector refused within an accepted request, and the reason. It raises RequestRejected or Unavailable,
        and ValueError or TypeError for an item that cannot be encoded. It is also called with no items, to see whether
        the collector accepts requests of this kind at all.
        """
        if not items:
            return 0, []
        search: _RejectionSearch[Item] = _RejectionSearch()
        self._try(items, send, search)
        if search.suspects:
            self._send_suspects_alone(send, search)
        self._doubts = 0
        return search.accepted, search.rejected

    def _try(
        self, items: Sequence[Item], send: Callable[[Sequence[Item]], tuple[int, str]], search: _RejectionSearch[Item]
    ) -> None:
        try:
            left_out, why = send(items)
        except RequestRejected as refused:
            self._wait_out(refused, len(items))
            if len(items) == 1:
                self._add_suspect(items[0], refused, search)
                return
        except (ValueError, TypeError) as error:
            if len(items) == 1:
                search.rejected.append(RejectedItem(items[0], repr(error)))
                return
        else:
            search.refused_in_a_row = 0
            if not left_out:
                search.accepted += len(items)
                return
            if left_out >= len(items):
                search.rejected += [RejectedItem(item, why or "left out, and not said why") for item in items]
                return
        half = len(items) // 2
        self._try(items[:half], send, search)
        self._try(items[half:], send, search)

    def _wait_out(self, rejected: RequestRejected, count: int) -> None:
        # A proxy's limit on size may still let smaller batches pass.
        if rejected.is_final or (rejected.status == _TOO_LARGE and count > 1) or self._doubts >= _UNSURE_RETRIES:
            return
        self._doubts += 1
        raise Unavailable(
            "odd answer",
            f"{self._shown} answers {rejected}: what is recorded stays in the journal and is sent again; "
            "see the log of the collector, and of what is between it and this program",
        )

    def _add_suspect(self, item: Item, rejected: RequestRejected, search: _RejectionSearch[Item]) -> None:
        search.suspects.append(item)
        search.refused_in_a_row += 1
        if search.refused_in_a_row > _MAX_REFUSED_IN_A_ROW:
            raise everything_refused(self._shown, str(rejected))

    def _send_suspects_alone(
        self, send: Callable[[Sequence[Item]], tuple[int, str]], search: _RejectionSearch[Item]
    ) -> None:
        """Sends the suspects again one by one, after their neighbours (or an empty request) were accepted. Those that
        are refused now are given up."""
        if not search.accepted:
            try:
                send([])
            except RequestRejected as refused:
                raise everything_refused(self._shown, str(refused)) from refused
        for item in search.suspects:
            try:
                left_out, why = send([item])
            except RequestRejected as refused:
                search.rejected.append(RejectedItem(item, str(refused)))
            else:
                search.accepted += not left_out
                search.rejected += [RejectedItem(item, why)] if left_out else []


# --- shipments --------------------------------------------------------------------------------------------------------


Sendable = TypeVar("Sendable", Span, LogEvent, Content | ThreadExtension)

_PROTOBUF = "application/x-protobuf"
# 1 KiB: asking for a ref costs about 100 bytes and a round trip; sending a smaller content costs little more.
_WORTH_ASKING_BYTES = 1024
_MAX_EPOCHS = 3
_SLOWLY_SECONDS = 60.0
_NOTHING_LEFT_OUT = (0, "")


class Delivery:
    """Delivers shipments to one endpoint.  Belongs to one thread of one process."""

    def __init__(
        self,
        settings: Settings,
        counters: ShipCounters,
        problems: ProblemReporter,
        letters: DeadLetters,
        on_epoch_change: Callable[[], None] = lambda: None,
        on_taken_over: Callable[[str, int], None] = lambda run, attempt: None,
    ):
        """`letters` stores what the collector refuses. `on_epoch_change` is called when the collector may have deleted
        content that it had. `on_taken_over` is called with a run whose records the collector refuses, and the attempt
        that has taken the run over."""
        self._endpoint = CollectorEndpoint(settings, counters)
        self._sending = BatchSender(self._endpoint.shown)
        self._counters = counters
        self._problems = problems
        self._letters = letters
        self._on_epoch_change = on_epoch_change
        self._on_taken_over = on_taken_over
        self._known = KnownRefs()
        self._epoch: str | None = None

    def close(self) -> None:
        """Closes the connection."""
        self._endpoint.close()

    def forget(self) -> None:
        """Forgets which contents the collector has."""
        self._known.forget()

    def tell_left(self, run: LeftRun, journal: str) -> None:
        """Tells the collector that all records of a run have arrived, and that no process of this journal continues the
        run. Raises Unavailable."""
        parameters = {
            "holder": f"{socket.gethostname()}/{journal}"[:200],
            "attempt": run.attempt,
            "process": run.process,
        }
        query = urlencode({name: value for name, value in parameters.items() if value not in (None, "")})
        try:
            self._endpoint.delete(f"/api/v1/runs/{run.run_id}/lease?{query}")
        except RequestRejected as error:  # an older collector, which does not use this either
            self._problems.warn_once_per_cause(
                "left runs", f"{self._endpoint.shown} does not note which runs were left: {error}"
            )

    def deliver(self, shipment: Shipment) -> None:
        """Returns when every record was acknowledged or stored as a dead letter. Raises Unavailable.

        Acknowledged records are removed from the shipment, so a second call continues where the first one failed.
        """
        if not shipment:
            return
        self._deliver_content(shipment)
        shipment.contents.clear()
        shipment.threads.clear()
        # Before spans: a call is then announced before its end arrives.
        logs = list(shipment.log_events())
        self._counters.logs += self._send(logs, self._send_logs)
        shipment.spans_and_announcements.clear()
        self._counters.spans += self._send(shipment.spans, self._send_spans)
        shipment.spans.clear()
        self._counters.batches += 1

    # --- content ------------------------------------------------------------------------------------------------------

    def _deliver_content(self, shipment: Shipment) -> None:
        for _ in range(_MAX_EPOCHS):
            epoch = self._epoch
            items: list[Content | ThreadExtension] = [*self._wanted(shipment), *shipment.threads]
            epoch = epoch or self._epoch  # first answer: no older one has left anything out
            self._send(items, self._upload)
            if epoch in {None, self._epoch}:
                return
            # Contents left out because the collector had them may have been deleted: send everything again.

    def _wanted(self, shipment: Shipment) -> list[Content]:
        known_refs = self._known
        unknown = {
            d: content
            for d, content in shipment.contents.items()
            if not (d in known_refs or known_refs.get_from_old(d))
        }
        large = [content.ref.plain for content in unknown.values() if len(content.data) >= _WORTH_ASKING_BYTES]
        if not large:
            return list(unknown.values())
        missing: set[str] = set()

        def ask(refs: Sequence[ContentRef]) -> tuple[int, str]:
            missing.update(self._ask(refs))
            return _NOTHING_LEFT_OUT

        _, unanswered = self._sending.send(large, ask)
        missing.update(refusal.item for refusal in unanswered)
        for ref in large:
            if ref not in missing:
                self._known.add(ref.digest, ref.plain)
        return [c for c in unknown.values() if len(c.data) < _WORTH_ASKING_BYTES or c.ref.plain in missing]

    def _ask(self, refs: Sequence[ContentRef]) -> set[str]:
        answer = self._talk("/v1/content/missing", orjson.dumps({"refs": refs}), "application/json")
        self._counters.asked_refs += len(refs)
        return set(cast(list[str], answer["missing"]))

    def _upload(self, items: Sequence[Content | ThreadExtension]) -> tuple[int, str]:
        contents = tuple(item for item in items if isinstance(item, Content))
        threads = tuple(item for item in items if isinstance(item, ThreadExtension))
        answer = self._talk("/v1/content", encode_pack(Pack(contents, threads)), PACK)
        for content in contents:
            self._known.add(content.ref.digest, content.ref.plain)
        self._counters.contents += len(contents)
        self._counters.content_bytes_raw += sum(len(content.data) for content in contents)
        self._counters.threads += len(threads)
        self._counters.unknown_parents += len(answer.get("unknown_parents", ()))
        return _NOTHING_LEFT_OUT

    def _talk(self, path: str, body: bytes, media_type: str) -> dict[str, Any]:
        raw = self._endpoint.post(path, body, media_type)
        try:
            answer = cast(dict[str, Any], orjson.loads(raw))
            epoch = str(answer["epoch"])
        except (ValueError, TypeError, KeyError) as error:
            raise everything_refused(self._endpoint.shown, f"{path} answers what this version cannot read") from error
        if self._epoch not in {None, epoch}:
            self._known.forget()
            self._on_epoch_change()
        self._epoch = epoch
        return answer

    # --- OTLP ---------------------------------------------------------------------------------------------------------

    def _send_spans(self, spans: Sequence[Span]) -> tuple[int, str]:
        return self._left_out(*rejected_spans(self._post("/v1/traces", traces_request(spans))))

    def _send_logs(self, logs: Sequence[LogEvent]) -> tuple[int, str]:
        return self._left_out(*rejected_logs(self._post("/v1/logs", logs_request(logs))))

    def _post(self, path: str, body: bytes) -> bytes:
        answer = self._endpoint.exchange(path, body, _PROTOBUF)
        for item in answer.headers.get(TAKEN_OVER_HEADER, "").split(","):
            run, equals, attempt = item.strip().partition("=")
            if equals and attempt.isdecimal():
                self._on_taken_over(run, int(attempt))
        return answer.content

    def _left_out(self, count: int, why: str) -> tuple[int, str]:
        if why and not count:
            self._problems.warn_once_per_cause("remark", f"{self._endpoint.shown} says: {why}")
        return count, why

    def _send(self, items: Sequence[Sendable], send: Callable[[Sequence[Sendable]], tuple[int, str]]) -> int:
        """Sends the items and returns how many were accepted; the others become dead letters."""
        accepted, given_up = self._sending.send(items, send)
        if given_up:
            self._give_up(given_up)
        return accepted

    def _give_up(self, given_up: Sequence[RejectedItem[Any]]) -> None:
        records: list[tuple[Record, str]] = [(refusal.item, refusal.why) for refusal in given_up]
        try:
            self._letters.keep(records)
        except OSError as error:
            raise Unavailable(
                "dead letters",
                f"{self._endpoint.shown} refuses records ({given_up[0].why}), and they cannot be put aside ({error}): "
                "all stays in the journal; send what was put aside again with `playhead ship --dead-letters`, or make "
                "room on the disk",
                retry_after=_SLOWLY_SECONDS,
                retry_is_useless=True,
            ) from error
        self._counters.rejected += len(given_up)
        self._problems.warn_once_per_cause(
            f"refused {given_up[0].why}"[:40],
            f"{self._endpoint.shown} refuses a record ({given_up[0].why}): it is kept in {self._letters.folder}, where "
            "`playhead ship --dead-letters` sends it from again; more of this kind are counted only",
        )
