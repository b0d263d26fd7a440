"""Answers the calls of a running program from a record, until the record ends; then the program goes live.

Keeps the promises of `api.replaying.Replay`.  Decisions are `matching`'s; here they take effect: an answer, a live
call under its recorded identity, a report, an error.
"""

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from playhead.api.calls.flow import in_event_loop, is_only_task
from playhead.api.calls.lifecycle import announce_enclosing, announce_replayed
from playhead.api.calls.span import ObservedSpan
from playhead.api.forks import fork_safe_lock
from playhead.api.guard import warn_once
from playhead.api.replaying import ReplayAnswer, ResponseRestorer
from playhead.api.scope import log_event, log_event_of
from playhead.errors import CannotRestore, InDoubt, ReplayDiverged, ReplayError, RunStopped, ToolDenied
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead.replay.editing import Edits, is_edit, recorded_rules, rule_of
from playhead.replay.effects import unwatched
from playhead.replay.matching.cut_arguments import CutArguments
from playhead.replay.matching.divergence import Divergence, describe_divergence
from playhead.replay.matching.enclosing import EnclosingCalls
from playhead.replay.matching.ending_order import EndingOrder, EndingTurn
from playhead.replay.matching.identity import (
    CallKeys,
    adopt_identity,
    is_inside_live_call,
    is_shared_with_parent,
    lookup_key,
)
from playhead.replay.matching.matching import BeyondRecord, Certainty, Diverged, Match, MatchedCall, Matcher, Recognised
from playhead.replay.matching.nesting import FOREVER, Nesting
from playhead.replay.matching.recorded_calls import (
    REPEATABLE_KINDS,
    Outcome,
    RecordedCall,
    arguments_of,
    call_path_of,
    request_refs_of,
)
from playhead.replay.policy import (
    DIVERGENCE_OPTIONS,
    RERUN,
    Policy,
    ReplayReport,
    Tools,
    command_sentence,
    completed_run_sentence,
    completed_sentence,
    former_tool_sentence,
    in_doubt_sentence,
    is_open,
    recognised_sentence,
)
from playhead.replay.promises import promise_answers, promises_opened
from playhead.replay.record import Record, RecordWithPendingCall
from playhead.replay.restoring import answer_from_outcome, answer_from_record
from playhead.replay.starting import order_of
from playhead.wire.answers.promises import PromiseAnswer

log = logging.getLogger("playhead")

_NO_OUTCOME: Any = object()
# More say no more than that another program is running.
_MAX_MISSED = 20
_MAX_REPEATED = 50


class RecordReplay:
    """Replays one run's record into the run that goes on.  Safe for threads and tasks."""

    after: int = 0
    """The latest attempt that the record has."""
    missing_orders: Sequence[int] = ()
    """Numbers of which the record has nothing: see `holes`."""

    def __init__(
        self,
        record: Record,
        calls: list[RecordedCall],
        policy: Policy,
        *,
        run_id: str,
        same_run: bool,
        after_fork: list[RecordedCall],
        cut: str | None = None,
        fork_order: int = 0,
        completed_run: str | None = None,
    ):
        """`calls` answer; `after_fork` (a fork's parent after the cut) answer only tools that must not be executed.
        `run_id`: the run that goes on.  `cut`: the span id of the call at which a fork parts, if it is yet to come.

        `fork_order`: the order of the call at which a fork parts: log events before it are shared.  `completed_run`:
        the id of a run that has completed, which gives its results again, and nothing else."""
        self.record = record
        self.policy = policy
        self.report = ReplayReport()
        self.branch_wait_seconds = policy.branch_wait_seconds
        self._run_id = run_id
        self._same_run = same_run
        self._cut = cut
        self._completed_run = completed_run
        self._questions = {(call.call_path, call.request_refs) for call in calls if call.kind in ("llm", "embedding")}
        self._answerable = Matcher([call for call in calls if call.can_answer], policy.renamed)
        self._cut_arguments = CutArguments(call for call in calls if call.can_answer)
        self._beyond = Matcher([call for call in after_fork if call.kind == "tool"])
        self._tool_names = _names_of_tools([*calls, *after_fork])
        self._enclosing = EnclosingCalls(calls, self._answerable.recorded_paths, same_run=same_run)
        self._nesting = Nesting(calls, FOREVER if same_run else fork_order)
        self._endings = EndingOrder(self._nesting.outermost([call for call in calls if call.can_answer]))
        self._last = next((call for call in reversed(calls) if call.can_answer), None)
        keys = {span.span_id: str(span.attributes.get(names.CALL_KEY)) for span in record.spans}
        shared = [entry for entry in record.logs if same_run or is_shared_with_parent(entry, fork_order)]
        self._recorded_logs = _logs_with_calls(shared, keys)
        self._logs = Counter(log[:2] for log in self._recorded_logs)
        self._calls = calls
        self._promises = promise_answers(record, shared)
        self._promise_ids = promises_opened(shared) if same_run else {}
        self._only_said = _only_said(shared, keys) if same_run else {}
        self._keys = CallKeys([*(call.key for call in calls), *self._only_said])
        self._said_resumed = not same_run
        self._rules = recorded_rules(record, calls)
        self._stopped: RunStopped | None = None
        self.on_stopped: Callable[[RunStopped], object] = _ignore
        """Called once, with what has stopped the run."""
        self._live_flows: set[str] = set()
        """Flows of calls without an agent around them in which the program has left the record."""
        self._has_ended = False
        self._mutex = fork_safe_lock()

    # --- api.replaying.Replay -----------------------------------------------------------------------------------------

    @property
    def is_stopped(self) -> bool:
        """Whether a call has raised RunStopped."""
        return self._stopped is not None

    @property
    def stopped(self) -> RunStopped | None:
        """What has stopped the run; None: nothing."""
        return self._stopped

    @property
    def progress(self) -> int:
        """Another number when a branch has done something."""
        return self._answerable.progress

    def is_undecided(self, span: ObservedSpan) -> bool:
        """Whether the verdict depends on which other branches come."""
        if self._stopped is not None or not self._may_compare(span):
            return False
        self._compare_what_was_read(span)
        return self._answerable.is_undecided(*lookup_key(span))

    def answer(
        self, span: ObservedSpan, restore: ResponseRestorer | None, *, waited: bool = False
    ) -> ReplayAnswer | None:
        """The recorded answer; None: execute the call.  Raises RunStopped, and from then on for every call: a program
        that takes it for an error of a tool must not go on either."""
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped)) from self._stopped
        with self._stopping():
            answer = self._answer(span, restore, waited=waited)
        if answer is None and self._rules and restore is not None:
            return ReplayAnswer(edit=Edits(self._rules))  # where its messages begin as those of an edited call
        return answer

    @contextmanager
    def _stopping(self) -> Generator[None]:
        try:
            yield
        except RunStopped as stopped:
            self._stop(stopped)
            self._endings.give_up()
            raise

    def _stop(self, stopped: RunStopped) -> None:
        is_first, self._stopped = self._stopped is None, stopped
        if is_first:
            self.on_stopped(stopped)

    def answer_in_later_run(self, span: ObservedSpan) -> ReplayAnswer | None:
        """A tool that another run calls, which began where this one was to go on: see `api.replaying.Replay`."""
        if span.kind != "tool":
            return None
        if self.policy.tools != "live":
            return self._without_executing(span, self.policy.tools)
        if self._stopped is None and not self._has_ended and not self.report.divergences:
            return None  # this run still goes on by its record: the other one is another
        while (found := self._recognised(span)) is not None and found.how == "same":
            if self._stopped is not None:
                raise type(self._stopped)(str(self._stopped)) from self._stopped
            policy, call = self._policy_for(found.call), found.call
            allowed = policy.completed if call.is_settled else policy.in_doubt
            if span.attributes.get(names.IDEMPOTENT) or allowed == "rerun":
                self._answerable.take(call)
                return None
            with self._stopping():
                if not call.is_settled:
                    raise InDoubt(in_doubt_sentence(call, self._arguments(span), None))
                if allowed != "reuse":
                    raise InDoubt(completed_sentence(call, self._arguments(span)))
            if self._answerable.take(call):
                return self._given_to_later_run(span, call)
        return None

    def _given_to_later_run(self, span: ObservedSpan, call: RecordedCall) -> ReplayAnswer:
        try:
            answer = answer_from_record(self.record, call, None)
        except CannotRestore as error:
            with self._stopping():
                raise InDoubt(in_doubt_sentence(call, self._arguments(span), str(error))) from error
        with self._mutex:
            self.report.answered += 1
        return replace(answer, is_new=True)

    def has_question(self, span: ObservedSpan) -> bool:
        """See `api.replaying.Replay`."""
        call_path, request_refs, _ = lookup_key(span)
        call_paths = self._answerable.recorded_paths(call_path)
        if any((each, request_refs) in self._questions for each in call_paths):
            return True
        return bool(self._rules) and any(path in call_paths for path, _ in self._questions)

    def enter_enclosing(self, span: ObservedSpan) -> None:
        """A call that runs again because others run inside it: it keeps its recorded identity, and is told once."""
        is_root = names.RUN_ROOT in span.attributes
        said = self._only_said.pop(str(span.attributes.get(names.CALL_KEY)), None)
        call = self._recorded_enclosing(span, is_known=said is not None or is_root)
        if call is not None and span.flow is not None and any(call.request_refs):
            self._answerable.claim(span.flow, call, surely=self._enclosing.is_unlike_others(call))
        self._answerable.note_progress()
        if said is not None and said.span_id is not None and not self._is_live(span):
            span.span_id = int(said.span_id, 16)
        elif call is not None:
            if not is_open(call):
                span.recorded = call
            span.attributes[names.CALL_KEY] = call.key
            if self._goes_on_as(call):
                adopt_identity(span, call)
            elif not is_root or (self._same_run and call.outcome is Outcome.COMPLETED):
                span.silent = True
        elif self._same_run and names.CALL_KEY in span.attributes:
            span.attributes[names.CALL_KEY] = self._keys.new(call_path_of(span.attributes))
        if self._completed_run is not None or self._may_stop_before_it(span, call):
            span.silent = True
        elif not span.silent:
            self._journal_resumed(span)

    def _recorded_enclosing(self, span: ObservedSpan, *, is_known: bool) -> RecordedCall | None:
        """The record's call that this one is.  Unless it `is_known` by other means, raises RunStopped if the record has
        it under another kind."""
        call = None if self._is_live(span) else self._enclosing.match(span)
        if call is None and not is_known:
            with self._stopping():
                self._stop_before_other_kind(span)
        return call

    def _may_stop_before_it(self, span: ObservedSpan, call: RecordedCall | None) -> bool:
        """Whether nothing new has happened yet in a run that has ended: what is found first may stop this attempt, and
        the run is then as it was."""
        if self._said_resumed or span.announced:
            return False
        return names.RUN_ROOT in span.attributes or call is None

    def has_log_event(self, event: str, span: ObservedSpan, identity: str | None = None) -> bool:
        """As many as the record has of this call; one that asks something else than it did says something new."""
        if self._completed_run is not None:
            return True
        if identity is None and (self._is_live(span) or (span.can_be_answered and not span.announced)):
            return False
        key = (event, identity or str(span.attributes.get(names.CALL_KEY)))
        with self._mutex:
            left = self._logs[key]
            self._logs[key] = left - 1
        if left <= 0:
            self._journal_resumed(span)
            announce_replayed(span)
        return left > 0

    def in_forked_child(self) -> "RecordReplay | None":
        """What must not be executed in this run is not executed in a child either: nothing in a run that was stopped or
        had completed, and no tools where they are denied."""
        if self._stopped is not None or self._completed_run is not None:
            return self
        if self.policy.tools == "live":
            return None
        replay = RecordReplay(self.record, [], self.policy, run_id=self._run_id, same_run=False, after_fork=[])
        replay._beyond, replay._tool_names = self._beyond, self._tool_names
        return replay

    @property
    def is_fork(self) -> bool:
        """See `api.replaying.Replay`."""
        return not self._same_run

    def recorded_promise(self, key: str) -> str | None:
        """The promise that was opened by this run, whatever ids a framework uses this time."""
        return self._promise_ids.get(key)

    def promise_answer(self, key: str) -> PromiseAnswer | None:
        """Of the record's part that this run has: a fork asks again for what came after its cut."""
        return self._promises.get(key)

    @property
    def had_completed(self) -> bool:
        """See `api.replaying.Replay`."""
        return self._completed_run is not None

    def refuse_promise(self, what: str) -> None:
        """A run that has completed asks nobody any more."""
        with self._stopping():
            self._refuse(f"it waits for {what!r}, which is not in its record")

    def start_after(self, order: int) -> None:
        """The program goes on from a checkpoint: calls that had ended before this number, and log events before it, are
        not expected again."""
        past = [call for call in self._calls if call.ended is not None and call.ended[0] < order]
        self._enclosing.forget(past)
        self._answerable.mark_covered([call for call in past if call.can_answer], None)
        with self._mutex:
            self._logs = Counter(log[:2] for log in self._recorded_logs if log[2] > order)

    def take_beyond(self, own: Sequence[RecordedCall]) -> None:
        """Of a fork that is resumed: its parent has answered these tools of it before, each once."""
        for call in own:
            if call.kind == "tool":
                self._beyond.match(call.call_path, call.request_refs)

    def unannounced_ends(self, span: ObservedSpan) -> None:
        """New is the end of this attempt, and of what the record does not have, unless the run had completed."""
        is_new = names.RUN_ROOT in span.attributes or span.recorded is None
        if self._same_run and self._completed_run is None and is_new:
            self._journal_resumed(span)
            announce_replayed(span)

    def run_ended(self, root: ObservedSpan) -> None:
        """The program has come to its end.  What it was expected to call again, and has not, is told."""
        self._has_ended = True
        if self._completed_run is not None or not self._same_run or not root.recorder.content:
            return
        missed = [call for call in self._answerable.unmatched_expected() if call.is_settled]
        for call in missed[:_MAX_MISSED]:
            report = (
                f"{call.call_path} had completed, and the program has not called it again: was it removed, or changed?"
            )
            log.warning("%s", report)
            said = {names.DIVERGENCE_HOW: "not_called_again", names.DIVERGENCE_CALL: call.key}
            log_event_of(
                root, names.DIVERGED, said, {names.DIVERGENCE_REF: {"how": "not_called_again", "report": report}}
            )
        if len(missed) > _MAX_MISSED:
            log.warning("%d more completed calls were not called again", len(missed) - _MAX_MISSED)

    # --- effects.EffectWatcher ----------------------------------------------------------------------------------------

    def repeats(self, span: ObservedSpan | None) -> bool:
        """Whether the record goes on after this place, so that the program was here before."""
        if self._stopped is not None or self._has_ended or (span is not None and self._is_live(span)):
            return False
        return self._completed_run is not None or self._answerable.goes_on_after(
            span.flow if span is not None else None
        )

    def before_command(self, command: str) -> None:
        """Warns of it; raises InDoubt where nothing may be done again that is not recorded.

        By default it is started: a resumed program needs the servers that it talks to, which are commands, too.
        """
        if self.policy.unrecorded == "raise":
            with self._stopping():
                raise InDoubt(command_sentence(command))
        self._repeat(f"started again: {command}")

    def before_change(self, how: str, path: str) -> None:
        """Warns of it, once for each file."""
        self._repeat(f"{how} again: {path}")

    def _repeat(self, what: str) -> None:
        with self._mutex:
            if what in self.report.repeated or len(self.report.repeated) > _MAX_REPEATED:
                return
            self.report.repeated.append(what)
            is_last = len(self.report.repeated) > _MAX_REPEATED
        log.warning("%s", "more is done again, and is not named" if is_last else f"{what} (no recorded call does this)")

    def unmatched_calls(self) -> list[RecordedCall]:
        """Recorded calls that were not made again; those inside a call that was answered need not be."""
        return self._answerable.unmatched()

    # --- what a verdict means -----------------------------------------------------------------------------------------

    def _compare_what_was_read(self, span: ObservedSpan) -> None:
        """Gives the call the refs of recorded arguments that are equal but for what was not read in time."""
        call_paths = self._answerable.recorded_paths(call_path_of(span.attributes))
        if self._cut_arguments.concern(span, call_paths):
            left = self._answerable.left_at(call_paths)
            self._cut_arguments.adopt(span, left, RecordWithPendingCall(self.record, span.frames))

    def _may_compare(self, span: ObservedSpan) -> bool:
        return span.recorder.content and not self._is_live(span)

    def _is_live(self, span: ObservedSpan) -> bool:
        """Whether the record no longer speaks for this call, since the program has left it."""
        if span.enclosing is None and self._live_flows:
            return (span.flow.name if span.flow is not None else "") in self._live_flows
        return is_inside_live_call(span)

    def _answer(self, span: ObservedSpan, restore: ResponseRestorer | None, *, waited: bool) -> ReplayAnswer | None:
        if not span.recorder.content:
            self._refuse("PLAYHEAD_CAPTURE_CONTENT is false, so nothing can be compared")
            warn_once(
                "replay without content", "PLAYHEAD_CAPTURE_CONTENT is false, so nothing can be compared: all live"
            )
            return self._live(span)
        self._compare_what_was_read(span)
        if self._is_live(span):
            return self._live_unless_completed(span, restore)
        match self._verdict(span, waited=waited):
            case MatchedCall(call):
                return self._found(span, call, restore)
            case Diverged(how, expected):
                return self._diverged(span, how, expected, restore)
            case BeyondRecord():
                unchecked = self._answerable.match_by_path(call_path_of(span.attributes), span.flow)
                if unchecked is not None:
                    return self._unchecked(span, unchecked, restore)
                self._refuse(f"{span.attributes.get(names.CALL_KEY)} is not in its record")
                # Where the program has left the record elsewhere, what is left of it may be made here.
                return self._live_unless_completed(span, restore) if self._answerable.has_given_up else self._live(span)

    def _verdict(self, span: ObservedSpan, *, waited: bool) -> Match:
        """Waits, for a while, where another branch may still come for what is left, and waiting holds up nobody."""
        waits = not (waited or in_event_loop())
        verdict = self._answerable.match(
            *lookup_key(span), branch_wait_seconds=self.branch_wait_seconds if waits else 0
        )
        if isinstance(verdict, Diverged) and not (waited or waits) and verdict.certainty is Certainty.POSSIBLE:
            # A synchronous call in a task: nobody else can come while it waits.
            verdict = verdict if is_only_task() else BeyondRecord()
        if isinstance(verdict, BeyondRecord) and any(request_refs_of(span.attributes)):
            around = self._nesting.completed_around(span)
            return Diverged("inserted", around) if around is not None else verdict
        return verdict

    def _refuse(self, what: str, call: RecordedCall | None = None) -> None:
        """Of a run that has completed: `call` is where to fork it instead, by default its last one."""
        if self._completed_run is not None:
            at = call or self._last
            raise ReplayDiverged(completed_run_sentence(self._completed_run, what, at.span.span_id if at else "SEQ"))

    def _found(self, span: ObservedSpan, call: RecordedCall, restore: ResponseRestorer | None) -> ReplayAnswer | None:
        outcome = self._outcome_of(span, call)
        if outcome is _NO_OUTCOME and call.is_settled:
            return self._recorded_answer(span, call, restore)
        self._endings.give(call)
        if outcome is not _NO_OUTCOME and outcome is not RERUN:
            self._cover(span, call)
            return self._answer_from_outcome(span, outcome, call, restore)
        if call.outcome is Outcome.IN_DOUBT:
            return self._in_doubt(span, call, restore, None, again=outcome is RERUN)
        return self._live(span, again=call)

    def _unchecked(
        self, span: ObservedSpan, call: RecordedCall, restore: ResponseRestorer | None
    ) -> ReplayAnswer | None:
        """The record has a call at this place, and nobody can tell whether it asked the same."""
        outcome = self._outcome_of(span, call)
        if outcome is not _NO_OUTCOME and outcome is not RERUN:
            return self._answer_from_outcome(span, outcome, call, restore)
        return self._in_doubt(span, call, restore, "its arguments are not recorded", again=outcome is RERUN)

    def _outcome_of(self, span: ObservedSpan, call: RecordedCall) -> Any:
        """What a person has said comes of it, once; _NO_OUTCOME: nobody has."""
        if call.span.span_id == self._cut:
            span.attributes[names.FORK_CUT] = True
        return self.policy.outcomes.pop(call.span.span_id, _NO_OUTCOME)

    def _goes_on_as(self, call: RecordedCall) -> bool:
        """Whether the call that is made now is this one, which has not ended: the end that it comes to is its."""
        return self._same_run and is_open(call) and call.span.attributes.get(names.RUN_ID) == self._run_id

    def _policy_for(self, call: RecordedCall) -> Policy:
        """A fork that is resumed has another one for calls that it shares with its parent."""
        shared = self.policy.shared
        return self.policy if shared is None or call.span.attributes.get(names.RUN_ID) == self._run_id else shared

    def _recorded_answer(
        self, span: ObservedSpan, call: RecordedCall, restore: ResponseRestorer | None
    ) -> ReplayAnswer | None:
        try:
            answer = answer_from_record(self.record, call, restore)
        except CannotRestore as error:
            self._endings.give(call)
            return self._in_doubt(span, call, restore, str(error))
        self._cover(span, call)
        with self._mutex:
            self.report.answered += 1
        self._report_changed_code(span, call)
        if answer.items is not None:
            self._endings.give(call)  # its values are read over time
        else:
            answer = replace(answer, turn=EndingTurn(self._endings, call))
        if answer.items is not None and answer.ending is not None:
            ending = answer.ending
            return replace(answer, read_on=lambda: self._read_on_or_stop(span, call, ending))
        return answer

    def _read_on_or_stop(self, span: ObservedSpan, call: RecordedCall, ending: BaseException) -> bool:
        goes_on = self._read_on(span, call)
        if not goes_on and isinstance(ending, RunStopped):
            self._stop(ending)
        return goes_on

    def _read_on(self, span: ObservedSpan, call: RecordedCall) -> bool:
        """Whether a generator is executed again whose reader had stopped reading, and reads on now.

        Where the reader itself has not completed, an error in its loop may have stopped it: that was no decision."""
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped)) from self._stopped
        if self._completed_run is not None or self._nesting.completed_around(span):
            return False
        harmless = call.kind in REPEATABLE_KINDS or bool(span.attributes.get(names.IDEMPOTENT))
        if not harmless and self._policy_for(call).in_doubt != "rerun":
            return False
        if span.kind == "tool" and self.policy.tools != "live":
            return False
        self._live(span, again=call)
        return True

    def _cover(self, span: ObservedSpan, call: RecordedCall) -> None:
        if inner := self._nesting.inside(call):
            self._answerable.mark_covered([each for each in inner if each.can_answer], span.flow)

    def _report_changed_code(self, span: ObservedSpan, call: RecordedCall) -> None:
        """The same question to another function may have another answer: that is for a person to judge."""
        code, then = span.attributes.get(names.CODE), call.span.attributes.get(names.CODE)
        if code == then or code is None or then is None:
            return
        with self._mutex:
            if span.name in self.report.changed_code:
                return
            self.report.changed_code.append(span.name)
        log.warning("the code of %s has changed since it was recorded: its recorded results are given", span.name)

    def _in_doubt(
        self,
        span: ObservedSpan,
        call: RecordedCall,
        restore: ResponseRestorer | None,
        why: str | None,
        *,
        again: bool = False,
    ) -> ReplayAnswer | None:
        if self._completed_run is not None:
            what = (
                f"{call.call_path} was executed, and what came of it cannot be given back ({why or 'it was cancelled'})"
            )
            raise InDoubt(completed_run_sentence(self._completed_run, what, call.span.span_id))
        with self._mutex:
            self.report.in_doubt.append(call.call_path)
        if call.kind not in REPEATABLE_KINDS and not span.attributes.get(names.IDEMPOTENT) and not again:
            how = self._policy_for(call).in_doubt
            if callable(how) and (outcome := _decision(how, call)) is not RERUN:
                self._cover(span, call)
                return self._answer_from_outcome(span, outcome, call, restore)
            if how == "raise":
                raise InDoubt(in_doubt_sentence(call, self._arguments(span), why))
        if why is not None:
            warn_once(f"again {call.call_path} {why}", f"{call.call_path} is executed again: {why}")
        if self._goes_on_as(call):
            adopt_identity(span, call)
        return self._live(span, again=call)

    def _diverged(
        self, span: ObservedSpan, how: str, expected: RecordedCall, restore: ResponseRestorer | None
    ) -> ReplayAnswer | None:
        report = self._report_divergence(span, how, expected)
        policy = self._policy_for(expected).on_divergence
        if policy == "raise":
            raise ReplayDiverged(f"{report}\n{DIVERGENCE_OPTIONS}")
        if callable(policy) and (outcome := _decision(policy, report)) is not None:
            return self._answer_from_outcome(span, outcome, expected, restore)
        log.warning("from here on this branch runs live: %s", report)
        if span.enclosing is not None:
            span.enclosing.live = True
        else:
            self._live_flows.add(span.flow.name if span.flow is not None else "")
        self._answerable.stop_expecting(
            span.enclosing.path if span.enclosing is not None else None, span.flow, expected
        )
        answer = self._live_unless_completed(span, restore)
        self._tell_divergence(span, how, report)
        return answer

    def _report_divergence(self, span: ObservedSpan, how: str, expected: RecordedCall) -> Divergence:
        report = describe_divergence(how, span.attributes, expected, RecordWithPendingCall(self.record, span.frames))
        self._refuse(str(report), expected if expected.can_answer else None)
        self._endings.give_up()
        with self._mutex:
            self.report.divergences.append(report)
        return report

    @staticmethod
    def _tell_divergence(span: ObservedSpan, how: str, report: Divergence) -> None:
        said = {names.DIVERGENCE_HOW: how, names.DIVERGENCE_CALL: report.call_path}
        log_event(names.DIVERGED, said, {names.DIVERGENCE_REF: {"how": how, "report": str(report)}}, span)

    def _live_unless_completed(self, span: ObservedSpan, restore: ResponseRestorer | None) -> ReplayAnswer | None:
        """Where the run has diverged: a tool that had completed with the same arguments is neither executed again nor
        answered from before the change, unless that was asked for."""
        if span.kind == "tool" and self.policy.tools != "live":
            return self._live(span)
        while (found := self._recognised(span)) is not None:
            call = found.call
            if found.how != "same":
                self._stop_before(span, found)
            if not self._answerable.take(call):
                continue
            if found.how != "same":
                return self._live(span)
            outcome = self._outcome_of(span, call)
            if outcome is not _NO_OUTCOME and outcome is not RERUN:
                return self._answer_from_outcome(span, outcome, call, restore)
            if not call.is_settled:
                return self._in_doubt(span, call, restore, None, again=outcome is RERUN)
            completed = "rerun" if outcome is RERUN else self._policy_for(call).completed
            if span.attributes.get(names.IDEMPOTENT) or completed == "rerun":
                return self._live(span, again=call)
            if completed == "reuse":
                return self._recorded_answer(span, call, restore)
            with self._mutex:
                self.report.in_doubt.append(call.call_path)
            raise InDoubt(completed_sentence(call, self._arguments(span)))
        return self._live(span)

    def _recognised(self, span: ObservedSpan) -> Recognised | None:
        """What the record has of a call that a program makes which has left the record; None: nothing, or it does no
        harm to make it again."""
        attributes = span.attributes
        found = self._answerable.recognise(
            call_path_of(attributes), span.kind, request_refs_of(attributes), arguments_of(attributes)
        )
        if found is None or (found.how == "same" and span.kind in REPEATABLE_KINDS):
            return None
        is_new = not self.policy.new.isdisjoint({span.path, span.path.rpartition("/")[2]})
        return None if is_new and found.how != "same" else found

    def _stop_before(self, span: ObservedSpan, found: Recognised) -> None:
        """Raises InDoubt before a call that the record has under another kind or name, unless it may be executed."""
        call, policy = found.call, self._policy_for(found.call)
        is_asked_for = (policy.completed if call.is_settled else policy.in_doubt) == "rerun"
        if self.policy.tools == "live" and (is_asked_for or bool(span.attributes.get(names.IDEMPOTENT))):
            return
        with self._mutex:
            self.report.in_doubt.append(call.call_path)
        raise InDoubt(recognised_sentence(call, found.how, span.kind, span.path, self._arguments(span)))

    def _stop_before_other_kind(self, span: ObservedSpan) -> None:
        """Before a step or an agent runs that the record does not have: raises RunStopped if the record has it as a
        call that was answered, so that it would be executed again."""
        if self._is_live(span):
            found = self._recognised(span)
            if found is not None and found.how != "name":
                self._stop_before(span, Recognised(found.call, "kind"))
                self._answerable.take(found.call)
            self._stop_before_former_tool(span)
            return
        call_path = call_path_of(span.attributes)
        expected = self._answerable.of_other_kind(
            call_path, arguments_of(span.attributes), span.flow, is_known=self._enclosing.knows(call_path)
        )
        if expected is not None:
            self._kind_changed(span, expected)
        self._stop_before_former_tool(span)

    def _stop_before_former_tool(self, span: ObservedSpan) -> None:
        """Where no tool may be executed, what was recorded as one is none either under another kind."""
        name = span.path.rpartition("/")[2]
        if self.policy.tools != "live" and span.kind != "tool" and name in self._tool_names:
            raise InDoubt(former_tool_sentence(name, span.kind, self._arguments(span)))

    def _kind_changed(self, span: ObservedSpan, expected: RecordedCall) -> None:
        report = self._report_divergence(span, "kind_changed", expected)
        policy = self._policy_for(expected).on_divergence
        if policy == "raise" or self.policy.tools != "live":
            raise ReplayDiverged(f"{report}\n{DIVERGENCE_OPTIONS}")
        if callable(policy) and _decision(policy, report) is not None:
            raise ReplayDiverged(f"{report}\nA call of this kind cannot be given an outcome")
        if not expected.is_repeatable:
            self._stop_before(span, Recognised(expected, "kind"))
        log.warning("it is executed again: %s", report)
        self._answerable.take(expected)
        self._tell_divergence(span, "kind_changed", report)

    def _live(self, span: ObservedSpan, again: RecordedCall | None = None) -> ReplayAnswer | None:
        """`again`: the recorded call that is executed again, whose key it keeps."""
        tools = self.policy.tools
        if span.kind == "tool" and tools != "live":
            return self._without_executing(span, tools)
        self._stop_before_former_tool(span)
        self._answerable.note_progress()
        with self._mutex:
            self.report.live += 1
        if again is not None:
            span.attributes[names.CALL_KEY] = again.key
        elif names.CALL_KEY in span.attributes:
            span.attributes[names.CALL_KEY] = self._keys.new(call_path_of(span.attributes))
        self._leave_record(span)
        return None

    def _without_executing(self, span: ObservedSpan, tools: Tools) -> ReplayAnswer:
        match self._beyond.match(call_path_of(span.attributes), request_refs_of(span.attributes)):
            case MatchedCall(call) if call.outcome is not Outcome.IN_DOUBT:
                with suppress(CannotRestore):
                    return replace(answer_from_record(self.record, call, None), is_new=True)
            case _:
                pass
        if span.run.replay is not None:
            self._leave_record(span)
        if callable(tools):
            value = _decision(tools, str(span.attributes[names.TOOL_NAME]), self._arguments(span))
            return ReplayAnswer(value=value, is_new=True)
        denied = ToolDenied(
            f"{span.name} was asked for with arguments that the record has no answer to, and tools are denied: "
            "answer it with tools=callback, or let it run with live='all'"
        )
        return ReplayAnswer(error=denied, is_new=True)

    def _answer_from_outcome(
        self, span: ObservedSpan, outcome: Any, call: RecordedCall, restore: ResponseRestorer | None
    ) -> ReplayAnswer:
        if restore is not None and is_edit(outcome, call):
            return self._edited(span, outcome, call)
        self._leave_record(span)
        span.attributes[names.CALL_KEY] = call.key
        if self._goes_on_as(call):
            adopt_identity(span, call)
        try:
            return answer_from_outcome(self.record, outcome, call, restore)
        except CannotRestore as error:
            raise ReplayDiverged(
                f"the outcome set for {call.call_path} cannot be given to the program: {error}"
            ) from error

    def _edited(self, span: ObservedSpan, outcome: Any, call: RecordedCall) -> ReplayAnswer:
        try:
            rule = rule_of(outcome, self.record, call)
        except ReplayError as error:
            raise ReplayDiverged(str(error)) from error
        with self._mutex:
            self._rules = (*self._rules, rule)
        if self._goes_on_as(call):
            adopt_identity(span, call)
        self._live(span, again=call)
        return ReplayAnswer(edit=Edits(self._rules, call.call_path))

    def _leave_record(self, span: ObservedSpan) -> None:
        """Something happens that the record does not have."""
        self._journal_resumed(span)  # first: all that the next attempt tells comes after it
        announce_enclosing(span)

    def _journal_resumed(self, span: ObservedSpan) -> None:
        with self._mutex:
            is_said, self._said_resumed = self._said_resumed, True
        if not is_said:
            while span.enclosing is not None:
                span = span.enclosing
            without = {names.RESUMED_WITHOUT: list(self.missing_orders)} if self.missing_orders else {}
            said = {names.RUN_ATTEMPT: span.run.attempt, names.RESUMED_AFTER: self.after}
            log_event_of(span, names.RESUMED, {**said, **without}, {})

    def _arguments(self, span: ObservedSpan) -> Any:
        ref = arguments_of(span.attributes)
        if ref is None:
            return None
        content = RecordWithPendingCall(self.record, span.frames).content(ContentRef(ref))
        return None if content is None else value_of(content)


def _names_of_tools(calls: Iterable[RecordedCall]) -> frozenset[str]:
    """Names under which the record has tools and nothing else."""
    kinds: dict[str, set[str]] = {}
    for call in calls:
        kinds.setdefault(call.name, set()).add(call.kind)
    return frozenset(name for name, found in kinds.items() if found == {"tool"})


def _decision(function: Callable[..., Any], *about: Any) -> Any:
    """What the user's function says.  It may open files and start commands: nothing is done again by that."""
    with unwatched():
        return function(*about)


def _ignore(stopped: RunStopped) -> None:
    """Nobody has to hear of it."""


def _only_said(logs: Sequence[LogEvent], keys: Mapping[str, str]) -> dict[str, LogEvent]:
    """By their keys, calls that the crash has left no more of than what was said in them."""
    return {
        str(entry.attributes[names.CALL_KEY]): entry
        for entry in logs
        if entry.span_id not in keys and names.CALL_KEY in entry.attributes
    }


def _logs_with_calls(logs: Sequence[LogEvent], keys: Mapping[str, str]) -> list[tuple[str, str, int]]:
    """Name, key of the call, and number of each log event. Calls that run again may have ids of their own, so what was
    recorded in them is found by the call's key; `keys` has these by span id."""
    return [(entry.name, str(_identity_of(entry) or keys.get(entry.span_id or "")), order_of(entry)) for entry in logs]


def _identity_of(entry: LogEvent) -> Any:
    return entry.attributes.get(names.PROMISE_KEY) or entry.attributes.get(names.CALL_KEY)
