"""Lists the compressions of a run, and audits one.

`list_compressions` only counts messages; `audit_compression` reads the messages before and after, and later events.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playhead.model.event import ContextCompressed, LlmCalled
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.projection.message_outcomes import DROPPED, KEPT, SUMMARISED, MessageOutcomes, outcomes_of_event
from playhead.wire.operations import Page
from playhead.wire.operations.compression import Compression, CompressionAudit, TokensSaved
from playhead_collector.analysis.compression.after_compression import (
    entered_before,
    events_after,
    last_messages,
    refs_to_read,
)
from playhead_collector.analysis.compression.audit import AuditInput, audit
from playhead_collector.errors import ContentMissing, Refused
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at
from playhead_collector.read.token_estimates import CALIBRATED, ESTIMATED, REPORTED, estimate_all
from playhead_collector.read.values import ContentCache, fetch, messages_of


@dataclass(frozen=True, slots=True)
class _CompressionAndCall:
    event: ContextCompressed
    call: LlmCalled | None


async def list_compressions(record: RunRecord, limit: int, after: int) -> Page[Compression]:
    """Lists compressions after seq `after`, in order."""
    compressions = await _find(record, after, limit)
    threads: dict[ContentRef, Sequence[ContentRef]] = {}
    items: list[Compression] = []
    for entry in compressions[:limit]:
        outcomes = await _read_outcomes(record, entry.event, threads)
        items.append(compression(entry.event, entry.call, outcomes, _reported(entry.event)))
    return {"items": items, "next_cursor": str(items[-1]["seq"]) if len(compressions) > limit else None}


async def audit_compression(record: RunRecord, at: str) -> CompressionAudit:
    """Audits the compression at `at`. Raises Refused."""
    seq = await seq_at(record, at)
    compressions = await _find(record, seq - 1, 1)
    if not compressions or compressions[0].event.seq != seq:
        message = f"event {seq} of run {record.run} is no compression: GET .../compressions lists those that there are"
        raise Refused(404, "no_such_compression", message)
    event, call = compressions[0].event, compressions[0].call
    outcomes = await _read_outcomes(record, event, {})
    entered = await entered_before(record, event.seq)
    events, searched_to = await events_after(record, event)
    system = call.system if call else None
    threads = (*outcomes.diff.before, *outcomes.diff.after)
    wanted = (*last_messages(entered), *threads, event.summary, system, *refs_to_read(events))
    cache = await fetch(record.store, record.project_id, wanted)
    head = compression(event, call, outcomes, _tokens(event, outcomes, cache))
    evidence = AuditInput(event, outcomes, cache, entered, events, searched_to, system)
    return await asyncio.to_thread(audit, head, evidence)


def compression(
    event: ContextCompressed, call: LlmCalled | None, outcomes: MessageOutcomes, tokens: TokensSaved
) -> Compression:
    """Converts a compression to an answer."""
    refs: Mapping[str, ContentRef | None] = {"before": event.before, "after": event.after, "summary": event.summary}
    return {
        "run": event.run,
        "seq": event.seq,
        "event": event.id,
        "time": rfc3339(event.time_ns),
        "actor": event.actor,
        "origin": event.origin,
        "strategy": event.strategy,
        "call": call and call.seq,
        "messages": {
            "before": len(outcomes.diff.before),
            "after": len(outcomes.diff.after),
            "kept": outcomes.count(KEPT),
            "summarised": outcomes.count(SUMMARISED),
            "dropped": outcomes.count(DROPPED),
        },
        "tokens": tokens,
        "refs": {name: ref for name, ref in refs.items() if ref is not None},
    }


async def _find(record: RunRecord, after: int, limit: int) -> list[_CompressionAndCall]:
    """Finds up to limit + 1 compressions after `after`, each with the first model call that has the new context."""
    waiting: list[ContextCompressed] = []
    calls: dict[str, LlmCalled] = {}
    async for block in record.onwards(after):
        for event in block:
            if isinstance(event, ContextCompressed) and len(waiting) <= limit:
                waiting.append(event)
            elif isinstance(event, LlmCalled):
                calls |= {
                    waiting_event.id: event
                    for waiting_event in waiting
                    if waiting_event.id not in calls and _is_first(event, waiting_event)
                }
        if len(waiting) > limit and all(waiting_event.id in calls for waiting_event in waiting[:limit]):
            break
    return [_CompressionAndCall(event, calls.get(event.id)) for event in waiting]


def _is_first(call: LlmCalled, event: ContextCompressed) -> bool:
    return call.span == event.span or (event.origin == "declared" and call.actor == event.actor)


async def _read_outcomes(
    record: RunRecord, event: ContextCompressed, threads: dict[ContentRef, Sequence[ContentRef]]
) -> MessageOutcomes:
    for thread in (event.before, event.after):
        if thread is not None and thread not in threads:
            try:
                threads[thread] = await messages_of(record.store, record.project_id, thread)
            except ContentMissing:
                threads[thread] = []
    before = threads[event.before] if event.before else ()
    return outcomes_of_event(event, before, threads[event.after] if event.after else ())


def _reported(event: ContextCompressed) -> TokensSaved:
    before, after = event.tokens_before, event.tokens_after
    saved = None if before is None or after is None else before - after
    return {"before": before, "after": after, "saved": saved, "basis": REPORTED}


def _tokens(event: ContextCompressed, outcomes: MessageOutcomes, cache: ContentCache) -> TokensSaved:
    """Token counts before and after: as reported, else estimated from the messages."""
    reported = _reported(event)
    if reported["saved"] is not None:
        return reported
    # The input of the call before did not have that call's answer.
    sides = (outcomes.diff.before[: outcomes.input_length], outcomes.diff.after)
    before, after = (estimate_all(cache.parsed_message(ref) for ref in side) for side in sides)
    factor = 1.0
    if event.tokens_before is not None and before:
        factor = event.tokens_before / before
    elif event.tokens_after is not None and after:
        factor = event.tokens_after / after
    numbers = round(before * factor), round(after * factor)
    basis = ESTIMATED if event.tokens_before is None and event.tokens_after is None else CALIBRATED
    return {"before": numbers[0], "after": numbers[1], "saved": numbers[0] - numbers[1], "basis": basis}
