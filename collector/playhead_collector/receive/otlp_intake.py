"""Decodes and stores the body of an OTLP request, for HTTP and gRPC alike.  [receive] → lift → store."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from playhead.model import names
from playhead_collector.receive.otlp import decode
from playhead_collector.receive.otlp.decode import Signal, Wire
from playhead_collector.receive.otlp.decoded import Decoded, DecodeLimits
from playhead_collector.receive.otlp.partial_success import PartialSuccessMessage
from playhead_collector.receive.ports import Counts, Ingest, IngestResult
from playhead_collector.receive.request_limiter import AdmittedRequest, RequestLimiter, off_loop

# A span takes 10 kB of memory until it is stored. A ninth of the used memory is counted (see `app.py`).
_SPAN_CHARGE = 1_000


@dataclass(frozen=True, slots=True)
class OtlpIntake:
    """Stores OTLP requests. `max_bytes` limits a body, as sent and decompressed; `flow` limits requests in progress."""

    ingest: Ingest
    counts: Counts
    flow: RequestLimiter
    max_bytes: int
    limits: DecodeLimits

    async def store(
        self, signal: Signal, wire: Wire, share: AdmittedRequest, project: str | None = None
    ) -> PartialSuccessMessage:
        """Stores the content of an admitted request. All of it is durable when this returns. `project` is the project
        for spans whose resource names none (from Phoenix's clients).

        Raises Refused, StoreUnavailable; then a part may be stored, and storing it again changes nothing.
        """
        result = PartialSuccessMessage()
        portions, size = await self._portions(signal, wire, share)
        # Each portion is durable before the next is read, and storing one twice changes nothing. So if a later portion
        # fails and the sender retries, nothing is lost or stored twice.
        while (portion := await off_loop(size, partial(next, portions, None))) is not None:
            share.hold(max(share.bytes, size + _SPAN_CHARGE * (len(portion.spans) + len(portion.logs))))
            if project:
                for span in portion.spans:
                    span.resource.setdefault(names.PROJECT_NAME, project)
            result.left_out(portion.rejected, portion.reason)
            result.taken(await self._store(signal, portion))
        return result

    async def _portions(self, signal: Signal, wire: Wire, share: AdmittedRequest) -> tuple[Iterator[Decoded], int]:
        # Separate from `store`, so that the body is freed while its last spans wait for the database.
        body, sent_bytes = await share.body()
        size = len(body)
        self.counts.body(sent_bytes, size)
        return await off_loop(size, partial(self._open, signal, body, wire, share)), size

    def _open(self, signal: Signal, body: bytes, wire: Wire, share: AdmittedRequest) -> Iterator[Decoded]:
        share.hold(decode.charge(body, wire, self.limits))
        return decode.portions(signal, body, wire, self.limits)

    async def _store(self, signal: Signal, portion: Decoded) -> IngestResult:
        result = await self.ingest(portion.spans, portion.logs) if portion.spans or portion.logs else IngestResult(0)
        self.counts.taken(result.spans, result.duplicates, len(portion.logs))
        self.counts.rejected(signal, portion.rejected + result.superseded)
        self.counts.ignored(signal, portion.ignored)
        if result.dropped:
            self.counts.dropped(result.dropped)
        for scope, count in result.not_understood.items():
            self.counts.not_understood(scope, count)
        return result
