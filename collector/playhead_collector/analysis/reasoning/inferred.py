"""[analysis]: infers the purpose of a model call from what was new in its context since the agent's last decision.

None of this is the model's own word, so it is always marked as inferred, with its evidence. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.wire.answers import ChangedArgument, InferredReasoning, InferredStep, Quoted
from playhead_collector.analysis.reasoning import rules
from playhead_collector.analysis.rules import StrengthRule, weaker
from playhead_collector.analysis.texts.passages import RESULT, SYSTEM, USER, Passage, passages_of
from playhead_collector.analysis.transcript.arguments import scalars
from playhead_collector.analysis.transcript.transcript import ToolRequest, Transcript, Turn, failure_in

USER_MESSAGE, TOOL_RESULT, TOOL_ERROR, SYSTEM_MESSAGE = "user_message", "tool_result", "tool_error", "system_message"
MODEL_ERROR, COMPRESSION, NONE = "model_error", "compression", "none"
ANSWER, TOOL_CALL = "answer", "tool_call"
_TRIGGERS = {USER: USER_MESSAGE, RESULT: TOOL_RESULT, SYSTEM: SYSTEM_MESSAGE}
_TRIGGER_RULES = {
    SYSTEM_MESSAGE: rules.SYSTEM_TRIGGER, COMPRESSION: rules.COMPRESSION_TRIGGER, NONE: rules.NO_TRIGGER,
}  # fmt: skip
# "Yes, please go ahead" is an answer, not a goal: the request stands before it.
_MIN_WORDS = 4
_ANSWERS = re.compile(
    r"\s{0,64}+(?:yes|yeah|yep|no|nope|ok(?:ay)?|sure|thanks?|correct|right|great|perfect|please (?:do|go|proceed))\b",
    re.IGNORECASE,
)
_MAX_QUOTE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class _Trigger:
    """What made the model act, with quotes."""

    trigger: str
    quotes: Sequence[Quoted]

    @property
    def rule(self) -> StrengthRule:
        return _TRIGGER_RULES.get(self.trigger, rules.MESSAGE_TRIGGER)


def infer_reasoning(transcript: Transcript, turn: Turn) -> InferredReasoning:
    """Infers trigger, goal, action and pattern of this call."""
    previous = _previous(transcript, turn)
    told = _find_trigger(transcript, turn, previous)
    goal, origin, goal_rule = _goal(transcript, turn)
    rule = weaker(told.rule, goal_rule)
    action, label, changed = _action_taken(transcript, turn, told.trigger)
    evidence = [InferredStep(what="trigger", quote=quote) for quote in told.quotes]
    evidence += [InferredStep(what="goal", quote=goal)] if goal else []
    evidence += [InferredStep(what="action", quote=quote) for quote in _output(transcript, turn)]
    return {
        "basis": "inferred",
        "trigger": told.trigger,
        "trigger_quotes": list(told.quotes),
        "goal": goal,
        "goal_origin": origin,
        "action": action,
        "pattern": f"{told.trigger} -> {label}" if label else None,
        "changed": changed,
        "summary": _summary(told.trigger, label, turn, changed),
        "evidence": evidence,
        "strength": rule.strength,
        "rule": rule.name,
    }


def quoted(passage: Passage, seq: int | None) -> Quoted:
    """The beginning of a passage, as evidence."""
    text = passage.text[:_MAX_QUOTE_LENGTH]
    return {"seq": seq, "ref": passage.content, "part": passage.part, "start": 0, "end": len(text), "text": text}


def seq_before(transcript: Transcript, ref: ContentRef, seq: int) -> int | None:
    """Where a content entered the run, last before this event."""
    return max((at for at in transcript.entry_seqs.get(ref, ()) if at <= seq), default=None)


# --- what it was told ------------------------------------------------------------------------------------------------


def _previous(transcript: Transcript, turn: Turn) -> Turn | None:
    """The same agent's call before."""
    earlier = [
        each for each in transcript.turns if each.begin.seq < turn.begin.seq and each.begin.actor == turn.begin.actor
    ]
    return earlier[-1] if earlier else None


def _find_trigger(transcript: Transcript, turn: Turn, previous: Turn | None) -> _Trigger:
    if isinstance(previous.end if previous else None, ev.LlmFailed) and not turn.new_messages:
        failed = previous.end if previous else None
        assert isinstance(failed, ev.LlmFailed)  # noqa: S101 - for the type checker
        text = failed.message or failed.error_type
        quote: Quoted = {"seq": failed.seq, "ref": None, "part": 0, "start": 0, "end": len(text), "text": text}
        return _Trigger(MODEL_ERROR, [quote])
    new = [(event, passage) for event in turn.new_messages for passage in _passages(transcript, event.message)]
    last = new[-1][1].source if new else None
    if last is None or last not in _TRIGGERS:
        compressed = any(isinstance(e, ev.ContextCompressed) and e.span == turn.begin.span for e in transcript.events)
        trigger = COMPRESSION if compressed else NONE
        return _Trigger(trigger, [])
    tail = [(event, passage) for event, passage in new if passage.source == last]
    if last == RESULT:
        failed_ones = [each for each in tail if _failure(transcript, each[1])]
        if failed_ones:
            return _Trigger(TOOL_ERROR, [quoted(p, event.seq) for event, p in failed_ones])
    return _Trigger(_TRIGGERS[last], [quoted(passage, event.seq) for event, passage in tail])


def _failure(transcript: Transcript, passage: Passage) -> str | None:
    return failure_in(transcript.tool_run_by_result.get((passage.content, passage.part)), passage.text)


def _passages(transcript: Transcript, ref: ContentRef | None) -> Iterator[Passage]:
    message = transcript.message(ref)
    if ref is not None and message is not None:
        yield from passages_of(ref, message)


# --- what for --------------------------------------------------------------------------------------------------------


def _goal(transcript: Transcript, turn: Turn) -> tuple[Quoted | None, str | None, StrengthRule]:
    """The request that it most likely served, where that is from, and by which rule."""
    said = list(_said_by(transcript, turn, USER))  # the latest first
    telling = [each for each in said if len(each.text.split()) >= _MIN_WORDS and not _ANSWERS.match(each.text)]
    seq = turn.begin.seq
    if telling:
        latest = telling[0] is said[0]
        origin = "user_message" if latest else "earlier_user_message"
        rule = rules.LATEST_REQUEST if latest else rules.EARLIER_REQUEST
        return quoted(telling[0], seq_before(transcript, telling[0].content, seq)), origin, rule
    if said:
        goal = quoted(said[-1], seq_before(transcript, said[-1].content, seq))
        return goal, "user_message", rules.SHORT_REQUEST
    system = list(_said_by(transcript, turn, SYSTEM))
    if system:
        goal = quoted(system[-1], seq_before(transcript, system[-1].content, seq))
        return goal, "system_message", rules.SYSTEM_GOAL
    return None, None, rules.NO_GOAL


def _said_by(transcript: Transcript, turn: Turn, source: str) -> Iterator[Passage]:
    """What somebody had said in the context, the latest first."""
    node = transcript.nodes.get(turn.begin.thread) if turn.begin.thread else None
    while node is not None:
        yield from (passage for passage in _passages(transcript, node.message) if passage.source == source)
        node = transcript.nodes.get(node.parent) if node.parent else None


# --- what it did -----------------------------------------------------------------------------------------------------


def _action_taken(
    transcript: Transcript, turn: Turn, trigger: str
) -> tuple[str | None, str | None, list[ChangedArgument]]:
    """The action, in one word and as the end of a pattern, and what a repeated call changed."""
    if not isinstance(turn.end, ev.LlmCompleted):
        return None, None, []
    if not turn.requests:
        return ANSWER, ANSWER, []
    for request in turn.requests:
        earlier = _same_tool_before(transcript, turn, request)
        if earlier is not None:
            changed = list(_changes(earlier.arguments, request.arguments))
            again = trigger in (TOOL_ERROR, MODEL_ERROR)
            if not changed:
                return TOOL_CALL, "same_call_again", []
            return TOOL_CALL, "retry_with_changed_argument" if again else "same_tool_other_arguments", changed
        if _made_before_words(transcript, turn, request):
            return TOOL_CALL, "same_call_again", []
    known = {TOOL_ERROR: "another_tool", TOOL_RESULT: "next_tool_call"}
    return TOOL_CALL, known.get(trigger, TOOL_CALL), []


def _same_tool_before(transcript: Transcript, turn: Turn, request: ToolRequest) -> ToolRequest | None:
    """The last call of this tool that the agent's call before asked for."""
    previous = _previous(transcript, turn)
    same = [each for each in previous.requests if each.name == request.name] if previous else []
    return same[-1] if same else None


def _made_before_words(transcript: Transcript, turn: Turn, request: ToolRequest) -> bool:
    """Whether just this call was the last that the agent had asked for, with nothing but words in between.

    Another call of the tool there is no repetition: what was said in between may well have asked for it."""
    earlier = (
        each
        for each in reversed(transcript.turns)
        if each.begin.seq < turn.begin.seq and each.begin.actor == turn.begin.actor and each.requests
    )
    last = next(earlier, None)
    return last is not None and any(
        each.name == request.name and each.arguments == request.arguments for each in last.requests
    )


def _changes(before: Any, after: Any) -> Iterator[ChangedArgument]:
    old, new = dict(scalars(before)), dict(scalars(after))
    for path in dict.fromkeys((*old, *new)):
        if path not in old or path not in new or old[path] != new[path]:
            yield {"path": path, "before": old.get(path), "after": new.get(path)}


def _output(transcript: Transcript, turn: Turn) -> Iterator[Quoted]:
    for event in turn.outputs:
        yield from (quoted(passage, event.seq) for passage in _passages(transcript, event.message))


_AFTER = {
    USER_MESSAGE: "After a user's message", TOOL_RESULT: "After a tool's result", TOOL_ERROR: "After a tool's error",
    MODEL_ERROR: "After a model call that failed", SYSTEM_MESSAGE: "After a system message",
    COMPRESSION: "After its context was compressed", NONE: "With nothing new in its context",
}  # fmt: skip
_DID = {
    ANSWER: "it answered",
    TOOL_CALL: "it called {tools}",
    "next_tool_call": "it went on with {tools}",
    "another_tool": "it turned to {tools}",
    "same_call_again": "it made the same call of {tools} again",
    "same_tool_other_arguments": "it called {tools} again, with other {paths}",
    "retry_with_changed_argument": "it tried {tools} again, with another {paths}",
}


def _summary(trigger: str, label: str | None, turn: Turn, changed: Sequence[ChangedArgument]) -> str:
    tools = ", ".join(dict.fromkeys(request.name for request in turn.requests))
    paths = ", ".join(change["path"] or "argument" for change in changed[:3])
    did = _DID[label].format(tools=tools, paths=paths) if label else "it has not answered"
    return f"{_AFTER[trigger]}, {did}."
