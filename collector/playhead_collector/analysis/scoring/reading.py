"""[analysis]: reads a run as what a scorer is given, within bounds: the newest tool calls and messages, and of long
values nothing."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from playhead.model import event as ev
from playhead.model.canonical import canonical_json, text_of
from playhead.model.message import Message, message_text
from playhead.model.ref import ContentRef
from playhead.model.scored_run import ScoredRun, ScoredToolCall
from playhead.model.state import CANCELLED
from playhead_collector.errors import ContentMissing
from playhead_collector.read.calls import TOOL_END, CallEvents, ToolEnd
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch, messages_of
from playhead_collector.store.ports.tiers import Tier

MOST_TOOL_CALLS: Final = 500
MOST_MESSAGES: Final = 200
# Bytes of one value as JSON, and of all values of a run.
_MOST_OF_ONE, _MOST_OF_ALL = 256 * 1024, 8 * 1024 * 1024


@dataclass(slots=True)
class _Gathered:
    """What the events of a run name."""

    input: ContentRef | None = None
    output: ContentRef | None = None
    error: str | None = None
    thread: ContentRef | None = None
    first_user: ContentRef | None = None
    answer: ContentRef | None = None
    calls: deque[CallEvents[ev.ToolCalled, ToolEnd]] = field(
        default_factory=lambda: deque[CallEvents[ev.ToolCalled, ToolEnd]](maxlen=MOST_TOOL_CALLS)
    )
    called: int = 0
    open: dict[str, CallEvents[ev.ToolCalled, ToolEnd]] = field(
        default_factory=dict[str, CallEvents[ev.ToolCalled, ToolEnd]]
    )

    def add(self, event: ev.RunEvent) -> None:
        """Takes the next event."""
        match event:
            case ev.RunStarted():
                self.input = event.input or self.input
            case ev.RunCompleted():
                self.output, self.error = event.output, None
            case ev.RunFailed():
                self.error = f"{event.error_type}: {event.message}"
            case ev.LlmCalled():
                self.thread = event.thread or self.thread
            case ev.MessageAdded(source="output"):
                self.answer = event.message
            case ev.MessageAdded(role="user"):
                self.first_user = self.first_user or event.message
            case ev.ToolCalled():
                self._called(event)
            case _ if isinstance(event, TOOL_END):
                if (call := self.open.pop(event.span or "", None)) is not None:
                    call.end = event
            case _:
                pass

    def _called(self, event: ev.ToolCalled) -> None:
        self.called += 1
        self.calls.append(CallEvents(event))
        if event.span is not None:
            self.open[event.span] = self.calls[-1]


async def read_scored_run(record: RunRecord) -> ScoredRun:
    """Reads a run for a scorer."""
    gathered = _Gathered()
    async for portion in record.portions(4_096):
        for event in portion:
            gathered.add(event)
    thread: list[ContentRef] = []
    cut: list[str] = []
    try:
        thread = await messages_of(record.store, record.project_id, gathered.thread)
    except ContentMissing:
        cut.append("the messages of the last model call are not stored")
    if len(thread) > MOST_MESSAGES:
        cut.append(f"{len(thread) - MOST_MESSAGES} messages before the last {MOST_MESSAGES}")
    shown = thread[-MOST_MESSAGES:]
    if gathered.answer is not None and gathered.answer not in shown[-1:]:
        shown.append(gathered.answer)
    refs = [gathered.input, gathered.output, gathered.first_user, *shown]
    for call in gathered.calls:
        refs += [call.begin.arguments, _result_of(call)]
    cache = await fetch(record.store, record.project_id, refs)
    return _scored_run(record, gathered, shown, _BoundedValues(cache, cut))


def _result_of(call: CallEvents[ev.ToolCalled, ToolEnd]) -> ContentRef | None:
    return call.end.result if isinstance(call.end, ev.ToolCompleted) else None


@dataclass(slots=True)
class _BoundedValues:
    """Contents within bounds. `cut`: what was left out."""

    cache: ContentCache
    cut: list[str]
    left: int = _MOST_OF_ALL

    def of(self, ref: ContentRef | None, what: str) -> Any:
        """Returns a value; None for one that is not there, or too long."""
        return self._bounded(ref, self.cache.parsed(ref), what)

    def message(self, ref: ContentRef | None, what: str) -> Message | None:
        """Returns a message with its large parts; the same."""
        return self._bounded(ref, self.cache.parsed_message(ref), what)

    def _bounded(self, ref: ContentRef | None, value: Any, what: str) -> Any:
        if ref is None:
            return None
        if value is None:
            self.cut.append(f"{what} is not stored")
            return None
        size = len(canonical_json(value))
        if size > min(_MOST_OF_ONE, self.left):
            self.cut.append(f"{what} is too long: {size} bytes")
            return None
        self.left -= size
        return value


def _scored_run(
    record: RunRecord, gathered: _Gathered, shown: Sequence[ContentRef], values: _BoundedValues
) -> ScoredRun:
    row = record.row
    # What counts most comes first: later values may find no room.
    output = values.of(gathered.output, "output")
    answer = None if gathered.output is not None else values.message(gathered.answer, "output")
    given = values.of(gathered.input, "input")
    if gathered.input is None and (first := values.message(gathered.first_user, "input")) is not None:
        given = message_text(first)
    calls = [_tool_call(call, values) for call in reversed(gathered.calls)]
    if row.tier >= Tier.ARCHIVE:  # its events name no contents any more
        values.cut += ["output is not stored: the run is in the archive"]
        values.cut += [f"the result of {call.name} is not stored" for call in calls if call.status == "completed"]
    if gathered.called > len(calls):
        values.cut.append(f"{gathered.called - len(calls)} tool calls before the last {len(calls)}")
    messages = [message for ref in reversed(shown) if (message := values.message(ref, "a message")) is not None]
    text = message_text(answer) if answer is not None else "" if output is None else text_of(output)
    return ScoredRun(
        run=row.run,
        name=row.name,
        status=row.status,
        agents=row.agents,
        tags=row.tags,
        session=row.session,
        user=row.user,
        elapsed_s=None if row.ended_ns is None else max(0, row.ended_ns - row.started_ns) / 1e9,
        input=given,
        output=text if answer is not None else output,
        output_text=text,
        messages=tuple(cast("list[dict[str, Any]]", messages[::-1])),
        tool_calls=tuple(calls[::-1]),
        error=gathered.error,
        llm_calls=row.llm_calls,
        errors=row.errors,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost=row.facts.cost,
        cut=tuple(dict.fromkeys(values.cut)),
    )


def _tool_call(call: CallEvents[ev.ToolCalled, ToolEnd], values: _BoundedValues) -> ScoredToolCall:
    begin, end = call.begin, call.end
    error = None
    status = "open" if end is None else "completed"
    if end is not None and end.outcome == CANCELLED:
        status = "cancelled"
    elif isinstance(end, ev.ToolFailed):
        status, error = "failed", f"{end.error_type}: {end.message}"
    result = values.of(_result_of(call), f"the result of {begin.name}")
    return ScoredToolCall(
        begin.name, values.of(begin.arguments, f"the arguments of {begin.name}"), result, status, error
    )
