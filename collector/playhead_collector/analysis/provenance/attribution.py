"""Why was a tool called?

The main evidence is the source of the values in its arguments, together with the newest input of the model. The first
of these rules that matches gives the answer:

| kind | condition |
|---|---|
| error_recovery | a new result reports an error, and no message of a user is new |
| error_recovery | no new input is recorded, and the tool call that ended last had raised |
| plan_step | a plan that was written down before names this tool, or a value of this call |
| agent_initiative | all values are the model's own texts or code, and no user or other agent had just asked for it |
| user_request | a message of a user is new |
| follow_up | a value is from a new result |
| user_request | values are from a user's earlier words, at least as many as from results |
| follow_up | values are from earlier results |
| agent_message | values are from the words of another agent: its plan, its instruction, its handover |
| agent_initiative | values are from the agent's own earlier words |
| follow_up | a call whose result is new had some of the same arguments |
| agent_initiative | the model wrote a text with the call, or its reasoning was captured |
| agent_message | a message of another agent is new |
| unknown | no rule matches |

Pure.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead_collector.analysis.provenance import rules
from playhead_collector.analysis.provenance.contexts import Contexts
from playhead_collector.analysis.provenance.value_search import INVENTED, PROGRAM, Origin, trace_values
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.texts.passages import (
    ASSISTANT,
    DEFINITION,
    RESULT,
    USER,
    ContextIndex,
    Hit,
    Passage,
    Visible,
    quote,
)
from playhead_collector.analysis.texts.words import is_same_word, name_words, words_in
from playhead_collector.analysis.transcript.arguments import TracedCall, scalars
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript, Turn, failure_in

USER_REQUEST, FOLLOW_UP, ERROR_RECOVERY = "user_request", "follow_up", "error_recovery"
PLAN_STEP, AGENT_MESSAGE, INITIATIVE, UNKNOWN = "plan_step", "agent_message", "agent_initiative", "unknown"
_MAX_EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class AttributionEvidence:
    """Evidence for an attribution. `what`: message, result, error, plan, reasoning, said or assistant."""

    what: str
    seq: int | None
    content: ContentRef | None
    quote: str
    part: int = 0
    offset: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class ToolAttribution:
    """Why a tool was called: kind, rule and reason, with the evidence, and the origins of its arguments."""

    tool: ToolRun
    kind: str
    rule: StrengthRule
    reason: str
    evidence: Sequence[AttributionEvidence]
    origins: Sequence[Origin]


@dataclass(frozen=True, slots=True)
class _NewInput:
    """New passages in the input of the model call, each with the event of its message."""

    passages: Sequence[tuple[ev.MessageAdded, Passage]]
    of_agents: frozenset[ContentRef]
    """Messages with role `user` that repeat an answer of another agent."""

    def of(self, source: str) -> list[tuple[ev.MessageAdded, Passage]]:
        """New passages from a source. An answer of another agent has source ASSISTANT, also if its role is `user`."""
        return [pair for pair in self.passages if self._source(pair[1]) == source]

    def _source(self, passage: Passage) -> str:
        return ASSISTANT if passage.source == USER and passage.content in self.of_agents else passage.source


def attributions(
    transcript: Transcript, tools: Iterable[ToolRun], contexts: Contexts | None = None
) -> Iterator[ToolAttribution]:
    """Yields the attribution of each tool call. `tools`: in the order of the run, so that messages are read once.
    `contexts`: of this transcript, where later calls are asked about, too."""
    contexts = contexts or Contexts(transcript)
    for tool in tools:
        visible = contexts.context_of(tool)
        yield attribute(transcript, contexts.index, tool, traced_call_of(transcript, tool, visible))


def traced_call_of(transcript: Transcript, tool: ToolRun, visible: Visible) -> TracedCall:
    """Builds the input of the tracing from a tool call. `visible`: the context of the call."""
    definition = transcript.definitions(tool.turn).get(tool.begin.name)

    def asked_for(passage: Passage) -> Any:
        before = transcript.tool_run_by_result.get((passage.content, passage.part))
        return None if before is None else before.arguments

    return TracedCall(tool.begin.name, tool.arguments, visible, definition, asked_for)


def attribute(transcript: Transcript, index: ContextIndex, tool: ToolRun, traced: TracedCall) -> ToolAttribution:
    """Finds the attribution of one tool call."""
    origins = trace_values(index, traced)
    if is_of_program(transcript, tool):
        origins = [_of_program(origin) for origin in origins]
    deciding = _AttributionRules(transcript, tool, traced, origins, _new_input(transcript, tool))
    kind, rule, reason, evidence = next(answer for answer in deciding.rules() if answer)
    return ToolAttribution(tool, kind, rule, reason, evidence[:_MAX_EVIDENCE], origins)


def is_of_program(transcript: Transcript, tool: ToolRun) -> bool:
    """Whether the program made the call by itself: the model's answer before it is recorded, and did not ask for it."""
    if tool.request is not None:
        return False
    outputs = tool.turn.outputs if tool.turn is not None else []
    return tool.turn is None or (bool(outputs) and all(transcript.message(event.message) for event in outputs))


def _of_program(origin: Origin) -> Origin:
    """The origin of a value in a call that the program made: it may be anything, and is nobody's invention."""
    has_origin = origin.source not in (INVENTED, DEFINITION) and not origin.unfounded
    if has_origin and origin.subject_mismatch is None:
        return origin
    rule, note = rules.BUILT_BY_PROGRAM, "built by the program, which made this call by itself"
    return replace(
        origin, source=PROGRAM, how="built", rule=rule, note=note, evidence=(), unfounded=(), subject_mismatch=None
    )


def evidence_of(transcript: Transcript, hit: Hit, upto: int, *, last: bool = False) -> AttributionEvidence:
    """Converts an occurrence to evidence. Its seq is that of `entered_at`."""
    kind = {USER: "message", RESULT: "result"}.get(hit.passage.source, hit.passage.source)
    seq = entered_at(transcript, hit.passage.content, upto, last=last)
    return AttributionEvidence(
        kind, seq, hit.passage.content, hit.quote, hit.passage.part, hit.start, hit.end - hit.start
    )


def entered_at(transcript: Transcript, content: ContentRef | None, upto: int, *, last: bool = False) -> int | None:
    """Returns the seq of the first (or last) event below `upto` with which a content entered the run, or None."""
    seqs = [seq for seq in transcript.entry_seqs.get(content, ()) if seq < upto] if content is not None else []
    return None if not seqs else seqs[-1] if last else seqs[0]


Answer = tuple[str, StrengthRule, str, list[AttributionEvidence]] | None


@dataclass(frozen=True, slots=True)
class _AttributionRules:
    transcript: Transcript
    tool: ToolRun
    traced: TracedCall
    origins: Sequence[Origin]
    new_input: _NewInput

    def rules(self) -> Iterator[Answer]:
        """Yields the result of each rule, in order. None: the rule does not match."""
        yield self._error()
        yield self._plan()
        yield self._own_wording()
        yield self._user_spoke()
        yield self._from_new_results()
        yield self._from_sources()
        yield self._from_agents()
        yield self._goes_on()
        yield self._said_why()
        yield self._agent_spoke()
        yield UNKNOWN, rules.NOTHING_FOUND, "nothing in the context speaks for it", []

    def _error(self) -> Answer:
        if self.new_input.of(USER):
            return None
        for event, passage in reversed(self.new_input.of(RESULT)):
            run = self.transcript.tool_run_by_result.get((passage.content, passage.part))
            problem = failure_in(run, passage.text)
            if problem is not None:
                again = run is not None and run.begin.name == self.tool.begin.name
                reason = f"{'the same tool' if again else 'another tool'} had just failed: {problem[:120]}"
                rule = rules.SAME_TOOL_FAILED if again else rules.OTHER_TOOL_FAILED
                return ERROR_RECOVERY, rule, reason, [self._passage_evidence(event, passage, "error")]
        return self._raised()

    def _raised(self) -> Answer:
        """Checks whether the tool call that ended last had raised, if no new input of the model is recorded."""
        if self.new_input.passages:
            return None
        seq = self.tool.begin.seq
        here = bisect_left(self.transcript.tools, seq, key=lambda tool_run: tool_run.begin.seq)
        before = (self.transcript.tools[place] for place in range(here - 1, -1, -1))
        last = next((tool_run for tool_run in before if tool_run.end is not None and tool_run.end.seq < seq), None)
        if last is None or not isinstance(last.end, ev.ToolFailed):
            return None
        raised = AttributionEvidence("error", last.end.seq, None, last.end.message[:200])
        reason = f"{last.begin.name} had just failed: {last.end.message[:120]}"
        return ERROR_RECOVERY, rules.CALL_RAISED, reason, [raised]

    def _plan(self) -> Answer:
        names = [word for word in name_words(self.tool.begin.name) if len(word) > 2]
        telling = [value for _, value in self.traced.distinctive_values]
        for step in reversed(self.transcript.plan_steps):
            if step.seq >= self.tool.begin.seq:
                continue
            words = {word for word, _, _ in words_in(step.whole)}
            named = bool(names) and all(any(is_same_word(name, word) for word in words) for name in names)
            valued = [value for value in telling if value.lower() in step.whole.lower()]
            if named or valued:
                reason = "a plan names this tool" if named else f"a plan names {valued[0]!r}"
                written = AttributionEvidence("plan", step.seq, step.plan, step.words[:200])
                return PLAN_STEP, rules.PLAN_NAMES_TOOL if named else rules.PLAN_NAMES_VALUE, reason, [written]
        return None

    def _own_wording(self) -> Answer:
        if any(origin.how not in ("composed", "code") for origin in self.origins) or self._comes_from_an_agent():
            return None
        if any(self._mentions_tool(passage.text) for _, passage in self.new_input.of(USER)):
            return None
        if not self.origins and self.new_input.of(USER):
            return None
        reason = "its arguments are the model's own wording"
        return INITIATIVE, rules.OWN_WORDING, reason, [*self._thoughts(), *self._triggers()]

    def _user_spoke(self) -> Answer:
        messages = self.new_input.of(USER)
        if not messages:
            return None
        event, passage = messages[-1]
        here = [hit for origin in self.origins for hit in origin.evidence if hit.passage.content == passage.content]
        if here:
            return USER_REQUEST, rules.USER_JUST_SAID, "the user had just said values of it", self._hit_evidence(here)
        evidence = [self._passage_evidence(event, passage, "message"), *self._hit_evidence(self._from(USER))]
        if self._mentions_tool(passage.text) or self._from(USER):
            return USER_REQUEST, rules.USER_SPOKE_OF_IT, "the user had just spoken of it", evidence
        evidence += self._hit_evidence(self._from(RESULT))
        return USER_REQUEST, rules.USER_SPOKE, "the user had just spoken", evidence

    def _from_new_results(self) -> Answer:
        new = {passage.content for _, passage in self.new_input.of(RESULT)}
        hits = [hit for hit in self._from(RESULT) if hit.passage.content in new]
        if not hits:
            return None
        return FOLLOW_UP, rules.NEW_RESULTS, "values of it are from the results just given", self._hit_evidence(hits)

    def _from_sources(self) -> Answer:
        from_user, from_results = self._from(USER), self._from(RESULT)
        if from_user and len(from_user) >= len(from_results):
            rule = rules.USERS_AND_RESULTS if from_results else rules.USERS_VALUES
            return USER_REQUEST, rule, "values of it are from the user's words", self._hit_evidence(from_user)
        if from_results:
            return (
                FOLLOW_UP,
                rules.EARLIER_RESULTS,
                "values of it are from earlier results",
                self._hit_evidence(from_results),
            )
        return None

    def _from_agents(self) -> Answer:
        """Checks for values from the words of another agent, else from this agent's earlier words."""
        hits = self._from(ASSISTANT)
        others = [hit for hit in hits if self._author(hit.passage) != self.tool.begin.actor]
        if others:
            reason = f"values of it are from what {self._named(others[0].passage)} said"
            return AGENT_MESSAGE, rules.OTHER_AGENTS_VALUES, reason, self._hit_evidence(others)
        if hits:
            reason = "values of it are from the agent's own earlier words"
            return INITIATIVE, rules.OWN_VALUES, reason, self._hit_evidence(hits)
        return None

    def _comes_from_an_agent(self) -> bool:
        """Whether a new message, or the source of a value, is from another agent."""
        new = [passage for _, passage in self.new_input.of(ASSISTANT)]
        passages = [*new, *(hit.passage for hit in self._from(ASSISTANT))]
        return any(self._author(passage) != self.tool.begin.actor for passage in passages)

    def _agent_spoke(self) -> Answer:
        for event, passage in reversed(self.new_input.of(ASSISTANT)):
            if self._author(passage) != self.tool.begin.actor:
                reason = f"{self._named(passage)} had just spoken"
                return (
                    AGENT_MESSAGE,
                    rules.OTHER_AGENT_SPOKE,
                    reason,
                    [self._passage_evidence(event, passage, "assistant")],
                )
        return None

    def _author(self, passage: Passage) -> str | None:
        """Name of the agent that produced this message (None: no name); "" if no earlier model call has this answer. A
        summary is the words of the agent whose context it shortened."""
        if (made := self.transcript.summaries.get(passage.content)) is not None:
            return made.actor
        turn = self.transcript.first_turn_by_text.get(passage.text.strip())
        if turn is None or turn.begin.seq >= self.tool.begin.seq:
            return ""
        return turn.begin.actor

    def _named(self, passage: Passage) -> str:
        return f"the agent {self._author(passage)!r}" if self._author(passage) else "another agent"

    def _goes_on(self) -> Answer:
        """Checks whether a call whose result is new had a distinctive argument value of this call."""
        mine = {value for _, value in self.traced.distinctive_values}
        for event, passage in self.new_input.of(RESULT):
            before = self.transcript.tool_run_by_result.get((passage.content, passage.part))
            if before is not None and any(value in mine for _, value in scalars(before.arguments)):
                reason = f"it goes on where {before.begin.name} with the same arguments ended"
                return FOLLOW_UP, rules.SAME_ARGUMENTS, reason, [self._passage_evidence(event, passage, "result")]
        return None

    def _said_why(self) -> Answer:
        thoughts = self._thoughts()
        if thoughts:
            return INITIATIVE, rules.MODEL_SAID_WHY, "the model said why", [*thoughts, *self._triggers()]
        return None

    # --- evidence -----------------------------------------------------------------------------------------------------

    def _from(self, source: str) -> list[Hit]:
        """Hits of values from this source, at most 3 per value. Values that may be there by chance are left out."""
        telling = [origin for origin in self.origins if origin.rule not in rules.BY_CHANCE]
        hits = [hit for origin in telling for hit in origin.evidence[:3]]
        return [hit for hit in hits if self._source(hit.passage) == source]

    def _source(self, passage: Passage) -> str:
        return (
            ASSISTANT if passage.source == USER and is_of_agent(self.transcript, self.tool, passage) else passage.source
        )

    def _hit_evidence(self, hits: Sequence[Hit]) -> list[AttributionEvidence]:
        return [evidence_of(self.transcript, hit, self.tool.begin.seq) for hit in dict.fromkeys(hits)]

    def _passage_evidence(self, event: ev.MessageAdded, passage: Passage, kind: str) -> AttributionEvidence:
        length = min(200, len(passage.text))
        return AttributionEvidence(
            kind, event.seq, passage.content, quote(passage.text, 0, length), passage.part, 0, length
        )

    def _triggers(self) -> list[AttributionEvidence]:
        kinds = {USER: "message", RESULT: "result"}
        new_input = [(event, passage) for event, passage in self.new_input.passages if passage.source in kinds]
        return [self._passage_evidence(event, passage, kinds[passage.source]) for event, passage in new_input]

    def _thoughts(self) -> list[AttributionEvidence]:
        turn = self.tool.turn if self.tool.request else None
        evidence: list[AttributionEvidence] = []
        reasoning = self.transcript.reasoning(turn)
        if turn is not None and reasoning:
            ref = turn.end.reasoning if isinstance(turn.end, ev.LlmCompleted) else None
            evidence.append(
                AttributionEvidence("reasoning", turn.end and turn.end.seq, ref, reasoning[:200], 0, 0, len(reasoning))
            )
        if turn is not None and turn.answer_text:
            output = turn.outputs[0]
            evidence.append(
                AttributionEvidence(
                    "said", output.seq, output.message, turn.answer_text[:200], 0, 0, len(turn.answer_text)
                )
            )
        return evidence

    def _mentions_tool(self, text: str) -> bool:
        names = [word for word in name_words(self.tool.begin.name) if len(word) > 3]
        words = {word for word, _, _ in words_in(text)}
        return any(is_same_word(name, word) for name in names for word in words)


def _new_input(transcript: Transcript, tool: ToolRun) -> _NewInput:
    turn: Turn | None = tool.turn if tool.request else None
    passages: list[tuple[ev.MessageAdded, Passage]] = []
    for event in turn.new_messages if turn else ():
        passages += [(event, passage) for passage in transcript.passages(event.message)]
    of_agents = (passage.content for _, passage in passages if is_of_agent(transcript, tool, passage))
    return _NewInput(passages, frozenset(of_agents))


def is_of_agent(transcript: Transcript, tool: ToolRun, passage: Passage) -> bool:
    """Whether the passage equals an earlier answer of another agent. Frameworks pass answers on with role `user`."""
    turn = transcript.first_turn_by_text.get(passage.text.strip())
    return turn is not None and turn.begin.seq < tool.begin.seq and turn.begin.actor != tool.begin.actor
