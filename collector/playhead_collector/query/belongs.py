"""Which model call does an event belong to?"""

from collections.abc import Collection

from playhead.model.event import ContextCompressed, LlmCalled, LlmCompleted, LlmFailed, MessageAdded
from playhead_collector.errors import Refused
from playhead_collector.query.calls import Call, LlmEnd
from playhead_collector.query.record import RunRecord

_OF_A_CALL = (ContextCompressed, MessageAdded, LlmCompleted, LlmFailed)


async def call_at(record: RunRecord, seq: int) -> Call[LlmCalled, LlmEnd]:
    """The model call that the event at seq is part of, else the last one that began before it.  Raises Refused."""
    begin = await _begin_at(record, seq)
    async for block in record.onwards(begin.seq):
        for event in block:
            if isinstance(event, LlmCompleted | LlmFailed) and event.span == begin.span:
                return Call(begin, event)
    return Call(begin)


async def begins_of(record: RunRecord, spans: Collection[str], near: int) -> dict[str, LlmCalled]:
    """The beginnings of these spans' model calls; a span that is no model call's has none."""
    found: dict[str, LlmCalled] = {}
    async for block in record.around(near):
        for event in block:
            if isinstance(event, LlmCalled) and event.span is not None and event.span in spans:
                found[event.span] = event
        if len(found) == len(spans):
            break
    return found


async def _begin_at(record: RunRecord, seq: int) -> LlmCalled:
    event = await record.event(seq)
    if isinstance(event, _OF_A_CALL) and event.span is not None:
        found = await begins_of(record, {event.span}, seq)
        if event.span in found:
            return found[event.span]
    async for block in record.backwards(seq):
        for earlier in reversed(block):
            if isinstance(earlier, LlmCalled):
                return earlier
    raise Refused(
        404, "no_such_call", f"run {record.run} has no model call at or before event {seq}: ask for a later one"
    )
