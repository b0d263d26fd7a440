"""[receive] as an application, with something in memory in place of all that comes after it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
from fastapi import FastAPI

from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.wire.pack import Pack
from playhead_collector.receive.content import ContentHttp
from playhead_collector.receive.otlp.decoded import DecodeLimits
from playhead_collector.receive.otlp_http import OtlpHttp
from playhead_collector.receive.otlp_intake import OtlpIntake
from playhead_collector.receive.ports import IngestResult, MissingRefs, PackResult
from playhead_collector.receive.request_limiter import RequestLimiter
from playhead_collector.serve import errors
from playhead_collector.serve.metrics import Metrics


@dataclass
class Memory:
    """Takes everything; raises `failure` instead, if there is one."""

    spans: list[Span] = field(default_factory=list)
    logs: list[LogEvent] = field(default_factory=list)
    packs: list[Pack] = field(default_factory=list)
    asked: list[ContentRef] = field(default_factory=list)
    pending: list[ContentRef] = field(default_factory=list)
    not_understood: dict[str, int] = field(default_factory=dict)
    failure: Exception | None = None

    async def ingest(self, spans: Sequence[Span], logs: Sequence[LogEvent]) -> IngestResult:
        if self.failure:
            raise self.failure
        self.spans += spans
        self.logs += logs
        return IngestResult(len(spans), 0, self.pending, not_understood=self.not_understood)

    async def missing(self, refs: Sequence[ContentRef]) -> MissingRefs:
        if self.failure:
            raise self.failure
        self.asked += refs
        return MissingRefs(refs[:1], "e1")

    async def put(self, pack: Pack) -> PackResult:
        if self.failure:
            raise self.failure
        self.packs.append(pack)
        return PackResult([t.parent for t in pack.threads if t.parent], "e1")


def make_app(
    memory: Memory,
    *,
    flow: RequestLimiter | None = None,
    limit: int = 2**20,
    content_limit: int = 2**20,
    max_items: int = 1_000,
    most: DecodeLimits = DecodeLimits(),  # noqa: B008 - it never changes
) -> FastAPI:
    flow = flow or RequestLimiter(max_requests=10, max_bytes=limit)
    app, metrics = FastAPI(), Metrics()
    app.include_router(OtlpHttp(OtlpIntake(lambda _: memory, metrics, flow, limit, most)).router())
    app.include_router(ContentHttp(lambda _: memory, metrics, flow, limit, content_limit, max_items).router())
    errors.install(app)
    app.state.metrics = metrics
    return app


@asynccontextmanager
async def client_of(app: FastAPI) -> AsyncGenerator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
        yield client
