"""Handlers of compressions of contexts and the facts lost in them."""

from typing import Any

from playhead.wire.operations.compression import (
    CompressionAudit,
    CompressionOperations,
    JudgedCompression,
    RecordedCompression,
)
from playhead.wire.operations.page import Page
from playhead_collector.analysis.compression.compressions import audit_compression, list_compressions
from playhead_collector.analysis.compression.judging import ask_for_facts, brief_from
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.paging import read_seq


@handles(CompressionOperations.compressions)
async def compressions(asking: Asking, run: str, *, limit: int | None = None) -> Page[RecordedCompression]:
    return await list_compressions(await asking.record(run), limit=asking.page(limit), after=read_seq(asking.cursor))


@handles(CompressionOperations.compression)
async def compression(asking: Asking, run: str, at: int | str) -> CompressionAudit:
    return await audit_compression(await asking.record(run), str(at))


@handles(CompressionOperations.judge_compression, waits=True)
async def judge_compression(asking: Asking, run: str, at: int | str) -> JudgedCompression:
    explainer, record = asking.explainer, await asking.record(run)
    value: dict[str, Any] = await asking.compute("judging", (record.run,), {"at": str(at)})
    return await ask_for_facts(explainer, brief_from(value), asking.services.clock())
