"""POST /v1/traces, /v1/logs, /v1/metrics: OTLP over HTTP, to the letter.  [receive] → lift → store.

    receive → admit → decompress → decode → ingest (lift, store) → reply

A request is answered with 200 once what it brought is durable, never before. OTLP clients send again after 429, 502,
503 and 504 only, so whatever may pass by itself is a 503, and all else tells them to give up. Errors are raised here
(Refused, StoreUnavailable), and `serve/errors.py` answers them in OTLP's form on these PATHS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, Request, Response

from playhead_collector.receive import decode, reply
from playhead_collector.receive.decode import Wire
from playhead_collector.receive.decoded import Decoded
from playhead_collector.receive.flow import Flow, Share, off_loop
from playhead_collector.receive.ports import Counts, Ingest, Taken
from playhead_collector.receive.reply import Signal

# Where clients that are set up for somebody else already send: Langfuse's and LangSmith's SDKs.
PREFIXES = ("", "/api/public/otel", "/otel")
PATHS = frozenset(f"{prefix}/v1/{signal}" for prefix in PREFIXES for signal in ("traces", "logs", "metrics"))

_DECODE: dict[Signal, Callable[[bytes, Wire], Decoded]] = {
    "traces": decode.traces,
    "logs": decode.logs,
    "metrics": decode.metrics,
}


@dataclass(frozen=True, slots=True)
class OtlpHttp:
    """The three endpoints."""

    ingest: Ingest
    counts: Counts
    flow: Flow
    max_bytes: int

    def router(self) -> APIRouter:
        """The routes, to be included in an application."""
        router = APIRouter(tags=["OTLP"])
        for signal in _DECODE:
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
        async with self.flow.take(request, self.max_bytes) as share:
            decoded = await self._decoded(signal, wire, share)
            taken = await self.ingest(decoded.spans, decoded.logs) if decoded.spans or decoded.logs else Taken(0)
        self._count(signal, decoded, taken)
        return reply.success(signal, wire, decoded.rejected, _remarks(decoded, taken))

    async def _decoded(self, signal: Signal, wire: Wire, share: Share) -> Decoded:
        # Apart from `_export`, so that the body is not kept while its spans wait for the database.
        body, sent_bytes = await share.body()
        self.counts.body(sent_bytes, len(body))
        return await off_loop(len(body), partial(_DECODE[signal], body, wire))

    def _count(self, signal: Signal, decoded: Decoded, taken: Taken) -> None:
        self.counts.taken(taken.spans, taken.duplicates, len(decoded.logs))
        self.counts.rejected(signal, decoded.rejected)
        self.counts.ignored(signal, decoded.ignored)


def _remarks(decoded: Decoded, taken: Taken) -> str:
    """What the sender should know about a request that was taken; empty when nothing is amiss."""
    remarks: list[str] = []
    if decoded.rejected:
        remarks.append(f"{decoded.rejected} left out: {decoded.reason}")
    if taken.pending:
        remarks.append(f"content pending: {len(taken.pending)} refs, such as {taken.pending[0]}, are not stored yet")
    return "; ".join(remarks)
