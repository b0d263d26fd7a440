"""[analysis]: infers a model call's purpose from what was new in its context since the agent's last decision.  Pure.

The model did not say any of this, so it is always marked as inferred, with its evidence. An answer names the weaker one
of its two rules: that of the trigger and that of the goal.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef
from playhead.wire.operations import ChangedArgument, InferredReasoning, InferredStep, Quoted
from playhead_collector.analysis.rules import StrengthRule, weaker
from playhead_collector.analysis.texts.passages import RESULT, SYSTEM, USER, Passage, quoted
from playhead_collector.analysis.transcript.arguments import scalars
from playhead_collector.analysis.transcript.transcript import ToolRequest, Transcript, Turn, failure_in

MESSAGE_TRIGGER = StrengthRule(
    "message_trigger", "strong", "trigger: a user's message, a result, or an error was new to the model"
)
SYSTEM_TRIGGER = StrengthRule("system_trigger", "weak", "trigger: only a system message was new")
COMPRESSION_TRIGGER = StrengthRule(
    "compression_trigger", "weak", "trigger: nothing was new, and the context was compressed"
)
NO_TRIGGER = StrengthRule("no_trigger", "weak", "trigger: nothing was new")
LATEST_REQUEST = StrengthRule("latest_request", "likely", "goal: a user's latest message")
EARLIER_REQUEST = StrengthRule(
    "earlier_request", "likely", "goal: a user's earlier message; the latest is only a short answer"
)
SHORT_REQUEST = StrengthRule("short_request", "weak", "goal: a user's first message; all of them are short answers")
SYSTEM_GOAL = StrengthRule("system_goal", "weak", "goal: a system message; no user said anything")
NO_GOAL = StrengthRule("no_goal", "weak", "goal: nobody said anything")

USER_MESSAGE, TOOL_RESULT, TOOL_ERROR, SYSTEM_MESSAGE = "user_message", "tool_result", "tool_error", "system_message"
MODEL_ERROR, COMPRESSION, NONE = "model_error", "compression", "none"
ANSWER, TOOL_CALL = "answer", "tool_call"
_TRIGGERS = {USER: USER_MESSAGE, RESULT: TOOL_RESULT, SYSTEM: SYSTEM_MESSAGE}
_TRIGGER_RULES = {
    SYSTEM_MESSAGE: SYSTEM_TRIGGER, COMPRESSION: COMPRESSION_TRIGGER, NONE: NO_TRIGGER,
}  # fmt: skip
# "Yes, please go ahead" is an answer, not a goal: the request is an earlier message.
_MIN_WORDS = 4
_SHORT_ANSWER = re.compile(
    r"\s{0,64}+(?:yes|yeah|yep|no|nope|ok(?:ay)?|sure|thanks?|correct|right|great|perfect|please (?:do|go|proceed))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Trigger:
    """What made the model act: one of the triggers above, with quotes."""

    trigger: str
    quotes: Sequence[Quoted]

    @property
    def rule(self) -> StrengthRule:
        return _TRIGGER_RULES.get(self.trigger, MESSAGE_TRIGGER)


def infer_reasoning(transcript: Transcript, turn: Turn) -> InferredReasoning:
    """Infers trigger, goal, action and pattern of a model call."""
    previous = _previous(transcript, turn)
    trigger = _find_trigger(transcript, turn, previous)
    goal, origin, goal_rule = _goal(transcript, turn)
    rule = weaker(trigger.rule, goal_rule)
    action, label, changed = _action_taken(transcript, turn, trigger.trigger)
    evidence = [InferredStep(what="trigger", quote=quote) for quote in trigger.quotes]
    evidence += [InferredStep(what="goal", quote=goal)] if goal else []
    evidence += [InferredStep(what="action", quote=quote) for quote in _output_quotes(transcript, turn)]
    similar = _similar_calls(transcript, turn)
    return {
        "basis": "inferred",
        "trigger": trigger.trigger,
        "trigger_quotes": list(trigger.quotes),
        "goal": goal,
        "goal_origin": origin,
        "action": action,
        "pattern": f"{trigger.trigger} -> {label}" if label else None,
        "changed": changed,
        "similar_calls": similar.of_tool,
        "same_calls": similar.same,
        "summary": _summary(trigger.trigger, label, turn, changed, similar),
        "evidence": evidence,
        "strength": rule.strength,
        "rule": rule.name,
    }


def _beginning(passage: Passage, seq: int | None) -> Quoted:
    """Quotes the beginning of a passage. `seq`: the event with which it entered the run."""
    return quoted(seq, passage, 0, len(passage.text))


def _seq_before(transcript: Transcript, ref: ContentRef, seq: int) -> int | None:
    """Seq of the last event, up to `seq`, with which the content entered the run; None if there is none."""
    return max((entry_seq for entry_seq in transcript.entry_seqs.get(ref, ()) if entry_seq <= seq), default=None)


# --- trigger ---------------------------------------------------------------------------------------------------------


def _previous(transcript: Transcript, turn: Turn) -> Turn | None:
    """The previous model call of the same agent, or None."""
    earlier = [
        candidate
        for candidate in transcript.turns
        if candidate.begin.seq < turn.begin.seq and candidate.begin.actor == turn.begin.actor
    ]
    return earlier[-1] if earlier else None


def _find_trigger(transcript: Transcript, turn: Turn, previous: Turn | None) -> _Trigger:
    if isinstance(previous.end if previous else None, ev.LlmFailed) and not turn.new_messages:
        failed = previous.end if previous else None
        assert isinstance(failed, ev.LlmFailed)  # noqa: S101 - for the type checker
        text = failed.message or failed.error_type
        quote: Quoted = {"seq": failed.seq, "ref": None, "part": 0, "start": 0, "end": len(text), "text": text}
        return _Trigger(MODEL_ERROR, [quote])
    new = [(event, passage) for event in turn.new_messages for passage in transcript.passages(event.message)]
    last = new[-1][1].source if new else None
    if last is None or last not in _TRIGGERS:
        compressed = any(isinstance(e, ev.ContextCompressed) and e.span == turn.begin.span for e in transcript.events)
        trigger = COMPRESSION if compressed else NONE
        return _Trigger(trigger, [])
    tail = [(event, passage) for event, passage in new if passage.source == last]
    if last == RESULT:
        failed_ones = [pair for pair in tail if _failure_text(transcript, pair[1])]
        if failed_ones:
            return _Trigger(TOOL_ERROR, [_beginning(p, event.seq) for event, p in failed_ones])
    return _Trigger(_TRIGGERS[last], [_beginning(passage, event.seq) for event, passage in tail])


def _failure_text(transcript: Transcript, passage: Passage) -> str | None:
    return failure_in(transcript.tool_run_by_result.get((passage.content, passage.part)), passage.text)


# --- goal ------------------------------------------------------------------------------------------------------------


def _goal(transcript: Transcript, turn: Turn) -> tuple[Quoted | None, str | None, StrengthRule]:
    """Returns the request that the call most likely serves, its origin (both None if there is none), and the rule."""
    passages = list(_said_by(transcript, turn, USER))  # the latest first
    telling = [
        passage
        for passage in passages
        if len(passage.text.split()) >= _MIN_WORDS and not _SHORT_ANSWER.match(passage.text)
    ]
    seq = turn.begin.seq
    if telling:
        latest = telling[0] is passages[0]
        origin = "user_message" if latest else "earlier_user_message"
        rule = LATEST_REQUEST if latest else EARLIER_REQUEST
        return _beginning(telling[0], _seq_before(transcript, telling[0].content, seq)), origin, rule
    if passages:
        goal = _beginning(passages[-1], _seq_before(transcript, passages[-1].content, seq))
        return goal, "user_message", SHORT_REQUEST
    system = list(_said_by(transcript, turn, SYSTEM))
    if system:
        goal = _beginning(system[-1], _seq_before(transcript, system[-1].content, seq))
        return goal, "system_message", SYSTEM_GOAL
    return None, None, NO_GOAL


def _said_by(transcript: Transcript, turn: Turn, source: str) -> Iterator[Passage]:
    """Yields the passages of a source in the context of the call, the latest first, then those of messages that a
    summary in the context stands for."""
    node = transcript.nodes.get(turn.begin.thread) if turn.begin.thread else None
    replaced: list[ContentRef] = []
    while node is not None:
        yield from (passage for passage in transcript.passages(node.message) if passage.source == source)
        replaced += _replaced_by(transcript, node.message)
        node = transcript.nodes.get(node.parent) if node.parent else None
    seen: set[ContentRef] = set()
    for ref in replaced:  # grows: a summary may stand for an earlier one
        if ref not in seen:
            seen.add(ref)
            yield from (passage for passage in transcript.passages(ref) if passage.source == source)
            replaced += _replaced_by(transcript, ref)


def _replaced_by(transcript: Transcript, ref: ContentRef) -> Iterator[ContentRef]:
    """Yields the messages that a summary stands for, the latest first; nothing for another message."""
    made = transcript.summaries.get(ref)
    if made is not None:
        yield from reversed(made.summarised)


# --- action ----------------------------------------------------------------------------------------------------------


def _action_taken(
    transcript: Transcript, turn: Turn, trigger: str
) -> tuple[str | None, str | None, list[ChangedArgument]]:
    """Returns the action, its label at the end of the pattern, and the arguments that a repeated call changed.

    (None, None, []) if the call did not complete.
    """
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
    labels = {TOOL_ERROR: "another_tool", TOOL_RESULT: "next_tool_call"}
    return TOOL_CALL, labels.get(trigger, TOOL_CALL), []


def _same_tool_before(transcript: Transcript, turn: Turn, request: ToolRequest) -> ToolRequest | None:
    """The last request for this tool in the agent's previous model call, or None."""
    previous = _previous(transcript, turn)
    same = [candidate for candidate in previous.requests if candidate.name == request.name] if previous else []
    return same[-1] if same else None


def _made_before_words(transcript: Transcript, turn: Turn, request: ToolRequest) -> bool:
    """Whether the agent's last model call that requested tools requested exactly this call.

    Only answers without tool calls came after it. A call with other arguments is no repetition: a message in between
    may have asked for it.
    """
    earlier = (
        candidate
        for candidate in reversed(transcript.turns)
        if candidate.begin.seq < turn.begin.seq and candidate.begin.actor == turn.begin.actor and candidate.requests
    )
    last = next(earlier, None)
    return last is not None and any(
        candidate.name == request.name and candidate.arguments == request.arguments for candidate in last.requests
    )


def _changes(before: Any, after: Any) -> Iterator[ChangedArgument]:
    old, new = dict(scalars(before)), dict(scalars(after))
    for path in dict.fromkeys((*old, *new)):
        if path not in old or path not in new or old[path] != new[path]:
            yield {"path": path, "before": old.get(path), "after": new.get(path)}


def _output_quotes(transcript: Transcript, turn: Turn) -> Iterator[Quoted]:
    for event in turn.outputs:
        yield from (_beginning(passage, event.seq) for passage in transcript.passages(event.message))


# --- similar calls ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SimilarCalls:
    """Tool calls in a context that name a tool which the call requested, and those of them with equal arguments."""

    of_tool: int = 0
    same: int = 0


def _similar_calls(transcript: Transcript, turn: Turn) -> _SimilarCalls:
    requested = {(request.name, canonical_json(request.arguments)) for request in turn.requests}
    tools = {name for name, _ in requested}
    of_tool = same = 0
    node = transcript.nodes.get(turn.begin.thread) if turn.begin.thread and tools else None
    while node is not None:
        message = transcript.message(node.message)
        for part in message["parts"] if message is not None else ():
            if part.get("type") == "tool_call" and part.get("name") in tools:
                of_tool += 1
                same += (part.get("name"), canonical_json(part.get("arguments"))) in requested
        node = transcript.nodes.get(node.parent) if node.parent else None
    return _SimilarCalls(of_tool, same)


# --- the summary -----------------------------------------------------------------------------------------------------

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


def _summary(
    trigger: str, label: str | None, turn: Turn, changed: Sequence[ChangedArgument], similar: _SimilarCalls
) -> str:
    tools = ", ".join(dict.fromkeys(request.name for request in turn.requests))
    paths = ", ".join(change["path"] or "argument" for change in changed[:3])
    did = _DID[label].format(tools=tools, paths=paths) if label else "it has not answered"
    before = f" Similar calls in its context: {similar.of_tool}, equal ones: {similar.same}." if similar.of_tool else ""
    return f"{_AFTER[trigger]}, {did}.{before}"
