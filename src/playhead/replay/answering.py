"""Answers the calls of a running program from a record, until the record ends; then the program goes live.

Keeps the promises of `api.replaying.Replay`.  Decisions are `matching`'s; here they take effect: an answer, a live
call under its recorded identity, a report, an error.
"""

import logging
from collections import Counter
from typing import Any

from playhead.api.calls import tell_after_all, tell_enclosing
from playhead.api.forks import fork_safe_lock
from playhead.api.guard import warn_once
from playhead.api.replaying import Answer, Restore
from playhead.api.scope import say, say_of
from playhead.api.span import ObservedSpan
from playhead.errors import CannotRestore, InDoubt, ReplayDiverged, ReplayError, RunStopped, ToolDenied
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.span import LogEvent
from playhead.replay.calls import Outcome, RecordedCall, place_of, question_of
from playhead.replay.divergence import diverged
from playhead.replay.editing import Edits, is_edit, recorded_rules, rule_of
from playhead.replay.identity import adopt, is_live
from playhead.replay.matching import Beyond, Diverged, Found, Matcher
from playhead.replay.policy import Policy, Told, Tools, in_doubt_sentence, is_open
from playhead.replay.record import Record, WithRecent
from playhead.replay.restoring import given, restored

log = logging.getLogger("playhead")

# Asking a model or an index again changes nothing in the world but the bill.
_HARMLESS = frozenset({"llm", "embedding", "retriever"})
_NOTHING: Any = object()


class RecordReplay:
    """Replays one run's record into the run that goes on.  Safe for threads and tasks."""

    def __init__(
        self,
        record: Record,
        calls: list[RecordedCall],
        policy: Policy,
        *,
        same_run: bool,
        beyond: list[RecordedCall],
        upto: int = 0,
    ):
        """`calls` answer; `beyond` (a fork's parent after the cut) answer only tools that must not be executed.

        `upto`: the order of the call at which a fork parts: log events before it are shared."""
        self.record = record
        self.policy = policy
        self.told = Told()
        self._same_run = same_run
        self._answerable = Matcher([call for call in calls if call.can_answer])
        self._beyond = Matcher([call for call in beyond if call.kind == "tool"])
        self._enclosing = {str(call.span.attributes.get(names.CALL_KEY)): call for call in calls}
        keys = {span.span_id: str(span.attributes.get(names.CALL_KEY)) for span in record.spans}
        shared = [entry for entry in record.logs if same_run or _is_shared(entry, upto)]
        # The calls that run again may have ids of their own: what was said in them is found by where they stand.
        self._logs = Counter(
            (entry.name, str(entry.attributes.get(names.CALL_KEY) or keys.get(entry.span_id or ""))) for entry in shared
        )
        # Of calls that the crash has left no more of than what was said in them.
        self._only_said = {
            str(entry.attributes[names.CALL_KEY]): entry
            for entry in shared
            if same_run and entry.span_id not in keys and names.CALL_KEY in entry.attributes
        }
        self._parents = {call.span.span_id: call.span.parent_id for call in calls}
        self._answered: set[str | None] = set()
        self._said_resumed = not same_run
        self._rules = recorded_rules(record, calls)
        self._stopped: RunStopped | None = None
        self._mutex = fork_safe_lock()

    # --- api.replaying.Replay -----------------------------------------------------------------------------------------

    def answer(self, span: ObservedSpan, restore: Restore | None) -> Answer | None:
        """The recorded answer; None: execute the call.  Raises RunStopped, and from then on for every call: a program
        that takes it for an error of a tool must not go on either."""
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped)) from self._stopped
        try:
            answer = self._answer(span, restore)
        except RunStopped as stopped:
            self._stopped = stopped
            raise
        if answer is None and self._rules and restore is not None:
            return Answer(edit=Edits(self._rules))  # where its messages begin as those of an edited call
        return answer

    def enclosing(self, span: ObservedSpan) -> None:
        """A call that runs again because others run inside it: it keeps its recorded identity, and is told once."""
        is_root = names.RUN_ROOT in span.attributes
        key = str(span.attributes.get(names.CALL_KEY))
        call, said = self._enclosing.pop(key, None), self._only_said.pop(key, None)
        if said is not None and said.span_id is not None and not is_live(span):
            span.span_id = int(said.span_id, 16)
        elif call is not None and not is_live(span):
            if is_open(call) and self._same_run:
                adopt(span, call)
            elif not is_root or (self._same_run and call.outcome is Outcome.COMPLETED):
                span.silent = True
        if is_root and not span.silent:
            self._say_resumed(span)

    def repeats(self, event: str, span: ObservedSpan) -> bool:
        """As many as the record has of this call; one that asks something else than it did says something new."""
        if is_live(span) or (span.can_be_answered and not span.announced):
            return False
        key = (event, str(span.attributes.get(names.CALL_KEY)))
        with self._mutex:
            left = self._logs[key]
            self._logs[key] = left - 1
        if left <= 0:
            self._say_resumed(span)
            tell_after_all(span)
        return left > 0

    def left(self) -> list[RecordedCall]:
        """Recorded calls that were not made again; those inside a call that was answered need not be."""
        return [call for call in self._answerable.left() if not self._is_inside_answered(call)]

    def _is_inside_answered(self, call: RecordedCall) -> bool:
        at = call.span.parent_id
        while at is not None and at not in self._answered:
            at = self._parents.get(at)
        return at is not None

    # --- what a verdict means -----------------------------------------------------------------------------------------

    def _answer(self, span: ObservedSpan, restore: Restore | None) -> Answer | None:
        if not span.recorder.content:
            warn_once(
                "replay without content", "PLAYHEAD_CAPTURE_CONTENT is false, so nothing can be compared: all live"
            )
            return self._live(span)
        if is_live(span):
            return self._live(span)
        match self._answerable.match(place_of(span.attributes), question_of(span.attributes)):
            case Found(call):
                return self._found(span, call, restore)
            case Diverged(how, expected):
                return self._diverged(span, how, expected, restore)
            case Beyond():
                return self._live(span)

    def _found(self, span: ObservedSpan, call: RecordedCall, restore: Restore | None) -> Answer | None:
        outcome = self.policy.outcomes.pop(call.span.span_id, _NOTHING)
        if outcome is not _NOTHING:
            return self._given(span, outcome, call, restore)
        if call.outcome is Outcome.IN_DOUBT:
            return self._in_doubt(span, call, restore, None)
        try:
            answer = restored(self.record, call, restore)
        except CannotRestore as error:
            return self._in_doubt(span, call, restore, str(error))
        with self._mutex:
            self.told.answered += 1
            self._answered.add(call.span.span_id)
        self._tell_of_code(span, call)
        return answer

    def _tell_of_code(self, span: ObservedSpan, call: RecordedCall) -> None:
        """The same question to another function may have another answer: that is for a person to judge."""
        code, then = span.attributes.get(names.CODE), call.span.attributes.get(names.CODE)
        if code == then or code is None or then is None:
            return
        with self._mutex:
            if span.name in self.told.changed_code:
                return
            self.told.changed_code.append(span.name)
        log.warning("the code of %s has changed since it was recorded: its recorded results are given", span.name)

    def _in_doubt(
        self, span: ObservedSpan, call: RecordedCall, restore: Restore | None, why: str | None
    ) -> Answer | None:
        with self._mutex:
            self.told.in_doubt.append(call.place)
        if call.kind not in _HARMLESS and not span.attributes.get(names.IDEMPOTENT):
            how = self.policy.in_doubt
            if callable(how):
                return self._given(span, how(call), call, restore)
            if how == "raise":
                raise InDoubt(in_doubt_sentence(call, self._arguments(span), why))
        if why is not None:
            warn_once(f"again {call.place} {why}", f"{call.place} is executed again: {why}")
        if self._same_run and is_open(call):
            adopt(span, call)
        return self._live(span)

    def _diverged(self, span: ObservedSpan, how: str, expected: RecordedCall, restore: Restore | None) -> Answer | None:
        report = diverged(how, span.attributes, expected, WithRecent(self.record, span.frames))
        with self._mutex:
            self.told.divergences.append(report)
        policy = self.policy.on_divergence
        if policy == "raise":
            raise ReplayDiverged(str(report))
        if callable(policy) and (outcome := policy(report)) is not None:
            return self._given(span, outcome, expected, restore)
        log.warning("from here on this branch runs live: %s", report)
        if span.above is not None:
            span.above.live = True
        answer = self._live(span)
        said = {names.DIVERGENCE_HOW: how, names.DIVERGENCE_CALL: report.place}
        say(names.DIVERGED, said, {names.DIVERGENCE_REF: {"how": how, "report": str(report)}}, span)
        return answer

    def _live(self, span: ObservedSpan) -> Answer | None:
        tools = self.policy.tools
        if span.kind == "tool" and tools != "live":
            return self._without_executing(span, tools)
        with self._mutex:
            self.told.live += 1
        self._news(span)
        return None

    def _without_executing(self, span: ObservedSpan, tools: Tools) -> Answer:
        match self._beyond.match(place_of(span.attributes), question_of(span.attributes)):
            case Found(call) if call.outcome is not Outcome.IN_DOUBT:
                try:
                    answer = restored(self.record, call, None)
                    return Answer(answer.value, answer.error, answer.items, answer.ending, told=True)
                except CannotRestore:
                    pass
            case _:
                pass
        self._news(span)
        if callable(tools):
            return Answer(value=tools(str(span.attributes[names.TOOL_NAME]), self._arguments(span)), told=True)
        denied = ToolDenied(
            f"{span.name} was asked for with arguments that the record has no answer to, and tools are denied: "
            "answer it with tools=callback, or let it run with live='all'"
        )
        return Answer(error=denied, told=True)

    def _given(self, span: ObservedSpan, outcome: Any, call: RecordedCall, restore: Restore | None) -> Answer:
        if restore is not None and is_edit(outcome, call):
            return self._edited(span, outcome, call)
        self._news(span)
        if self._same_run and is_open(call):
            adopt(span, call)
        try:
            return given(self.record, outcome, call, restore)
        except CannotRestore as error:
            raise ReplayDiverged(f"the outcome set for {call.place} cannot be given to the program: {error}") from error

    def _edited(self, span: ObservedSpan, outcome: Any, call: RecordedCall) -> Answer:
        try:
            rule = rule_of(outcome, self.record, call)
        except ReplayError as error:
            raise ReplayDiverged(str(error)) from error
        with self._mutex:
            self._rules = (*self._rules, rule)
        if self._same_run and is_open(call):
            adopt(span, call)
        self._live(span)
        return Answer(edit=Edits(self._rules, call.place))

    def _news(self, span: ObservedSpan) -> None:
        """Something happens that the record does not have."""
        self._say_resumed(span)  # first: all that the next attempt tells comes after it
        tell_enclosing(span)

    def _say_resumed(self, span: ObservedSpan) -> None:
        with self._mutex:
            said, self._said_resumed = self._said_resumed, True
        if not said:
            while span.above is not None:
                span = span.above
            say_of(span, names.RESUMED, {names.RUN_ATTEMPT: span.run.attempt}, {})

    def _arguments(self, span: ObservedSpan) -> Any:
        ref = span.attributes.get(names.TOOL_ARGUMENTS_REF) or span.attributes.get(names.INPUT_REF)
        if ref is None:
            return None
        content = WithRecent(self.record, span.frames).content(ref)
        return None if content is None else value_of(content)


def _is_shared(entry: LogEvent, upto: int) -> bool:
    return 0 < int(entry.attributes.get(names.CALL_ORDER, 0)) < upto
