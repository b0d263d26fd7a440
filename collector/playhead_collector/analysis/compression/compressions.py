"""Lists the compressions of a run, and audits one.

`list_compressions` counts messages, and reads them only where their tokens were not counted; `audit_compression` reads
the messages before and after, and later events.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from playhead.model.event import ContextCompressed, LlmCalled, LlmCompleted
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.model.token_estimates import estimate_all
from playhead.projection.message_outcomes import DROPPED, KEPT, SUMMARISED, MessageOutcomes, outcomes_of_event
from playhead.wire.operations import Page
from playhead.wire.operations.compression import CompressionAudit, RecordedCompression, TokensSaved
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
from playhead_collector.read.token_estimates import CALIBRATED, ESTIMATED, REPORTED
from playhead_collector.read.values import ContentCache, fetch, messages_of

# Events after the start of a call in which its end is looked for.
_MAX_EVENTS_OF_A_CALL = 4_096


@dataclass(frozen=True, slots=True)
class CompressionAndCall:
    """A compression, the first model call that has the new context, and the seq of the call that wrote the summary."""

    event: ContextCompressed
    call: LlmCalled | None
    summariser: int | None = None


async def list_compressions(record: RunRecord, limit: int, after: int) -> Page[RecordedCompression]:
    """Lists compressions after seq `after`, in order."""
    compressions = await _find(record, after, limit)
    threads: dict[ContentRef, Sequence[ContentRef]] = {}
    items: list[RecordedCompression] = []
    for found in compressions[:limit]:
        entry = await _with_summariser(record, found)
        outcomes = await read_outcomes(record, entry.event, threads)
        tokens = await _reported(record, entry)
        if tokens["saved"] is None:
            cache = await fetch(record.store, record.project_id, (*outcomes.diff.before, *outcomes.diff.after))
            tokens = await asyncio.to_thread(_estimated, tokens, outcomes, cache)
        items.append(compression(entry, outcomes, tokens))
    return {"items": items, "next_cursor": str(items[-1]["seq"]) if len(compressions) > limit else None}


async def audit_compression(record: RunRecord, at: str) -> CompressionAudit:
    """Audits the compression at `at`. Raises Refused."""
    head, evidence = await read_evidence(record, at)
    return await asyncio.to_thread(audit, head, evidence)


async def read_evidence(record: RunRecord, at: str) -> tuple[RecordedCompression, AuditInput]:
    """Reads the compression at `at`, and what its audit needs. Raises Refused."""
    entry = await _with_summariser(record, await find_compression(record, at))
    event, call = entry.event, entry.call
    outcomes = await read_outcomes(record, event, {})
    entered, tags = await entered_before(record, event.seq)
    events, searched_to = await events_after(record, event)
    system = call.system if call else None
    threads = (*outcomes.diff.before, *outcomes.diff.after)
    wanted = (*last_messages(entered), *threads, event.summary, system, *refs_to_read(events))
    cache = await fetch(record.store, record.project_id, wanted)
    tokens = _estimated(await _reported(record, entry), outcomes, cache)
    evidence = AuditInput(event, outcomes, cache, entered, events, searched_to, system, tags)
    return compression(entry, outcomes, tokens), evidence


def compression(entry: CompressionAndCall, outcomes: MessageOutcomes, tokens: TokensSaved) -> RecordedCompression:
    """Converts a compression to an answer."""
    event = entry.event
    refs = {"before": event.before, "after": event.after, "summary": event.summary, "policy": event.policy}
    return {
        "run": event.run,
        "seq": event.seq,
        "event": event.id,
        "time": rfc3339(event.time_ns),
        "actor": event.actor,
        "origin": event.origin,
        "strategy": event.strategy,
        "call": entry.call and entry.call.seq,
        "summariser": entry.summariser,
        "trigger": event.trigger,
        "note": event.note,
        "fallback": event.fallback,
        "preserved_messages": len(event.preserved),
        "messages": {
            "before": len(outcomes.diff.before),
            "after": len(outcomes.diff.after),
            "kept": outcomes.count(KEPT),
            "moved": len(outcomes.moved()),
            "summarised": outcomes.count(SUMMARISED),
            "dropped": outcomes.count(DROPPED),
        },
        "tokens": tokens,
        "refs": {name: ref for name, ref in refs.items() if ref is not None},
    }


async def find_compression(record: RunRecord, at: str) -> CompressionAndCall:
    """Finds the compression at `at`, without its summariser. Raises Refused."""
    seq = await seq_at(record, at)
    compressions = await _find(record, seq - 1, 1)
    if not compressions or compressions[0].event.seq != seq:
        message = f"event {seq} of run {record.run} is no compression: GET .../compressions lists those that there are"
        raise Refused(404, "no_such_compression", message)
    return compressions[0]


async def _find(record: RunRecord, after: int, limit: int) -> list[CompressionAndCall]:
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
    return [CompressionAndCall(event, calls.get(event.id)) for event in waiting]


def _is_first(call: LlmCalled, event: ContextCompressed) -> bool:
    # A provider's own summary in an answer is of the input of that call; the new context is that of the next one.
    if event.origin == "declared" or (event.origin == "provider" and event.summariser == event.span):
        return call.actor == event.actor
    return call.span == event.span


async def read_outcomes(
    record: RunRecord, event: ContextCompressed, threads: dict[ContentRef, Sequence[ContentRef]]
) -> MessageOutcomes:
    """Reads the outcomes of the messages. `threads`: messages of threads that were read before, to which it adds."""
    for thread in (event.before, event.after):
        if thread is not None and thread not in threads:
            try:
                threads[thread] = await messages_of(record.store, record.project_id, thread)
            except ContentMissing:
                threads[thread] = []
    before = threads[event.before] if event.before else ()
    return outcomes_of_event(event, before, threads[event.after] if event.after else ())


async def _with_summariser(record: RunRecord, entry: CompressionAndCall) -> CompressionAndCall:
    """Adds the seq of the model call that wrote the summary."""
    if entry.event.summariser is None:
        return entry
    async for block in record.backwards(entry.event.seq):
        for event in reversed(block):
            if isinstance(event, LlmCalled) and event.span == entry.event.summariser:
                return replace(entry, summariser=event.seq)
    return entry


async def _reported(record: RunRecord, entry: CompressionAndCall) -> TokensSaved:
    """Token counts before and after: as the provider counted the calls before and after, else as declared."""
    before, after = entry.event.tokens_before, entry.event.tokens_after
    if entry.event.origin == "declared":
        counted = await _counted_before(record, entry.event), await _counted_after(record, entry)
        # Declared numbers are often estimates without the definitions of tools: the two kinds cannot be subtracted.
        if None not in counted or before is None or after is None:
            before, after = counted
    elif after is None:
        after = await _counted_after(record, entry)
    saved = None if before is None or after is None else before - after
    return {"before": before, "after": after, "saved": saved, "basis": REPORTED}


async def _counted_before(record: RunRecord, since: ContextCompressed) -> int | None:
    """Returns the input tokens of the same agent's last call before the compression, apart from the one that wrote the
    summary; None if its provider did not report them."""
    async for block in record.backwards(since.seq):
        for event in reversed(block):
            if isinstance(event, LlmCompleted) and event.actor == since.actor and event.span != since.summariser:
                return event.usage.input_tokens
    return None


async def _counted_after(record: RunRecord, entry: CompressionAndCall) -> int | None:
    """Returns the input tokens of the first call after the compression; None if they are not known."""
    call = entry.call
    if call is None:
        return None
    async for block in record.onwards(call.seq):
        for event in block:
            if isinstance(event, LlmCompleted) and event.span == call.span:
                return event.usage.input_tokens
        if block[-1].seq > call.seq + _MAX_EVENTS_OF_A_CALL:
            break
    return None


def _estimated(reported: TokensSaved, outcomes: MessageOutcomes, cache: ContentCache) -> TokensSaved:
    """The reported counts; what is missing is estimated from the messages."""
    if reported["saved"] is not None:
        return reported
    # The input of the call before did not have that call's answer.
    sides = (outcomes.diff.before[: outcomes.input_length], outcomes.diff.after)
    before, after = (estimate_all(cache.parsed_message(ref) for ref in side) for side in sides)
    factor, basis = 1.0, ESTIMATED
    if reported["before"] is not None and before:
        factor, basis = reported["before"] / before, CALIBRATED
    elif reported["after"] is not None and after:
        factor, basis = reported["after"] / after, CALIBRATED
    numbers = round(before * factor), round(after * factor)
    return {"before": numbers[0], "after": numbers[1], "saved": numbers[0] - numbers[1], "basis": basis}
