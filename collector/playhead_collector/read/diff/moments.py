"""Compares two moments of a run: the state, and the model's context."""

import asyncio
from collections.abc import Iterable, Sequence

from playhead.model.event import LlmCalled
from playhead.model.ref import ContentRef
from playhead.model.state import RunState
from playhead.model.times import rfc3339
from playhead.projection.known_messages import KnownMessages
from playhead.wire.operations.moments import ContextDiff, ContextEntry, Diff, DiffMoment, Moved, StateDiff
from playhead_collector.errors import ContentMissing
from playhead_collector.read.diff.states import (
    ADDED,
    DROPPED,
    KEPT,
    REPLACED,
    comparable,
    diff_contexts,
    diff_states,
    values_in,
)
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import seq_at, state_answer, state_at
from playhead_collector.read.values import ContentCache, fetch, messages_of

# Names in the API, and in the event.
_SETTINGS = (("system", "system"), ("tools", "tools"), ("settings", "request"))


async def answer_diff(record: RunRecord, before: str | None, after: str | None, hydrate: bool, prices: Prices) -> Diff:
    """Returns the differences of the moment `after` from the moment `before`. Defaults: `before` the first event,
    `after` the last.  Raises Refused."""
    seqs = await seq_at(record, before or "1"), await seq_at(record, after)
    old, new = await state_at(record, seqs[0]), await state_at(record, seqs[1])
    calls = await _call_before(record, seqs[0]), await _call_before(record, seqs[1])
    (had, lost), (has, also_lost) = await _messages(record, old.thread), await _messages(record, new.thread)
    changed = await asyncio.to_thread(_changes, record.run, old, new, prices)
    named = list(values_in(changed)) if hydrate else []
    cache = await fetch(
        record.store, record.project_id, [*(had if had != has else ()), *(has if had != has else ()), *named]
    )
    refs = [*had, *has] if had != has else []
    entries = await asyncio.to_thread(lambda: diff_contexts(had, has, _known(cache, refs)))
    answer: Diff = {
        "run": record.run,
        "from": await _moment(record, old, calls[0]),
        "to": await _moment(record, new, calls[1]),
        "state": changed,
        "context": _context(entries, *calls),
        "missing": [],
    }
    if hydrate:
        await asyncio.to_thread(_hydrate, entries, cache)
        answer["values"] = {str(ref): cache.parsed(ref) for ref in named}
    answer["missing"] = [*dict.fromkeys([*lost, *also_lost, *cache.missing])]
    return answer


def _changes(run: str, old: RunState, new: RunState, prices: Prices) -> StateDiff:
    was, now = (comparable(state_answer(run, state, prices)) for state in (old, new))
    return diff_states(was, now)


async def _messages(record: RunRecord, thread: ContentRef | None) -> tuple[Sequence[ContentRef], list[ContentRef]]:
    """Returns the refs of a thread's messages, and a list with the thread's ref if the thread is not stored."""
    try:
        return await messages_of(record.store, record.project_id, thread), []
    except ContentMissing:
        return [], [thread] if thread else []


async def _call_before(record: RunRecord, seq: int) -> LlmCalled | None:
    """Returns the last model call that began at or before seq; None if there is none."""
    async for block in record.backwards(seq):
        for event in reversed(block):
            if isinstance(event, LlmCalled):
                return event
    return None


async def _moment(record: RunRecord, state: RunState, call: LlmCalled | None) -> DiffMoment:
    event = await record.event(state.seq)
    time = rfc3339(event.time_ns)
    return {"seq": event.seq, "event": event.id, "time": time, "thread": state.thread, "call": call and call.seq}


def _known(cache: ContentCache, refs: Iterable[ContentRef]) -> KnownMessages:
    messages = {ref: message for ref in dict.fromkeys(refs) if (message := cache.parsed_message(ref)) is not None}
    return KnownMessages({ref: message["role"] for ref, message in messages.items()}, messages)


def _context(entries: list[ContextEntry], before: LlmCalled | None, after: LlmCalled | None) -> ContextDiff:
    ops = [entry["op"] for entry in entries]
    sides = ((name, before and getattr(before, field), after and getattr(after, field)) for name, field in _SETTINGS)
    changed: dict[str, Moved] = {name: {"from": old, "to": new} for name, old, new in sides if old != new}
    return {
        "kept": ops.count(KEPT),
        "added": ops.count(ADDED),
        "dropped": ops.count(DROPPED),
        "replaced": ops.count(REPLACED),
        "entries": entries,
        "changed": changed,
    }


def _hydrate(entries: Iterable[ContextEntry], cache: ContentCache) -> None:
    """Adds the values of entries that differ. Kept messages are in both contexts and get no value."""
    for entry in entries:
        if entry["op"] != KEPT:
            entry["value"] = cache.parsed_message(ContentRef(entry["message"]))
        if entry["was"] is not None:
            entry["was_value"] = cache.parsed_message(ContentRef(entry["was"]))
