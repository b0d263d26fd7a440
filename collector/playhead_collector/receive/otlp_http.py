"""POST /v1/traces, /v1/logs, /v1/metrics: OTLP over HTTP, as specified.  [receive] → lift → store.

    receive → admit → decompress → decode → ingest (lift, store) → reply

A request is answered with 200 once its data is durable, never before. OTLP clients retry only after 429, 502, 503 and
504, so a temporary error is a 503, and other codes are final. Errors are raised here (Refused, StoreUnavailable);
`serve/errors.py` turns them into OTLP's form on these PATHS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request, Response

from playhead.model.names import STORED_HEADER, TAKEN_OVER_HEADER
from playhead_collector.access import access_of
from playhead_collector.receive import langfuse_media
from playhead_collector.receive.otlp import decode, reply
from playhead_collector.receive.otlp.decode import Signal
from playhead_collector.receive.otlp_intake import OtlpIntake

# Path prefixes that other SDKs use (Langfuse's and LangSmith's).
PREFIXES = ("", "/api/public/otel", "/otel")
PATHS = frozenset(f"{prefix}/v1/{signal}" for prefix in PREFIXES for signal in ("traces", "logs", "metrics"))
# The prefixes of all paths for spans, logs and content.
INTAKE_PATHS = (*(f"{prefix}/v1/" for prefix in PREFIXES), langfuse_media.PATH)
# Header with which Phoenix's clients name a project of Phoenix: an attribute of spans, and no tenant.
PHOENIX_HEADER: Final = "x-project-name"

SIGNALS: Final[tuple[Signal, ...]] = ("traces", "logs", "metrics")


@dataclass(frozen=True, slots=True)
class OtlpHttp:
    """The three endpoints."""

    intake: OtlpIntake

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
                    description=f"Take {signal} as OTLP, protobuf or JSON. The answer says how many were rejected.",
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
        async with self.intake.flow.take(request, self.intake.max_bytes) as share:
            result = await self.intake.store(
                signal, wire, share, access_of(request).project_id, request.headers.get(PHOENIX_HEADER)
            )
        answer = reply.success(signal, wire, result.rejected, str(result))
        answer.headers[STORED_HEADER] = result.stored
        if result.takeovers:
            answer.headers[TAKEN_OVER_HEADER] = result.takeovers
        return answer
