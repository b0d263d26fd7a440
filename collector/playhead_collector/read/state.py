"""The state of a run at a moment, and the seq that a moment (`turn:N`, `first-error`, ...) means."""

import re
from typing import Any, cast

from playhead.model.event import LlmCalled
from playhead.model.state import RunState, fold, state_to_json
from playhead.model.times import rfc3339
from playhead.wire.operations import StateAt
from playhead_collector.errors import Refused
from playhead_collector.read.paging import is_seq
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import fetch_thread

_SPAN_ID = 16  # hex digits
_MOMENTS = "give a seq or an id of its events, turn:N, first-error or last"
_TURN = re.compile(r"turn:(\d{1,9})", re.ASCII)
# At most this many events are read one by one. Snapshots are this far apart.
_WALKED = 1_024


async def seq_at(record: RunRecord, at: str | None) -> int:
    """Returns the seq of the moment `at`. Raises Refused.

    Forms of `at`: a seq; the id of an event; the id of a span (its first event); `turn:N` (the start of the N-th model
    call); `first-error`; `last` or None (the last event).
    """
    if record.last == 0:
        raise Refused(404, "no_events", f"run {record.run} has no events yet: ask again when it has begun")
    if at is None or at == "last":
        return record.last
    if turn := _TURN.fullmatch(at):
        return await _turn(record, int(turn[1]))
    if at == "first-error":
        return await _first_error(record)
    if is_seq(at) and len(at) != _SPAN_ID:  # a span id may have digits only
        if record.row.parent_missing:
            await record.event(_within(record, int(at)))
        return _within(record, int(at))
    seq = await record.store.events.seq_of(record.project_id, record.run, at)
    if seq is None:
        raise Refused(404, "no_such_event", f"run {record.run} has no event {at!r}: {_MOMENTS}")
    return seq


async def _turn(record: RunRecord, number: int) -> int:
    """Returns the seq at which model call `number` (from 1) began."""
    if not 1 <= number <= record.row.llm_calls:
        message = f"run {record.run} has no turn {number}: it has {record.row.llm_calls} model calls"
        raise Refused(404, "no_such_turn", message)
    counted, low, high = 0, 0, record.last
    while high - low > _WALKED:
        state = await record.store.events.snapshot(record.project_id, record.run, (low + high) // 2)
        if state is None or state.seq <= low:
            break
        if state.llm_calls < number:
            counted, low = state.llm_calls, state.seq
        else:
            high = state.seq
    async for block in record.onwards(low):
        for event in block:
            counted += isinstance(event, LlmCalled)
            if counted == number:
                return event.seq
    raise record.not_here(record.row.shared or 1)


async def _first_error(record: RunRecord) -> int:
    state = await state_at(record, record.last)
    if not state.errors:
        raise Refused(404, "no_error", f"run {record.run} has no error: leave out `at`, or give a seq")
    return state.errors[0].seq


def _within(record: RunRecord, seq: int) -> int:
    if 1 <= seq <= record.last:
        return seq
    raise Refused(404, "no_such_seq", f"run {record.run} has no event {seq}: its events are 1 to {record.last}")


async def state_at(record: RunRecord, seq: int) -> RunState:
    """Returns the fold of the events up to seq, starting from the nearest stored state. Raises Refused when none of the
    events is stored here.

    For a fork whose parent is missing, only its own events are folded.
    """
    start = await record.store.events.snapshot(record.project_id, record.run, seq) or RunState()
    events = await record.events(start.seq, seq)
    if not events and start.seq == 0:
        raise record.not_here(seq)
    return fold(events, start)


async def answer_state(record: RunRecord, at: str | None, hydrate: bool, prices: Prices) -> StateAt:
    """Returns the state at the moment `at`; with `hydrate`, also the values of its refs."""
    state = await state_at(record, await seq_at(record, at))
    answer = state_answer(record.run, state, prices)
    if hydrate:
        point = state.checkpoint
        others = (*state.user_state.values(), state.plan, point and point.state)
        thread, cache = await fetch_thread(record.store, record.project_id, state.thread, *others)
        answer["values"] = {
            "thread": [cache.message(ref) for ref in thread],
            "user_state": {key: cache.value(ref) for key, ref in state.user_state.items()},
            "plan": cache.value(state.plan),
            "checkpoint": cache.value(point.state) if point else None,
        }
        answer["missing"] = cache.missing
    return answer


def state_answer(run: str, state: RunState, prices: Prices) -> StateAt:
    """Converts a state to an answer, with its cost and the context limit of its model."""
    value: dict[str, Any] = {"run": run, "time": rfc3339(state.time_ns)} | state_to_json(state)
    del value["time_ns"], value["usage"]
    value |= {"context_limit": prices.limit_of(state.model), "cost": prices.cost_of(state.usage or ())}
    return cast(StateAt, value)


def elapsed_ms(start_ns: int, end_ns: int | None) -> float | None:
    """Returns the milliseconds between start and end; None if there is no end yet."""
    return None if end_ns is None else (end_ns - start_ns) / 1e6
