"""Answers the calls of a running program from a record until the record ends; after that, calls are executed.

Implements `calls.replay.Replay`. `matching` finds the recorded call; this module acts on the result: it returns the
recorded answer, executes the call under its recorded identity, reports a divergence, or raises an error.
"""

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from playhead.api.log_events import log_event, log_event_of
from playhead.calls.flow import in_event_loop, is_only_task
from playhead.calls.lifecycle import announce_enclosing, announce_replayed
from playhead.calls.replay import ReplayAnswer, ResponseRestorer
from playhead.calls.span import ObservedSpan
from playhead.errors import CannotRestore, InDoubt, ReplayDiverged, ReplayError, RunStopped, ToolDenied
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.guard import warn_once
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead.replaying.cut_arguments import CutArguments
from playhead.replaying.divergence import Divergence, describe_divergence
from playhead.replaying.editing import Edits, is_edit, recorded_rules, rule_of
from playhead.replaying.effects import unwatched
from playhead.replaying.enclosing import FOREVER, CallNesting, EnclosingCalls
from playhead.replaying.ending_order import EndingOrder, OrderedAnswerSlot
from playhead.replaying.matching import (
    CallKeys,
    Diverged,
    DivergenceCertainty,
    Match,
    MatchedCall,
    Matcher,
    Recognised,
    RecordExhausted,
    is_inside_live_call,
    is_shared_with_parent,
    lookup_key,
    use_recorded_ids,
)
from playhead.replaying.policy import (
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
from playhead.replaying.promises import promise_answers, promises_opened
from playhead.replaying.record import Record, RecordWithPendingCall
from playhead.replaying.recorded_calls import (
    REPEATABLE_KINDS,
    Outcome,
    RecordedCall,
    arguments_of,
    call_path_of,
    request_refs_of,
)
from playhead.replaying.restoring import answer_from_outcome, answer_from_record
from playhead.replaying.starting import order_of
from playhead.wire.operations.promises import PromiseAnswer

log = logging.getLogger("playhead")

_NO_OUTCOME: Any = object()
# More entries only mean that another program is running.
_MAX_MISSED = 20
_MAX_REPEATED = 50


class CallReplayer:
    """Answers the calls of a resumed or forked run from a record. Safe for threads and tasks."""

    after: int = 0
    """Number of the latest attempt in the record."""
    missing_orders: Sequence[int] = ()
    """Order numbers that the record lacks: see `matching.missing_orders`."""

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
        """`calls`: recorded calls that can answer; `after_fork`: for a fork, the parent's calls after the cut, which
        only answer tools that must not be executed. `run_id`: the run that goes on. `cut`: span id of the call at which
        the fork parts, if the fork has not made it yet.

        `fork_order`: order of the call at which a fork parts; earlier log events are shared with the parent.
        `completed_run`: id of a completed run, which only returns its recorded results; None: the run has not
        completed.
        """
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
        self._parent_tools = Matcher([call for call in after_fork if call.kind == "tool"])
        self._tool_names = _names_of_tools([*calls, *after_fork])
        self._enclosing = EnclosingCalls(calls, self._answerable.recorded_paths, same_run=same_run)
        self._nesting = CallNesting(calls, FOREVER if same_run else fork_order)
        self._endings = EndingOrder(self._nesting.outermost([call for call in calls if call.can_answer]))
        self._last = next((call for call in reversed(calls) if call.can_answer), None)
        keys = {span.span_id: str(span.attributes.get(names.CALL_KEY)) for span in record.spans}
        shared = [entry for entry in record.logs if same_run or is_shared_with_parent(entry, fork_order)]
        self._recorded_logs = _logs_with_calls(shared, keys)
        self._logs = Counter(log[:2] for log in self._recorded_logs)
        self._calls = calls
        self._promises = promise_answers(record, shared)
        self._promise_ids = promises_opened(shared) if same_run else {}
        self._calls_known_from_logs = _calls_known_from_logs(shared, keys) if same_run else {}
        self._keys = CallKeys([*(call.key for call in calls), *self._calls_known_from_logs])
        self._said_resumed = not same_run
        self._rules = recorded_rules(record, calls)
        self._stopped: RunStopped | None = None
        self.on_stopped: Callable[[RunStopped], object] = _ignore
        """Called once, with the exception that stopped the run."""
        self._live_flows: set[str] = set()
        """Names of the flows in which the program has left the record, for calls without an enclosing call."""
        self._has_ended = False
        self._mutex = ForkSafeLock()

    # --- calls.replay.Replay -----------------------------------------------------------------------------------------

    @property
    def is_stopped(self) -> bool:
        """Whether a call has raised RunStopped."""
        return self._stopped is not None

    @property
    def stopped(self) -> RunStopped | None:
        """The exception that stopped the run; None: the run is not stopped."""
        return self._stopped

    @property
    def progress(self) -> int:
        """A number that changes with each step of a branch."""
        return self._answerable.progress

    def is_undecided(self, span: ObservedSpan) -> bool:
        """Whether the result of matching depends on calls that other branches have not made yet."""
        if self._stopped is not None or not self._may_compare(span):
            return False
        self._compare_what_was_read(span)
        return self._answerable.is_undecided(*lookup_key(span))

    def answer(
        self, span: ObservedSpan, restore: ResponseRestorer | None, *, waited: bool = False
    ) -> ReplayAnswer | None:
        """Returns the recorded answer; None: execute the call. Raises RunStopped. After the first RunStopped every call
        raises it: a program that catches it as an error of a tool must not go on either."""
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped)) from self._stopped
        with self._stopping():
            answer = self._answer(span, restore, waited=waited)
        if answer is None and self._rules and restore is not None:
            return ReplayAnswer(edit=Edits(self._rules))  # applies if its messages begin like an edited call's
        return answer

    @contextmanager
    def _stopping(self) -> Generator[None]:
        try:
            yield
        except RunStopped as stopped:
            self._stop(stopped)
            self._endings.abandon()
            raise

    def _stop(self, stopped: RunStopped) -> None:
        is_first, self._stopped = self._stopped is None, stopped
        if is_first:
            self.on_stopped(stopped)

    def answer_in_later_run(self, span: ObservedSpan) -> ReplayAnswer | None:
        """Answers a tool call of another run that began later in the same `resume()` block or process: see
        `calls.replay.Replay`."""
        if span.kind != "tool":
            return None
        if self.policy.tools != "live":
            return self._without_executing(span, self.policy.tools)
        if self._stopped is None and not self._has_ended and not self.report.divergences:
            return None  # this run still follows its record: the other one is independent
        while (recognised := self._recognised(span)) is not None and recognised.how == "same":
            if self._stopped is not None:
                raise type(self._stopped)(str(self._stopped)) from self._stopped
            policy, call = self._policy_for(recognised.call), recognised.call
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
        """See `calls.replay.Replay`."""
        call_path, request_refs, _ = lookup_key(span)
        call_paths = self._answerable.recorded_paths(call_path)
        if any((recorded_path, request_refs) in self._questions for recorded_path in call_paths):
            return True
        return bool(self._rules) and any(path in call_paths for path, _ in self._questions)

    def enter_enclosing(self, span: ObservedSpan) -> None:
        """Gives an enclosing call, which is executed again, its recorded identity, and decides whether it is
        announced."""
        is_root = names.RUN_ROOT in span.attributes
        entry = self._calls_known_from_logs.pop(str(span.attributes.get(names.CALL_KEY)), None)
        call = self._recorded_enclosing(span, is_known=entry is not None or is_root)
        if call is not None and span.flow is not None and any(call.request_refs):
            self._answerable.continue_flow(span.flow, call, surely=self._enclosing.is_unlike_others(call))
        self._answerable.note_progress()
        if entry is not None and entry.span_id is not None and not self._is_live(span):
            span.span_id = int(entry.span_id, 16)
        elif call is not None:
            if not is_open(call):
                span.recorded = call
            span.attributes[names.CALL_KEY] = call.key
            if self._goes_on_as(call):
                use_recorded_ids(span, call)
            elif not is_root or (self._same_run and call.outcome is Outcome.COMPLETED):
                span.is_replayed = True
        elif self._same_run and names.CALL_KEY in span.attributes:
            span.attributes[names.CALL_KEY] = self._keys.new(call_path_of(span.attributes))
        if self._completed_run is not None or self._may_stop_before_it(span, call):
            span.is_replayed = True
        elif not span.is_replayed:
            self._journal_resumed(span)

    def _recorded_enclosing(self, span: ObservedSpan, *, is_known: bool) -> RecordedCall | None:
        """Returns the recorded call that this enclosing call repeats, or None. Unless the call `is_known` by other
        means, raises RunStopped if the record has it under another kind."""
        call = None if self._is_live(span) else self._enclosing.match(span)
        if call is None and not is_known:
            with self._stopping():
                self._stop_before_other_kind(span)
        return call

    def _may_stop_before_it(self, span: ObservedSpan, call: RecordedCall | None) -> bool:
        """Whether this attempt has recorded nothing yet, so that the run's root, or a call that the record lacks, stays
        silent: if the attempt is stopped next, the run's record must be unchanged."""
        if self._said_resumed or span.announced:
            return False
        return names.RUN_ROOT in span.attributes or call is None

    def has_log_event(self, event: str, span: ObservedSpan, identity: str | None = None) -> bool:
        """Whether the record has an unused log event of this name and call, and uses it up. False for calls that are
        executed because the record lacks them. If no event is left, announces the attempt and the call."""
        if self._completed_run is not None:
            return True
        if identity is None and (self._is_live(span) or (span.can_be_answered_from_record and not span.announced)):
            return False
        key = (event, identity or str(span.attributes.get(names.CALL_KEY)))
        with self._mutex:
            remaining = self._logs[key]
            self._logs[key] = remaining - 1
        if remaining <= 0:
            self._journal_resumed(span)
            announce_replayed(span)
        return remaining > 0

    def in_forked_child(self) -> "CallReplayer | None":
        """Returns the `Replay` for a forked child; None: its calls are executed. Nothing is executed if this run was
        stopped or had completed, and no tools where they are denied."""
        if self._stopped is not None or self._completed_run is not None:
            return self
        if self.policy.tools == "live":
            return None
        replay = CallReplayer(self.record, [], self.policy, run_id=self._run_id, same_run=False, after_fork=[])
        replay._parent_tools, replay._tool_names = self._parent_tools, self._tool_names
        return replay

    @property
    def is_fork(self) -> bool:
        """See `calls.replay.Replay`."""
        return not self._same_run

    def recorded_promise(self, key: str) -> str | None:
        """Returns the id of the promise that this run opened under the key, whatever ids a framework uses this time;
        None: it opened none."""
        return self._promise_ids.get(key)

    def promise_answer(self, key: str) -> PromiseAnswer | None:
        """Returns the recorded answer to the promise; None: there is none. A fork only has answers from before its
        cut."""
        return self._promises.get(key)

    @property
    def had_completed(self) -> bool:
        """See `calls.replay.Replay`."""
        return self._completed_run is not None

    def refuse_promise(self, what: str) -> None:
        """Raises ReplayDiverged if the run has completed: it must not wait for a new answer."""
        with self._stopping():
            self._refuse(f"it waits for {what!r}, which is not in its record")

    def start_after(self, order: int) -> None:
        """Continues from a checkpoint: calls that ended before this order number, and log events up to it, are not
        expected again."""
        past = [call for call in self._calls if call.ended is not None and call.ended[0] < order]
        self._enclosing.forget(past)
        self._answerable.mark_answered_inside([call for call in past if call.can_answer], None)
        with self._mutex:
            self._logs = Counter(log[:2] for log in self._recorded_logs if log[2] > order)

    def mark_parent_tools_used(self, calls: Sequence[RecordedCall]) -> None:
        """Marks recorded tools of the parent that have already answered calls of this resumed fork, so that each
        answers once. `calls`: the fork's own calls."""
        for call in calls:
            if call.kind == "tool":
                self._parent_tools.match(call.call_path, call.request_refs)

    def on_unrecorded_end(self, span: ObservedSpan) -> None:
        """Announces a silent call of a resumed run before it ends, if it is the root or the record lacks it. Does
        nothing if the run had completed."""
        is_new = names.RUN_ROOT in span.attributes or span.recorded is None
        if self._same_run and self._completed_run is None and is_new:
            self._journal_resumed(span)
            announce_replayed(span)

    def run_ended(self, root: ObservedSpan) -> None:
        """Called when the program ends. Logs and records which completed calls the program has not made again."""
        self._has_ended = True
        if self._completed_run is not None or not self._same_run or not root.recorder.content:
            return
        missed = [call for call in self._answerable.unmatched_expected() if call.is_settled]
        for call in missed[:_MAX_MISSED]:
            report = (
                f"{call.call_path} had completed, and the program has not called it again: was it removed, or changed?"
            )
            log.warning("%s", report)
            attributes = {names.DIVERGENCE_HOW: "not_called_again", names.DIVERGENCE_CALL: call.key}
            log_event_of(
                root, names.DIVERGED, attributes, {names.DIVERGENCE_REF: {"how": "not_called_again", "report": report}}
            )
        if len(missed) > _MAX_MISSED:
            log.warning("%d more completed calls were not called again", len(missed) - _MAX_MISSED)

    # --- effects.EffectWatcher ----------------------------------------------------------------------------------------

    def repeats(self, span: ObservedSpan | None) -> bool:
        """Whether the record goes on after this call, so that the program was here before."""
        if self._stopped is not None or self._has_ended or (span is not None and self._is_live(span)):
            return False
        return self._completed_run is not None or self._answerable.goes_on_after(
            span.flow if span is not None else None
        )

    def before_command(self, command: str) -> None:
        """Reports a command that is started again. Raises InDoubt instead if the policy's `unrecorded` is "raise".

        By default the command is started: a resumed program needs the servers that it talks to, which are commands,
        too.
        """
        if self.policy.unrecorded == "raise":
            with self._stopping():
                raise InDoubt(command_sentence(command))
        self._repeat(f"started again: {command}")

    def before_change(self, how: str, path: str) -> None:
        """Reports a file that is changed again, once for each file."""
        self._repeat(f"{how} again: {path}")

    def _repeat(self, effect: str) -> None:
        with self._mutex:
            if effect in self.report.repeated or len(self.report.repeated) > _MAX_REPEATED:
                return
            self.report.repeated.append(effect)
            is_last = len(self.report.repeated) > _MAX_REPEATED
        log.warning(
            "%s", "more is done again, and is not named" if is_last else f"{effect} (no recorded call does this)"
        )

    def unmatched_calls(self) -> list[RecordedCall]:
        """Recorded calls that were not made again, without those inside a call that was answered."""
        return self._answerable.unmatched()

    # --- what a verdict means -----------------------------------------------------------------------------------------

    def _compare_what_was_read(self, span: ObservedSpan) -> None:
        """Replaces the refs of the call's arguments by recorded ones, if both are equal except for parts that were not
        read in time."""
        call_paths = self._answerable.recorded_paths(call_path_of(span.attributes))
        if self._cut_arguments.concern(span, call_paths):
            unmatched = self._answerable.left_at(call_paths)
            self._cut_arguments.use_recorded_refs(span, unmatched, RecordWithPendingCall(self.record, span.frames))

    def _may_compare(self, span: ObservedSpan) -> bool:
        return span.recorder.content and not self._is_live(span)

    def _is_live(self, span: ObservedSpan) -> bool:
        """Whether the program has left the record at this place, so that the call is not answered."""
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
            case RecordExhausted():
                unchecked = self._answerable.match_by_path(call_path_of(span.attributes), span.flow)
                if unchecked is not None:
                    return self._unchecked(span, unchecked, restore)
                self._refuse(f"{span.attributes.get(names.CALL_KEY)} is not in its record")
                # If the program has left the record elsewhere, calls that are not expected any more may be made here.
                return self._live_unless_completed(span, restore) if self._answerable.has_given_up else self._live(span)

    def _verdict(self, span: ObservedSpan, *, waited: bool) -> Match:
        """Matches the call. Waits for a limited time if another branch may still make the remaining recorded calls,
        unless the wait would block an event loop."""
        waits = not (waited or in_event_loop())
        verdict = self._answerable.match(
            *lookup_key(span), branch_wait_seconds=self.branch_wait_seconds if waits else 0
        )
        if (
            isinstance(verdict, Diverged)
            and not (waited or waits)
            and verdict.certainty is DivergenceCertainty.POSSIBLE
        ):
            # A synchronous call in a task: no other branch can run while it waits.
            verdict = verdict if is_only_task() else RecordExhausted()
        if isinstance(verdict, RecordExhausted) and any(request_refs_of(span.attributes)):
            around = self._nesting.completed_parent(span)
            return Diverged("inserted", around) if around is not None else verdict
        return verdict

    def _refuse(self, reason: str, call: RecordedCall | None = None) -> None:
        """Raises ReplayDiverged if the run has completed. `call`: the suggested fork point; None: the run's last
        call."""
        if self._completed_run is not None:
            fork_point = call or self._last
            raise ReplayDiverged(
                completed_run_sentence(self._completed_run, reason, fork_point.span.span_id if fork_point else "SEQ")
            )

    def _found(self, span: ObservedSpan, call: RecordedCall, restore: ResponseRestorer | None) -> ReplayAnswer | None:
        outcome = self._outcome_of(span, call)
        if outcome is _NO_OUTCOME and call.is_settled:
            return self._recorded_answer(span, call, restore)
        self._endings.deliver(call)
        if outcome is not _NO_OUTCOME and outcome is not RERUN:
            self._mark_inner_calls(span, call)
            return self._answer_from_outcome(span, outcome, call, restore)
        if call.outcome is Outcome.IN_DOUBT:
            return self._in_doubt(span, call, restore, None, again=outcome is RERUN)
        return self._live(span, again=call)

    def _unchecked(
        self, span: ObservedSpan, call: RecordedCall, restore: ResponseRestorer | None
    ) -> ReplayAnswer | None:
        """Handles a call whose recorded counterpart has no recorded arguments, so that the two cannot be compared."""
        outcome = self._outcome_of(span, call)
        if outcome is not _NO_OUTCOME and outcome is not RERUN:
            return self._answer_from_outcome(span, outcome, call, restore)
        return self._in_doubt(span, call, restore, "its arguments are not recorded", again=outcome is RERUN)

    def _outcome_of(self, span: ObservedSpan, call: RecordedCall) -> Any:
        """Returns the outcome that a person set for the call, once; else _NO_OUTCOME."""
        if call.span.span_id == self._cut:
            span.attributes[names.FORK_CUT] = True
        return self.policy.outcomes.pop(call.span.span_id, _NO_OUTCOME)

    def _goes_on_as(self, call: RecordedCall) -> bool:
        """Whether the running call continues this recorded call, which has not ended: its end completes the recorded
        call."""
        return self._same_run and is_open(call) and call.span.attributes.get(names.RUN_ID) == self._run_id

    def _policy_for(self, call: RecordedCall) -> Policy:
        """The policy for the call. A resumed fork has another one for calls that it shares with its parent."""
        shared = self.policy.shared
        return self.policy if shared is None or call.span.attributes.get(names.RUN_ID) == self._run_id else shared

    def _recorded_answer(
        self, span: ObservedSpan, call: RecordedCall, restore: ResponseRestorer | None
    ) -> ReplayAnswer | None:
        try:
            answer = answer_from_record(self.record, call, restore)
        except CannotRestore as error:
            self._endings.deliver(call)
            return self._in_doubt(span, call, restore, str(error))
        self._mark_inner_calls(span, call)
        with self._mutex:
            self.report.answered += 1
        self._report_changed_code(span, call)
        if answer.items is not None:
            self._endings.deliver(call)  # the program reads its values over time
        else:
            answer = replace(answer, slot=OrderedAnswerSlot(self._endings, call))
        if answer.items is not None and answer.ending is not None:
            ending = answer.ending
            return replace(answer, continue_live=lambda: self._resume_or_stop(span, call, ending))
        return answer

    def _resume_or_stop(self, span: ObservedSpan, call: RecordedCall, ending: BaseException) -> bool:
        goes_on = self._resume_generator(span, call)
        if not goes_on and isinstance(ending, RunStopped):
            self._stop(ending)
        return goes_on

    def _resume_generator(self, span: ObservedSpan, call: RecordedCall) -> bool:
        """Whether to run a generator again whose consumer stopped early in the recording and now asks for more items.

        False if an enclosing call completed in the record: the consumer then stopped on purpose. Otherwise an error in
        its loop may have stopped it. Raises RunStopped if the run is stopped.
        """
        if self._stopped is not None:
            raise type(self._stopped)(str(self._stopped)) from self._stopped
        if self._completed_run is not None or self._nesting.completed_parent(span):
            return False
        harmless = call.kind in REPEATABLE_KINDS or bool(span.attributes.get(names.IDEMPOTENT))
        if not harmless and self._policy_for(call).in_doubt != "rerun":
            return False
        if span.kind == "tool" and self.policy.tools != "live":
            return False
        self._live(span, again=call)
        return True

    def _mark_inner_calls(self, span: ObservedSpan, call: RecordedCall) -> None:
        if inner := self._nesting.inside(call):
            self._answerable.mark_answered_inside(
                [inner_call for inner_call in inner if inner_call.can_answer], span.flow
            )

    def _report_changed_code(self, span: ObservedSpan, call: RecordedCall) -> None:
        """Reports and logs, once for each function, that its code has changed since the recording. Whether its recorded
        result still holds is for a person to judge."""
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
            reason = (
                f"{call.call_path} was executed, and what came of it cannot be given back ({why or 'it was cancelled'})"
            )
            raise InDoubt(completed_run_sentence(self._completed_run, reason, call.span.span_id))
        with self._mutex:
            self.report.in_doubt.append(call.call_path)
        if call.kind not in REPEATABLE_KINDS and not span.attributes.get(names.IDEMPOTENT) and not again:
            how = self._policy_for(call).in_doubt
            if callable(how) and (outcome := _decision(how, call)) is not RERUN:
                self._mark_inner_calls(span, call)
                return self._answer_from_outcome(span, outcome, call, restore)
            if how == "raise":
                raise InDoubt(in_doubt_sentence(call, self._arguments(span), why))
        if why is not None:
            warn_once(f"again {call.call_path} {why}", f"{call.call_path} is executed again: {why}")
        if self._goes_on_as(call):
            use_recorded_ids(span, call)
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
        self._answerable.drop_expectations(
            span.enclosing.path if span.enclosing is not None else None, span.flow, expected
        )
        answer = self._live_unless_completed(span, restore)
        self._tell_divergence(span, how, report)
        return answer

    def _report_divergence(self, span: ObservedSpan, how: str, expected: RecordedCall) -> Divergence:
        report = describe_divergence(how, span.attributes, expected, RecordWithPendingCall(self.record, span.frames))
        self._refuse(str(report), expected if expected.can_answer else None)
        self._endings.abandon()
        with self._mutex:
            self.report.divergences.append(report)
        return report

    @staticmethod
    def _tell_divergence(span: ObservedSpan, how: str, report: Divergence) -> None:
        attributes = {names.DIVERGENCE_HOW: how, names.DIVERGENCE_CALL: report.call_path}
        log_event(names.DIVERGED, attributes, {names.DIVERGENCE_REF: {"how": how, "report": str(report)}}, span)

    def _live_unless_completed(self, span: ObservedSpan, restore: ResponseRestorer | None) -> ReplayAnswer | None:
        """Handles a call after the run has diverged. A tool that had completed with the same arguments is neither
        executed again nor answered from the record, unless the policy says so."""
        if span.kind == "tool" and self.policy.tools != "live":
            return self._live(span)
        while (recognised := self._recognised(span)) is not None:
            call = recognised.call
            if recognised.how != "same":
                self._stop_before(span, recognised)
            if not self._answerable.take(call):
                continue
            if recognised.how != "same":
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
        """Returns the recorded call that is repeated by a call after a divergence; None: there is none, or repeating it
        does no harm."""
        attributes = span.attributes
        recognised = self._answerable.recognise(
            call_path_of(attributes), span.kind, request_refs_of(attributes), arguments_of(attributes)
        )
        if recognised is None or (recognised.how == "same" and span.kind in REPEATABLE_KINDS):
            return None
        is_new = not self.policy.new.isdisjoint({span.path, span.path.rpartition("/")[2]})
        return None if is_new and recognised.how != "same" else recognised

    def _stop_before(self, span: ObservedSpan, recognised: Recognised) -> None:
        """Raises InDoubt before a call that the record has under another kind or name, unless it may be executed."""
        call, policy = recognised.call, self._policy_for(recognised.call)
        is_asked_for = (policy.completed if call.is_settled else policy.in_doubt) == "rerun"
        if self.policy.tools == "live" and (is_asked_for or bool(span.attributes.get(names.IDEMPOTENT))):
            return
        with self._mutex:
            self.report.in_doubt.append(call.call_path)
        raise InDoubt(recognised_sentence(call, recognised.how, span.kind, span.path, self._arguments(span)))

    def _stop_before_other_kind(self, span: ObservedSpan) -> None:
        """Called before a step or an agent runs that the record lacks. Raises RunStopped if the record has it as a call
        that was answered, because it would be executed again."""
        if self._is_live(span):
            recognised = self._recognised(span)
            if recognised is not None and recognised.how != "name":
                self._stop_before(span, Recognised(recognised.call, "kind"))
                self._answerable.take(recognised.call)
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
        """Raises InDoubt where no tool may be executed and the function was recorded as a tool, now under another
        kind."""
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
        """Executes the call (returns None), or answers a tool that must not be executed. `again`: the recorded call
        that is executed again, whose key is kept."""
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
        self._go_live(span)
        return None

    def _without_executing(self, span: ObservedSpan, tools: Tools) -> ReplayAnswer:
        match self._parent_tools.match(call_path_of(span.attributes), request_refs_of(span.attributes)):
            case MatchedCall(call) if call.outcome is not Outcome.IN_DOUBT:
                with suppress(CannotRestore):
                    return replace(answer_from_record(self.record, call, None), is_new=True)
            case _:
                pass
        if span.run.replay is not None:
            self._go_live(span)
        if callable(tools):
            value = _decision(tools, str(span.attributes[names.TOOL_NAME]), self._arguments(span))
            return ReplayAnswer(value=value, is_new=True)
        denied = ToolDenied(
            f"{span.name} was asked for with arguments that the record has no answer to, and tools are denied: "
            "answer it with tools=callback, or let it run with live='all'"
        )
        return ReplayAnswer(error=denied, is_new=True)

    def _answer_from_outcome(
        self, span: ObservedSpan, outcome: object, call: RecordedCall, restore: ResponseRestorer | None
    ) -> ReplayAnswer:
        if restore is not None and is_edit(outcome, call):
            return self._edited(span, outcome, call)
        self._go_live(span)
        span.attributes[names.CALL_KEY] = call.key
        if self._goes_on_as(call):
            use_recorded_ids(span, call)
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
            use_recorded_ids(span, call)
        self._live(span, again=call)
        return ReplayAnswer(edit=Edits(self._rules, call.call_path))

    def _go_live(self, span: ObservedSpan) -> None:
        """Called before something happens that the record lacks: announces the attempt and the enclosing calls."""
        self._journal_resumed(span)  # first, so that all that this attempt records comes after it
        announce_enclosing(span)

    def _journal_resumed(self, span: ObservedSpan) -> None:
        with self._mutex:
            is_said, self._said_resumed = self._said_resumed, True
        if not is_said:
            while span.enclosing is not None:
                span = span.enclosing
            without = {names.RESUMED_WITHOUT: list(self.missing_orders)} if self.missing_orders else {}
            attributes = {names.RUN_ATTEMPT: span.run.attempt, names.RESUMED_AFTER: self.after}
            log_event_of(span, names.RESUMED, {**attributes, **without}, {})

    def _arguments(self, span: ObservedSpan) -> Any:
        ref = arguments_of(span.attributes)
        if ref is None:
            return None
        content = RecordWithPendingCall(self.record, span.frames).content(ContentRef(ref))
        return None if content is None else value_of(content)


def _names_of_tools(calls: Iterable[RecordedCall]) -> frozenset[str]:
    """Names that the record has only for tools."""
    kinds: dict[str, set[str]] = {}
    for call in calls:
        kinds.setdefault(call.name, set()).add(call.kind)
    return frozenset(name for name, name_kinds in kinds.items() if name_kinds == {"tool"})


def _decision(function: Callable[..., Any], *about: object) -> Any:
    """Returns the result of a function of the user. Files that it opens and commands that it starts are not
    reported."""
    with unwatched():
        return function(*about)


def _ignore(stopped: RunStopped) -> None:
    """Does nothing."""


def _calls_known_from_logs(logs: Sequence[LogEvent], keys: Mapping[str, str]) -> dict[str, LogEvent]:
    """Log events of calls of which a crash left nothing else, by call key."""
    return {
        str(entry.attributes[names.CALL_KEY]): entry
        for entry in logs
        if entry.span_id not in keys and names.CALL_KEY in entry.attributes
    }


def _logs_with_calls(logs: Sequence[LogEvent], keys: Mapping[str, str]) -> list[tuple[str, str, int]]:
    """Name, call key and order number of each log event. Calls that run again may have other span ids, so their events
    are found by call key. `keys`: span id → call key."""
    return [(entry.name, str(_identity_of(entry) or keys.get(entry.span_id or "")), order_of(entry)) for entry in logs]


def _identity_of(entry: LogEvent) -> Any:
    return entry.attributes.get(names.PROMISE_KEY) or entry.attributes.get(names.CALL_KEY)
