"""Finds the model call to which an event belongs.

An event of a model call belongs to that call.  An event of a tool call belongs to the model call that asked for the
tool: the one whose output names the call's id; else the only one that asked for this tool with these arguments; else
the last model call below the nearest span around the tool; else the last one of the same agent; else the last one.
"""

from collections.abc import Collection, Iterator
from typing import Any

from playhead.model.canonical import canonical_json
from playhead.model.event import (
    ContextCompressed,
    LlmCalled,
    LlmCompleted,
    LlmFailed,
    MessageAdded,
    RunEvent,
    ToolCalled,
    ToolCompleted,
    ToolFailed,
)
from playhead_collector.errors import Refused
from playhead_collector.read.calls import CallEvents, LlmEnd
from playhead_collector.read.record import BLOCK, RunRecord
from playhead_collector.read.values import fetch

_OF_A_CALL = (ContextCompressed, MessageAdded, LlmCompleted, LlmFailed)
_OF_A_TOOL = (ToolCalled, ToolCompleted, ToolFailed)
# A tool is called soon after the model requested it. An approval may come in between, but not thousands of events.
_BLOCKS_BACK = 4_096 // BLOCK


async def model_call_at(record: RunRecord, seq: int) -> CallEvents[LlmCalled, LlmEnd]:
    """Returns the model call to which the event at seq belongs; else the last one that began before it.  Raises
    Refused."""
    begin = await _begin_at(record, seq)
    async for block in record.onwards(begin.seq):
        for event in block:
            if isinstance(event, LlmCompleted | LlmFailed) and event.span == begin.span:
                return CallEvents(begin, event)
    return CallEvents(begin)


async def model_call_starts(record: RunRecord, spans: Collection[str], near: int) -> dict[str, LlmCalled]:
    """Returns the start events of these spans' model calls, by span. Spans that are not model calls are left out.
    `near`: the seq around which to search first."""
    starts: dict[str, LlmCalled] = {}
    async for block in record.around(near):
        for event in block:
            if isinstance(event, LlmCalled) and event.span is not None and event.span in spans:
                starts[event.span] = event
        if len(starts) == len(spans):
            break
    return starts


async def _begin_at(record: RunRecord, seq: int) -> LlmCalled:
    event = await record.event(seq)
    if isinstance(event, _OF_A_CALL) and event.span is not None:
        starts = await model_call_starts(record, {event.span}, seq)
        if event.span in starts:
            return starts[event.span]
    if isinstance(event, _OF_A_TOOL):
        tool = await _beginning(record, event)
        asking = await _requesting_call(record, tool) or await _enclosing_call(record, tool)
        if asking is not None:
            return asking
    async for block in record.backwards(seq):
        for earlier in reversed(block):
            if isinstance(earlier, LlmCalled):
                return earlier
    raise Refused(
        404, "no_such_call", f"run {record.run} has no model call at or before event {seq}: ask for a later one"
    )


async def _beginning(record: RunRecord, event: RunEvent) -> RunEvent:
    """Returns the start of the event's tool call; the event itself if that start is not stored here."""
    if not isinstance(event, ToolCalled) and event.span is not None:
        async for block in record.backwards(event.seq):
            for earlier in reversed(block):
                if isinstance(earlier, ToolCalled) and earlier.span == event.span:
                    return earlier
    return event


async def _requesting_call(record: RunRecord, tool: RunEvent) -> LlmCalled | None:
    """Returns the model call whose output requests this tool call; None if none or several may have requested it."""
    name, call_id = getattr(tool, "name", None), getattr(tool, "call_id", None)
    arguments: bytes | None = None
    if isinstance(tool, ToolCalled) and tool.arguments is not None:
        arguments = _canonical_arguments(
            (await fetch(record.store, record.project_id, [tool.arguments])).parsed(tool.arguments)
        )
    blocks = 0
    alike: set[str | None] = set()
    async for block in record.backwards(tool.seq):
        outputs = [event for event in block if isinstance(event, MessageAdded) and event.source == "output"]
        cache = await fetch(record.store, record.project_id, (event.message for event in outputs))
        for event in reversed(outputs):
            for part in _requests(cache.parsed_message(event.message)):
                if call_id is not None and part.get("id") == call_id and event.span is not None:
                    return (await model_call_starts(record, {event.span}, event.seq)).get(event.span)
                same = part.get("name") == name and _canonical_arguments(part.get("arguments")) == arguments
                alike |= {event.span} if same and arguments is not None else set()
        blocks += 1
        if blocks == _BLOCKS_BACK:
            break
    # If several calls asked for the same, the spans around the tool decide (`_enclosing_call`).
    only = alike.pop() if len(alike) == 1 else None
    return None if only is None else (await model_call_starts(record, {only}, tool.seq)).get(only)


def _requests(message: Any) -> Iterator[dict[str, Any]]:
    for part in message["parts"] if message else ():
        if part.get("type") == "tool_call":
            yield part


def _canonical_arguments(value: object) -> bytes:
    return canonical_json(value)


async def _enclosing_call(record: RunRecord, tool: RunEvent) -> LlmCalled | None:
    """Returns the last model call before the tool call, below the nearest enclosing span that has one; else the last
    one of the same agent; else None."""
    parents = {span.span_id: span.parent_id for span in await record.store.spans.read(record.project_id, record.run)}
    above = list(_chain(parents, tool.span))
    last_of_actor: LlmCalled | None = None
    nearest: tuple[int, LlmCalled] | None = None
    blocks = 0
    async for block in record.backwards(tool.seq):
        for event in reversed(block):
            if not isinstance(event, LlmCalled):
                continue
            if event.actor == tool.actor:
                last_of_actor = last_of_actor or event
            shared = next((above.index(span_id) for span_id in _chain(parents, event.span) if span_id in above), None)
            if shared is not None and (nearest is None or shared < nearest[0]):
                nearest = (shared, event)
        blocks += 1
        if blocks == _BLOCKS_BACK or (nearest and nearest[0] <= 1):
            break
    return nearest[1] if nearest else last_of_actor


def _chain(parents: dict[str, str | None], span: str | None) -> Iterator[str]:
    """Yields the span and its ancestors, innermost first."""
    seen: set[str] = set()
    while span is not None and span not in seen:
        seen.add(span)
        yield span
        span = parents.get(span)
