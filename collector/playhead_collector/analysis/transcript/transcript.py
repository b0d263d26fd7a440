"""[analysis]: a run as turns: the new input of each model call, the tool calls that it requested, and their results.
Most questions use it; `loading` reads the data. Pure.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import text_of
from playhead.model.message import Message, Part, message_text
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.analysis.texts.passages import ASSISTANT, USER, Passage, passages_of
from playhead_collector.analysis.transcript.arguments import ToolDefinition, definitions_of
from playhead_collector.analysis.transcript.failures import failure_text
from playhead_collector.analysis.transcript.plans import PlanStep, plan_steps_in
from playhead_collector.read.calls import LlmEnd, ToolEnd
from playhead_collector.read.values import ContentCache


@dataclass(slots=True, eq=False)
class Turn:
    """One model call: new input messages, answer, and requested tool calls."""

    begin: ev.LlmCalled
    end: LlmEnd | None = None
    new_messages: list[ev.MessageAdded] = field(default_factory=list[ev.MessageAdded])
    outputs: list[ev.MessageAdded] = field(default_factory=list[ev.MessageAdded])
    requests: list["ToolRequest"] = field(default_factory=list["ToolRequest"])
    answer_text: str = ""


@dataclass(slots=True, eq=False)
class ToolRequest:
    """A tool call that a model requested."""

    turn: Turn
    name: str
    call_id: str | None
    arguments: Any
    tool_run: "ToolRun | None" = None


@dataclass(slots=True, eq=False)
class ToolRun:
    """A tool call that was made. `turn` is the model call that requested it, else the last one before it."""

    begin: ev.ToolCalled
    arguments: Any
    turn: Turn | None = None
    request: ToolRequest | None = None
    end: ToolEnd | None = None
    result_seq: int | None = None
    result_message: ContentRef | None = None


@dataclass(slots=True)
class Transcript:
    """Transcript of a run: one entry per model call with the tool calls it asked for."""

    run: str
    events: Sequence[ev.RunEvent]
    cache: ContentCache
    nodes: dict[ContentRef, ThreadNode]
    turns: list[Turn] = field(default_factory=list[Turn])
    tools: list[ToolRun] = field(default_factory=list[ToolRun])
    entry_seqs: defaultdict[ContentRef, list[int]] = field(
        default_factory=lambda: defaultdict[ContentRef, list[int]](list)
    )
    """The seqs with which each content entered the run, in order."""
    tool_run_by_result: dict[tuple[ContentRef, int], ToolRun] = field(
        default_factory=dict[tuple[ContentRef, int], ToolRun]
    )
    """The tool call of each result, by message and number of its part."""
    first_turn_by_text: dict[str, Turn] = field(default_factory=dict[str, Turn])
    """The model call that first answered with a text. Frameworks may pass it to another agent with role `user`."""
    summaries: dict[ContentRef, ev.ContextCompressed] = field(default_factory=dict[ContentRef, ev.ContextCompressed])
    """The compression of each message that stands for removed ones."""
    plan_steps: list[PlanStep] = field(default_factory=list[PlanStep])
    """The steps of all recorded plans, in order."""
    _definitions: dict[ContentRef, dict[str, ToolDefinition]] = field(
        default_factory=dict[ContentRef, dict[str, ToolDefinition]]
    )

    def message(self, ref: ContentRef | None) -> Message | None:
        """A parsed message; None if it is not stored or is no message."""
        return None if ref is None else self.cache.parsed_message(ref)

    def passages(self, ref: ContentRef | None) -> Iterator[Passage]:
        """The passages of a message. A summary was not said by a user, whatever its role: it is the agent's."""
        message = self.message(ref)
        for passage in passages_of(ref, message) if ref is not None and message is not None else ():
            is_summary = passage.source == USER and ref in self.summaries
            yield replace(passage, source=ASSISTANT) if is_summary else passage

    def definitions(self, turn: Turn | None) -> dict[str, ToolDefinition]:
        """Definitions of the tools that the model call was offered, by name."""
        ref = turn.begin.tools if turn else None
        if ref is None:
            return {}
        if ref not in self._definitions:
            self._definitions[ref] = definitions_of(self.cache.parsed(ref))
        return self._definitions[ref]

    def reasoning(self, turn: Turn | None) -> str:
        """The model's captured reasoning as a text; empty if there is none."""
        end = turn.end if turn else None
        value = self.cache.parsed(end.reasoning) if isinstance(end, ev.LlmCompleted) and end.reasoning else None
        return (
            ""
            if value is None
            else readable(text_of(value), end.reasoning if isinstance(end, ev.LlmCompleted) else None)
        )

    def event(self, seq: int) -> ev.RunEvent:
        """The event with this seq."""
        return self.events[self.index_of(seq)]

    def index_of(self, seq: int) -> int:
        """Index in `events` of the event with this seq. `events` may begin later than seq 1, for example on a page."""
        return seq - self.events[0].seq


def build_transcript(
    run: str, events: Sequence[ev.RunEvent], cache: ContentCache, nodes: dict[ContentRef, ThreadNode]
) -> Transcript:
    """Builds the transcript from events and contents. Pure."""
    compressions = (event for event in events if isinstance(event, ev.ContextCompressed))
    summaries = {event.summary: event for event in compressions if event.summary is not None}
    builder = _TranscriptBuilder(Transcript(run, events, cache, nodes, summaries=summaries))
    for event in events:
        builder.take(event)
    return builder.transcript


def failure_in(tool: ToolRun | None, text: str) -> str | None:
    """The error that a result reports, or None."""
    if tool is not None and isinstance(tool.end, ev.ToolFailed):
        return tool.end.message or tool.end.error_type
    return failure_text(text)


class _TranscriptBuilder:
    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self._by_span: dict[str, Turn] = {}
        self._open_tools: dict[str, ToolRun] = {}
        self._waiting: dict[str, list[ev.MessageAdded]] = {}
        self._requests: dict[str | None, list[ToolRequest]] = {}  # by id, in order
        self._open_requests: dict[str, list[ToolRequest]] = {}  # by name, in order: those that were not made yet
        self._last: dict[str | None, Turn] = {}  # by agent

    def take(self, event: ev.RunEvent) -> None:
        """Takes one more event, in seq order."""
        span = event.span or ""
        match event:
            case ev.MessageAdded():
                self._added(event, span)
            case ev.LlmCalled():
                turn = Turn(event, new_messages=self._waiting.pop(span, []))
                self.transcript.turns.append(turn)
                self._by_span[span] = self._last[event.actor] = turn
            case ev.LlmCompleted() | ev.LlmFailed():
                if span in self._by_span:
                    self._by_span[span].end = event
            case ev.ToolCalled():
                self._add_tool_call(event, span)
            case ev.ToolCompleted() | ev.ToolFailed():
                if (tool := self._open_tools.pop(span, None)) is not None:
                    tool.end = event
                if isinstance(event, ev.ToolCompleted) and event.result is not None:
                    self.transcript.entry_seqs[event.result].append(event.seq)
            case ev.RunStarted(input=ContentRef() as input_ref):
                self.transcript.entry_seqs[input_ref].append(event.seq)
            case _:
                self.transcript.plan_steps += plan_steps_in(event, self.transcript.cache)

    def _added(self, event: ev.MessageAdded, span: str) -> None:
        if event.message is not None:
            self.transcript.entry_seqs[event.message].append(event.seq)
        message = self.transcript.message(event.message)
        if event.source != "output":
            self._waiting.setdefault(span, []).append(event)
            self._entered(event, message)
        elif (turn := self._by_span.get(span)) is not None:
            turn.outputs.append(event)
            if message is not None:
                self._add_answer(turn, message)

    def _entered(self, event: ev.MessageAdded, message: Message | None) -> None:
        for number, part in enumerate(message["parts"] if message and event.message else ()):
            if part.get("type") == "tool_call_response":
                requests = reversed(self._requests.get(_id_of(part), ()))
                tool = next((request.tool_run for request in requests if request.tool_run is not None), None)
                if tool is not None and event.message is not None:
                    tool.result_seq, tool.result_message = event.seq, event.message
                    self.transcript.tool_run_by_result[event.message, number] = tool

    def _add_answer(self, turn: Turn, message: Message) -> None:
        texts = [part for part in message["parts"] if part.get("type") == "text"]
        turn.answer_text += message_text({**message, "parts": texts})
        if turn.answer_text.strip():
            self.transcript.first_turn_by_text.setdefault(turn.answer_text.strip(), turn)
        for part in message["parts"]:
            if part.get("type") == "tool_call":
                request = ToolRequest(turn, str(part.get("name") or ""), part.get("id"), part.get("arguments"))
                turn.requests.append(request)
                self._requests.setdefault(_id_of(part), []).append(request)
                self._open_requests.setdefault(request.name, []).append(request)

    def _add_tool_call(self, event: ev.ToolCalled, span: str) -> None:
        arguments = self.transcript.cache.parsed(event.arguments)
        last = self._last.get(event.actor) or (self.transcript.turns[-1] if self.transcript.turns else None)
        request = self._request_of(event, arguments, last)
        tool = ToolRun(event, arguments, request.turn if request else last, request)
        if request is not None:
            self._open_requests[request.name].remove(request)
            request.tool_run = tool
            tool.arguments = request.arguments  # as the model wrote them, before a function converted them
        self.transcript.tools.append(tool)
        self._open_tools[span] = tool

    def _request_of(self, event: ev.ToolCalled, arguments: Any, last: Turn | None) -> ToolRequest | None:
        """The open request that a tool call answers: the latest with its id, else with its arguments; else, if only
        the name is the same, the latest of all, unless it is older than the agent's `last` call."""
        of_name = self._open_requests.get(event.name, [])
        by_id = () if event.call_id is None else self._requests.get(event.call_id, ())
        for request in reversed(by_id):
            if request.tool_run is None and request.name == event.name:
                return request
        for request in reversed(of_name):
            if request.arguments == arguments:
                return request
        return of_name[-1] if of_name and of_name[-1].turn is last else None


def _id_of(part: Part) -> str | None:
    """The id of a tool call in a part of a message, as a text: programs write other values, too."""
    value = part.get("id")
    return value if value is None or isinstance(value, str) else text_of(value)
