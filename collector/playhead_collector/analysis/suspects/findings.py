"""[analysis]: the findings of a finder, and its input: the steps of a run in order.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import text_of
from playhead.model.ref import ContentRef
from playhead.wire.operations.reasoning import Quoted
from playhead.wire.operations.suspects import ComparedValue
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import (
    ASSISTANT,
    MAX_QUOTE_LENGTH,
    RESULT,
    SYSTEM,
    USER,
    Passage,
    passage_of,
    quoted,
)
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript, Turn, failure_in

# Findings of one finder that are used per run: a finder with more is no evidence against any step.
MAX_FINDINGS = 200
# Messages that may be new to a step and still continue the context of the one before.
_MAX_NEW_MESSAGES = 256


@dataclass(frozen=True, slots=True)
class Finding:
    """Evidence against a step. `step`: number of the step, from 0; `quotes`: the texts on which it is based; `values`:
    the values that it compares."""

    step: int
    rule: StrengthRule
    reason: str
    quotes: tuple[Quoted, ...]
    values: tuple[ComparedValue, ...] = ()


@dataclass(frozen=True, slots=True)
class StepText:
    """A text of a step. `seq`: the event with which it entered the run."""

    seq: int
    passage: Passage

    def quote(self, start: int, end: int) -> Quoted:
        """Quotes a range of the text."""
        return quoted(self.seq, self.passage, start, end)

    def beginning(self) -> Quoted:
        """Quotes the beginning of the text."""
        return self.quote(0, min(MAX_QUOTE_LENGTH, len(self.passage.text)))


def said(value: str, *quotes: Quoted, path: str | None = None) -> ComparedValue:
    """A value that an answer has."""
    return {"entry": None, "path": path, "value": value, "mark": "said", "quotes": list(quotes)}


def recorded(value: str, *quotes: Quoted, path: str | None = None) -> ComparedValue:
    """A value that a result has."""
    return {"entry": None, "path": path, "value": value, "mark": "recorded", "quotes": list(quotes)}


@dataclass(slots=True, eq=False)
class Step:
    """One model call: the new texts of its input, the texts of its answer, and the tool calls that it requested."""

    number: int
    turn: Turn
    new_texts: list[StepText] = field(default_factory=list[StepText])
    answers: list[StepText] = field(default_factory=list[StepText])
    calls: list[ToolRun] = field(default_factory=list[ToolRun])
    before: "Step | None" = None
    """The step before it of the same agent, or None: agents that work side by side are kept apart."""
    question_step: int | None = None
    """Number of the latest step of the same agent, up to this one, with a new text of a user in its input, or None."""

    @property
    def seq(self) -> int:
        """Seq of the step: the end of its model call, as for decisions; the start if it has not ended."""
        return self.turn.end.seq if self.turn.end is not None else self.turn.begin.seq

    def of(self, source: str) -> list[StepText]:
        """The new texts of the input from this source."""
        return [text for text in self.new_texts if text.passage.source == source]

    @property
    def user_text(self) -> str:
        """The new texts of users, joined."""
        return "\n".join(text.passage.text for text in self.of(USER))


@dataclass(slots=True)
class RunSteps:
    """The steps of a run, its system messages (each once), and what its tool calls returned."""

    transcript: Transcript
    steps: list[Step]
    system: list[StepText]
    _results: dict[int, StepText]
    _readers: dict[int, Step]

    @property
    def agents(self) -> list[list[Step]]:
        """The steps of each agent, in order: those of agents that work side by side are apart."""
        lanes: dict[int, list[Step]] = {}
        lane_of: dict[int, int] = {}
        for step in self.steps:
            lane = step.number if step.before is None else lane_of[step.before.number]
            lane_of[step.number] = lane
            lanes.setdefault(lane, []).append(step)
        return list(lanes.values())

    def reader_of(self, call: ToolRun) -> Step | None:
        """The step whose input first has the result or the error of a tool call; None if no message has it."""
        return self._readers.get(id(call))

    def result_of(self, call: ToolRun) -> StepText | None:
        """The result of a tool call as its model saw it; None if no message has it."""
        return self._results.get(id(call))

    def returned(self, call: ToolRun) -> str:
        """The result of a tool call as text; "" if it is not recorded."""
        if isinstance(call.end, ev.ToolCompleted) and call.end.result is not None:
            return text_of(self.transcript.cache.parsed(call.end.result))
        result = self.result_of(call)
        return "" if result is None else result.passage.text

    def failure_of(self, call: ToolRun) -> str | None:
        """The error that a tool call raised, or that its result reports; None if there is neither."""
        result = self.result_of(call)
        if result is None and not isinstance(call.end, ev.ToolFailed):
            return None
        return failure_in(call, "" if result is None else result.passage.text)

    def latest_of_user(self, step: Step) -> StepText | None:
        """The latest text of a user in the context of this step, or None."""
        return None if step.question_step is None else self.steps[step.question_step].of(USER)[-1]

    def call_quote(self, step: Step, call: ToolRun, value: str | None = None) -> Quoted:
        """Quotes the arguments of a tool call as its model wrote them, or only the value, if they have it."""
        for output in step.turn.outputs:
            message = self.transcript.message(output.message)
            for number, part in enumerate(message["parts"] if message else ()):
                if output.message is not None and _is_request_of(part, call):
                    passage = passage_of(output.message, number, ASSISTANT, part.get("arguments") or {})
                    return _value_in(StepText(output.seq, passage), value)
        if call.begin.arguments is None:
            return {"seq": call.begin.seq, "ref": None, "part": 0, "start": 0, "end": 0, "text": ""}
        passage = passage_of(call.begin.arguments, 0, ASSISTANT, self.transcript.cache.parsed(call.begin.arguments))
        return _value_in(StepText(call.begin.seq, passage), value)


def run_steps(transcript: Transcript) -> RunSteps:
    """Builds the steps of a run, in order."""
    by_turn = {id(turn): Step(number, turn) for number, turn in enumerate(transcript.turns)}
    for tool in transcript.tools:
        if tool.request is not None and id(tool.request.turn) in by_turn:
            by_turn[id(tool.request.turn)].calls.append(tool)
    steps = list(by_turn.values())
    system: dict[str, StepText] = {}
    results: dict[int, StepText] = {}
    readers: dict[int, Step] = {}
    lanes = _Lanes(transcript)
    for step in steps:
        step.new_texts = _texts(transcript, step.turn.new_messages)
        step.answers = _texts(transcript, step.turn.outputs)
        step.before = lanes.before(step)
        step.question_step = step.number if step.of(USER) else step.before and step.before.question_step
        for text in step.of(SYSTEM):
            system.setdefault(text.passage.text, text)
        for text in step.of(RESULT):
            if (call := transcript.tool_run_by_result.get((text.passage.content, text.passage.part))) is not None:
                results.setdefault(id(call), text)
                readers.setdefault(id(call), step)
    return RunSteps(transcript, steps, list(system.values()), results, readers)


class _Lanes:
    """Finds the step before each step of the same agent. Asked for each step, in order.

    It is the step whose context this one continues; else, as after a compression, the latest one of an agent with the
    same name under the same call.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._nodes = transcript.nodes
        self._by_thread: dict[ContentRef, Step] = {}
        self._latest: dict[tuple[str | None, str | None], Step] = {}

    def before(self, step: Step) -> Step | None:
        """The step before this one, or None."""
        begin = step.turn.begin
        lane = (begin.actor, begin.parent)
        before = self._continued(begin.thread) or self._latest.get(lane)
        self._latest[lane] = step
        if begin.thread is not None:
            self._by_thread[begin.thread] = step
        return before

    def _continued(self, thread: ContentRef | None) -> Step | None:
        for _ in range(_MAX_NEW_MESSAGES):
            node = self._nodes.get(thread) if thread is not None else None
            if node is None:
                return None
            thread = node.parent
            if thread is not None and (step := self._by_thread.get(thread)) is not None:
                return step
        return None


def _texts(transcript: Transcript, events: Sequence[ev.MessageAdded]) -> list[StepText]:
    return [StepText(event.seq, passage) for event in events for passage in transcript.passages(event.message)]


def _is_request_of(part: dict[str, Any], call: ToolRun) -> bool:
    requested = call.request
    return part.get("type") == "tool_call" and requested is not None and part.get("id") == requested.call_id


def _value_in(text: StepText, value: str | None) -> Quoted:
    start = -1 if value is None else text.passage.text.find(value)
    return text.beginning() if value is None or start < 0 else text.quote(start, start + len(value))
