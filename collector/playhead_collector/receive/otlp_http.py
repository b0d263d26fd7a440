"""POST /v1/traces, /v1/logs, /v1/metrics: OTLP over HTTP, as specified.  [receive] → lift → store.

    receive → admit → decompress → decode → ingest (lift, store) → reply

A request is answered with 200 once its data is durable, never before. OTLP clients retry only after 429, 502, 503 and
504, so a temporary error is a 503, and other codes are final. Errors are raised here (Refused, StoreUnavailable), and
`serve/errors.py` answers them in OTLP's form on these PATHS.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from fastapi import APIRouter, Request, Response

from playhead_collector.receive.otlp import decode, reply
from playhead_collector.receive.otlp.decode import Signal, Wire
from playhead_collector.receive.otlp.decoded import Decoded, DecodeLimits
from playhead_collector.receive.otlp.partial_success import PartialSuccessMessage
from playhead_collector.receive.ports import Counts, Ingest, IngestResult
from playhead_collector.receive.request_limiter import AdmittedRequest, RequestLimiter, off_loop

# Paths to which other SDKs send (Langfuse's and LangSmith's).
PREFIXES = ("", "/api/public/otel", "/otel")
PATHS = frozenset(f"{prefix}/v1/{signal}" for prefix in PREFIXES for signal in ("traces", "logs", "metrics"))
# The prefixes of all paths for spans, logs and content.
INTAKE_PATHS = tuple(f"{prefix}/v1/" for prefix in PREFIXES)

SIGNALS: Final[tuple[Signal, ...]] = ("traces", "logs", "metrics")
# A span takes 10 kB of memory until it is stored; a ninth of the memory used is counted (see `app.py`).
_SPAN_CHARGE = 1_000


@dataclass(frozen=True, slots=True)
class OtlpHttp:
    """The three endpoints."""

    ingest: Ingest
    counts: Counts
    flow: RequestLimiter
    max_bytes: int
    most: DecodeLimits

    def router(self) -> APIRouter:
        """The routes, to be included in an application."""
        router = APIRouter(tags=["OTLP"])
        for signal in SIGNALS:
            for prefix in PREFIXES:
                router.add_api_route(
                    f"{prefix}/v1/{signal}",
                    self._endpoint(signal),
                    methods=["POST"],
                    summary=f"Take {signal} as OTLP, protobuf or JSON",
                    include_in_schema=not prefix,
                    response_class=Response,
                    operation_id=f"otlp_{signal}" if not prefix else None,
                )
        return router

    def _endpoint(self, signal: Signal) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            return await self._export(signal, request)

        return endpoint

    async def _export(self, signal: Signal, request: Request) -> Response:
        wire = decode.wire_of(request.headers.get("content-type"))
        said = PartialSuccessMessage()
        async with self.flow.take(request, self.max_bytes) as share:
            portions, size = await self._portions(signal, wire, share)
            # Each portion is durable before the next is read, and storing one twice changes nothing: when a later
            # portion fails and the sender retries, nothing is lost or stored twice.
            while (portion := await off_loop(size, partial(next, portions, None))) is not None:
                share.hold(max(share.bytes, size + _SPAN_CHARGE * (len(portion.spans) + len(portion.logs))))
                said.left_out(portion.rejected, portion.reason)
                said.taken(await self._store(signal, portion))
        return reply.success(signal, wire, said.rejected, str(said))

    async def _portions(self, signal: Signal, wire: Wire, share: AdmittedRequest) -> tuple[Iterator[Decoded], int]:
        # Separate from `_export`, so that the body is freed while its last spans wait for the database.
        body, sent_bytes = await share.body()
        size = len(body)
        self.counts.body(sent_bytes, size)
        return await off_loop(size, partial(self._open, signal, body, wire, share)), size

    def _open(self, signal: Signal, body: bytes, wire: Wire, share: AdmittedRequest) -> Iterator[Decoded]:
        share.hold(decode.charge(body, wire, self.most))
        return decode.portions(signal, body, wire, self.most)

    async def _store(self, signal: Signal, portion: Decoded) -> IngestResult:
        taken = await self.ingest(portion.spans, portion.logs) if portion.spans or portion.logs else IngestResult(0)
        self.counts.taken(taken.spans, taken.duplicates, len(portion.logs))
        self.counts.rejected(signal, portion.rejected)
        self.counts.ignored(signal, portion.ignored)
        if taken.dropped:
            self.counts.dropped(taken.dropped)
        for scope, count in taken.not_understood.items():
            self.counts.not_understood(scope, count)
        return taken
