"""The difference of two moments of a run: their states, and the model's contexts.

The differences can be applied: `apply_state(a, diff_states(a, b)) == b`, and
`apply_context(a, diff_contexts(a, b)) == b`, in either direction.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from playhead.model.event import LlmCalled
from playhead.model.ref import ContentRef
from playhead.model.state import RunState
from playhead.model.times import rfc3339
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import diff_messages
from playhead.projection.message_outcomes import DROPPED, KEPT, longest_rise, message_outcomes, with_replacements
from playhead.wire.operations import StateAt
from playhead.wire.operations.moments import (
    ContextDiff,
    ContextEntry,
    Diff,
    DiffMoment,
    KeyedChange,
    ListChange,
    Moved,
    StateDiff,
)
from playhead_collector.errors import ContentMissing
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
    (had, lost), (has, also_lost) = (
        await _thread_messages(record, old.thread),
        await _thread_messages(record, new.thread),
    )
    changed = await asyncio.to_thread(_changes, record.run, old, new, prices)
    named = list(values_in(changed)) if hydrate else []
    cache = await fetch(
        record.store, record.project_id, [*(had if had != has else ()), *(has if had != has else ()), *named]
    )
    refs = [*had, *has] if had != has else []
    entries = await asyncio.to_thread(lambda: diff_contexts(had, has, _known_messages(cache, refs)))
    answer: Diff = {
        "run": record.run,
        "from": await _moment_answer(record, old, calls[0]),
        "to": await _moment_answer(record, new, calls[1]),
        "state": changed,
        "context": _context_answer(entries, *calls),
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


async def _thread_messages(
    record: RunRecord, thread: ContentRef | None
) -> tuple[Sequence[ContentRef], list[ContentRef]]:
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


async def _moment_answer(record: RunRecord, state: RunState, call: LlmCalled | None) -> DiffMoment:
    event = await record.event(state.seq)
    time = rfc3339(event.time_ns)
    return {"seq": event.seq, "event": event.id, "time": time, "thread": state.thread, "call": call and call.seq}


def _known_messages(cache: ContentCache, refs: Iterable[ContentRef]) -> KnownMessages:
    messages = {ref: message for ref in dict.fromkeys(refs) if (message := cache.parsed_message(ref)) is not None}
    return KnownMessages({ref: message["role"] for ref, message in messages.items()}, messages)


def _context_answer(entries: list[ContextEntry], before: LlmCalled | None, after: LlmCalled | None) -> ContextDiff:
    places = [entry["from"] for entry in entries if entry["op"] == KEPT and entry["from"] is not None]
    ops = [entry["op"] for entry in entries]
    sides = ((name, before and getattr(before, field), after and getattr(after, field)) for name, field in _SETTINGS)
    changed: dict[str, Moved] = {name: {"from": old, "to": new} for name, old, new in sides if old != new}
    return {
        "kept": ops.count(KEPT),
        "moved": len(places) - len(longest_rise(places)),
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


# --- differences, pure -----------------------------------------------------------------------------------------------

KEYED = ("user_state", "open_calls")
LISTS = ("history", "pending_approvals", "compressions", "tripped", "errors")
ADDED, REPLACED = "added", "replaced"
# Not compared: the position of the state, and the values of its refs.
_NOT_STATE = ("run", "seq", "time", "values", "missing")


def comparable(state: StateAt) -> dict[str, Any]:
    """Returns an answered state without its position and values, with open calls keyed by span."""
    value: dict[str, Any] = {name: item for name, item in state.items() if name not in _NOT_STATE}
    value["open_calls"] = {call["span"]: call for call in state["open_calls"]}
    for name in LISTS:
        value[name] = list(value[name])
    return value


def diff_states(before: Mapping[str, Any], after: Mapping[str, Any]) -> StateDiff:
    """Returns the difference between two states, both made by `comparable`."""
    plain = [name for name in after if name not in KEYED and name not in LISTS]
    return {
        "changed": {name: _moved(before[name], after[name]) for name in plain if before[name] != after[name]},
        "keyed": {name: diff_keyed(before[name], after[name]) for name in KEYED if before[name] != after[name]},
        "lists": {name: _diff_lists(before[name], after[name]) for name in LISTS if before[name] != after[name]},
    }


def apply_state(before: Mapping[str, Any], diff: StateDiff) -> dict[str, Any]:
    """Returns the second state, from the first one and the difference."""
    after = dict(before)
    after |= {name: moved["to"] for name, moved in diff["changed"].items()}
    for name, keyed in diff["keyed"].items():
        stayed = {key: value for key, value in before[name].items() if key not in keyed["removed"]}
        after[name] = stayed | keyed["added"] | {key: moved["to"] for key, moved in keyed["changed"].items()}
    for name, listed in diff["lists"].items():
        after[name] = [*before[name][: listed["same"]], *listed["added"]]
    return after


def diff_keyed(before: Mapping[str, Any], after: Mapping[str, Any]) -> KeyedChange:
    """Returns the difference of two mappings."""
    both = [key for key in before if key in after and before[key] != after[key]]
    return {
        "added": {key: after[key] for key in after if key not in before},
        "removed": {key: before[key] for key in before if key not in after},
        "changed": {key: _moved(before[key], after[key]) for key in both},
    }


def values_in(diff: StateDiff) -> Iterator[ContentRef]:
    """Yields the refs of user values, plans and checkpoints in the difference."""
    keyed = diff["keyed"].get("user_state")
    refs: list[Any] = []
    if keyed is not None:
        refs = [*keyed["added"].values(), *keyed["removed"].values()]
        refs += [side for moved in keyed["changed"].values() for side in moved.values()]
    if (plan := diff["changed"].get("plan")) is not None:
        refs += plan.values()
    if (point := diff["changed"].get("checkpoint")) is not None:
        refs += [side["state"] for side in (point["from"], point["to"]) if side]
    yield from (ContentRef(ref) for ref in refs if ref is not None)


def diff_contexts(
    before: Sequence[ContentRef], after: Sequence[ContentRef], known_messages: KnownMessages
) -> list[ContextEntry]:
    """Returns one entry per message of either context, in the new order. Removed messages come before the messages that
    replaced them."""
    outcomes = with_replacements(message_outcomes(diff_messages(before, after)), known_messages)
    new_of = {**outcomes.replacements, **outcomes.diff.kept}
    old_of = {new: old for old, new in new_of.items()}
    dropped = deque(position for position in outcomes.positions(DROPPED) if position not in new_of)
    entries: list[ContextEntry] = []
    for position, upto in enumerate(_next_old(len(before), len(after), old_of)):
        while dropped and dropped[0] < upto:
            entries.append(_context_entry(DROPPED, before, after, dropped.popleft(), None, known_messages))
        old = old_of.get(position)
        op = ADDED if old is None else KEPT if outcomes.by_position[old] == KEPT else REPLACED
        entries.append(_context_entry(op, before, after, old, position, known_messages))
    return entries + [_context_entry(DROPPED, before, after, position, None, known_messages) for position in dropped]


def _next_old(count: int, positions: int, old_of: Mapping[int, int]) -> list[int]:
    """Returns for each new position the old position of the next message that both contexts have."""
    next_old, upto = [0] * positions, count
    for position in range(positions - 1, -1, -1):
        upto = old_of.get(position, upto)
        next_old[position] = upto
    return next_old


def apply_context(before: Sequence[ContentRef], entries: Sequence[ContextEntry]) -> list[ContentRef]:
    """Returns the second context, from the first one and the difference."""
    after: list[ContentRef] = []
    for entry in entries:
        old = entry["from"]
        if entry["op"] == KEPT and old is not None:
            after.append(before[old])
        elif entry["op"] != DROPPED:
            after.append(ContentRef(entry["message"]))
    return after


def _context_entry(
    op: str,
    before: Sequence[ContentRef],
    after: Sequence[ContentRef],
    old: int | None,
    new: int | None,
    known_messages: KnownMessages,
) -> ContextEntry:
    ref = after[new] if new is not None else before[old or 0]
    was = before[old] if op == REPLACED and old is not None else None
    role = known_messages.roles.get(ref)
    return {"op": op, "from": old, "to": new, "role": role, "message": ref, "was": was}


def _diff_lists(before: Sequence[Any], after: Sequence[Any]) -> ListChange:
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return {"same": same, "removed": list(before[same:]), "added": list(after[same:])}


def _moved(before: object, after: object) -> Moved:
    return {"from": before, "to": after}
