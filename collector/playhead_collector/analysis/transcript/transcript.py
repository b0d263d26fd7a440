"""[analysis]: a run as turns: what each model call saw, what it asked for, what became of that.  Questions about why
begin with this; `stories` reads what it is told from.  Pure.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model import event as ev
from playhead.model.message import Message, message_text
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead_collector.analysis.texts.limits import readable
from playhead_collector.analysis.transcript.arguments import Definition, definitions_of
from playhead_collector.analysis.transcript.failures import failure_told
from playhead_collector.analysis.transcript.plans import Step, steps_told
from playhead_collector.read.calls import LlmEnd, ToolEnd
from playhead_collector.read.values import Shelf, text_of


@dataclass(slots=True, eq=False)
class Turn:
    """A model call, what was new to it, what it said and what it asked for."""

    begin: ev.LlmCalled
    end: LlmEnd | None = None
    new: list[ev.MessageAdded] = field(default_factory=list[ev.MessageAdded])
    outputs: list[ev.MessageAdded] = field(default_factory=list[ev.MessageAdded])
    requests: list["Request"] = field(default_factory=list["Request"])
    said: str = ""


@dataclass(slots=True, eq=False)
class Request:
    """A tool call as the model asked for it."""

    turn: Turn
    name: str
    call_id: str | None
    arguments: Any
    run: "ToolRun | None" = None


@dataclass(slots=True, eq=False)
class ToolRun:
    """A tool call as it was made.  `turn` is the model call that asked for it, else the last one before it."""

    begin: ev.ToolCalled
    arguments: Any
    turn: Turn | None = None
    request: Request | None = None
    end: ToolEnd | None = None
    result_seq: int | None = None
    result_message: ContentRef | None = None


@dataclass(slots=True)
class Turns:
    """A run, told turn by turn."""

    run: str
    events: Sequence[ev.RunEvent]
    shelf: Shelf
    nodes: dict[ContentRef, ThreadNode]
    turns: list[Turn] = field(default_factory=list[Turn])
    tools: list[ToolRun] = field(default_factory=list[ToolRun])
    seqs: defaultdict[ContentRef, list[int]] = field(default_factory=lambda: defaultdict[ContentRef, list[int]](list))
    """Where each content entered the run."""
    results: dict[tuple[ContentRef, int], ToolRun] = field(default_factory=dict[tuple[ContentRef, int], ToolRun])
    """The tool call that a part of a message is the result of."""
    said: dict[str, Turn] = field(default_factory=dict[str, Turn])
    """The model call that first said a text.  What an agent said may be told to another one in a user's role."""
    steps: list[Step] = field(default_factory=list[Step])
    """Of all plans that were written down, in order."""
    _definitions: dict[ContentRef, dict[str, Definition]] = field(
        default_factory=dict[ContentRef, dict[str, Definition]]
    )

    def message(self, ref: ContentRef | None) -> Message | None:
        """A message, parsed; None when it is not stored, or is none."""
        return None if ref is None else self.shelf.parsed_message(ref)

    def definitions(self, turn: Turn | None) -> dict[str, Definition]:
        """The tools that the model was offered."""
        ref = turn.begin.tools if turn else None
        if ref is None:
            return {}
        if ref not in self._definitions:
            self._definitions[ref] = definitions_of(self.shelf.parsed(ref))
        return self._definitions[ref]

    def reasoning(self, turn: Turn | None) -> str:
        """What the model was thinking, as a text."""
        end = turn.end if turn else None
        value = self.shelf.parsed(end.reasoning) if isinstance(end, ev.LlmCompleted) and end.reasoning else None
        return (
            ""
            if value is None
            else readable(text_of(value), end.reasoning if isinstance(end, ev.LlmCompleted) else None)
        )

    def event(self, seq: int) -> ev.RunEvent:
        """The event at seq."""
        return self.events[self.place(seq)]

    def place(self, seq: int) -> int:
        """Where the event at seq stands in `events`, which begin later where a fork's parent is gone."""
        return seq - self.events[0].seq


def tell(run: str, events: Sequence[ev.RunEvent], shelf: Shelf, nodes: dict[ContentRef, ThreadNode]) -> Turns:
    """Puts together what belongs together.  Pure."""
    telling = _Telling(Turns(run, events, shelf, nodes))
    for event in events:
        telling.take(event)
    return telling.story


def failure_in(tool: ToolRun | None, text: str) -> str | None:
    """What a result says went wrong; None for one that is no failure."""
    if tool is not None and isinstance(tool.end, ev.ToolFailed):
        return tool.end.message or tool.end.error_type
    return failure_told(text)


class _Telling:
    def __init__(self, story: Turns) -> None:
        self.story = story
        self._by_span: dict[str, Turn] = {}
        self._open_tools: dict[str, ToolRun] = {}
        self._waiting: dict[str, list[ev.MessageAdded]] = {}
        self._requests: list[Request] = []
        self._last: dict[str | None, Turn] = {}  # of each agent

    def take(self, event: ev.RunEvent) -> None:
        """One more event, in order."""
        span = event.span or ""
        match event:
            case ev.MessageAdded():
                self._added(event, span)
            case ev.LlmCalled():
                turn = Turn(event, new=self._waiting.pop(span, []))
                self.story.turns.append(turn)
                self._by_span[span] = self._last[event.actor] = turn
            case ev.LlmCompleted() | ev.LlmFailed():
                if span in self._by_span:
                    self._by_span[span].end = event
            case ev.ToolCalled():
                self._called(event, span)
            case ev.ToolCompleted() | ev.ToolFailed():
                if (tool := self._open_tools.pop(span, None)) is not None:
                    tool.end = event
                if isinstance(event, ev.ToolCompleted) and event.result is not None:
                    self.story.seqs[event.result].append(event.seq)
            case ev.RunStarted(input=ContentRef() as given):
                self.story.seqs[given].append(event.seq)
            case _:
                self.story.steps += steps_told(event, self.story.shelf)

    def _added(self, event: ev.MessageAdded, span: str) -> None:
        if event.message is not None:
            self.story.seqs[event.message].append(event.seq)
        message = self.story.message(event.message)
        if event.source != "output":
            self._waiting.setdefault(span, []).append(event)
            self._entered(event, message)
        elif (turn := self._by_span.get(span)) is not None:
            turn.outputs.append(event)
            if message is not None:
                self._said(turn, message)

    def _entered(self, event: ev.MessageAdded, message: Message | None) -> None:
        for number, part in enumerate(message["parts"] if message and event.message else ()):
            if part.get("type") == "tool_call_response":
                asked = [each for each in self._requests if each.call_id == part.get("id") and each.run]
                tool = asked[-1].run if asked else None
                if tool is not None and event.message is not None:
                    tool.result_seq, tool.result_message = event.seq, event.message
                    self.story.results[event.message, number] = tool

    def _said(self, turn: Turn, message: Message) -> None:
        texts = [part for part in message["parts"] if part.get("type") == "text"]
        turn.said += message_text({**message, "parts": texts})
        if turn.said.strip():
            self.story.said.setdefault(turn.said.strip(), turn)
        for part in message["parts"]:
            if part.get("type") == "tool_call":
                name, call_id = str(part.get("name") or ""), part.get("id")
                turn.requests.append(Request(turn, name, call_id, part.get("arguments")))
                self._requests.append(turn.requests[-1])

    def _called(self, event: ev.ToolCalled, span: str) -> None:
        arguments = self.story.shelf.parsed(event.arguments)
        open_ones = [each for each in self._requests if each.run is None and each.name == event.name]
        by_id = [each for each in open_ones if event.call_id is not None and each.call_id == event.call_id]
        alike = [each for each in open_ones if each.arguments == arguments]
        request = next(iter((*reversed(by_id), *reversed(alike), *open_ones[-1:])), None)
        last = self._last.get(event.actor) or (self.story.turns[-1] if self.story.turns else None)
        if request is not None and not by_id and not alike and request.turn is not last:
            request = None  # only the name is the same, and it was long ago
        tool = ToolRun(event, arguments, request.turn if request else last, request)
        if request is not None:
            request.run = tool
            tool.arguments = request.arguments  # what the model chose, before any function put it in its own form
        self.story.tools.append(tool)
        self._open_tools[span] = tool
