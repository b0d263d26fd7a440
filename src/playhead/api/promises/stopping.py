"""Stops runs before their end, to be resumed later: runs that wait for a decision, or that a person interrupts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from playhead.api.log_events import log_event_of
from playhead.api.promises.store import PromiseStore, promise_store
from playhead.calls.replay import Replay, ReplayAnswer, ResponseRestorer
from playhead.calls.run import ActiveRun
from playhead.calls.span import ObservedSpan
from playhead.errors import Interrupted, JournalUnusable
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.promises import ANSWERED
from playhead.model.times import parse_time, rfc3339

if TYPE_CHECKING:
    from playhead.wire.operations.promises import Promise, PromiseAnswer

_runs: WeakValueDictionary[str, ActiveRun] = WeakValueDictionary()


class StoppedRun:
    """Replaces the `Replay` of a run that stops: every further call of a model or tool raises, so that code which
    handles the exception as an error cannot continue. Log events and promises are still looked up in `before`, the
    replay until then."""

    branch_wait_seconds = 0.0
    progress = 0
    is_stopped = True

    def __init__(self, stop: Callable[[ObservedSpan], BaseException], before: Replay[ObservedSpan] | None):
        """`stop` returns the exception to raise in a call. `before`: the run's replay so far; None: it had none."""
        self._stop = stop
        self._before = before

    def is_undecided(self, span: ObservedSpan) -> bool:
        """Returns False: every call raises at once."""
        return False

    def answer(
        self, span: ObservedSpan, restore: ResponseRestorer | None, *, waited: bool = False
    ) -> ReplayAnswer | None:
        """Raises the exception that stops the run."""
        raise self._stop(span)

    def answer_in_later_run(self, span: ObservedSpan) -> ReplayAnswer | None:
        """Delegates to `before`."""
        return self._before.answer_in_later_run(span) if self._before is not None else None

    def has_question(self, span: ObservedSpan) -> bool:
        """Returns False: no call is made any more."""
        return False

    def enter_enclosing(self, span: ObservedSpan) -> None:
        """Delegates to `before`."""
        if self._before is not None:
            self._before.enter_enclosing(span)

    def on_unrecorded_end(self, span: ObservedSpan) -> None:
        """Does nothing: the call stays open."""

    def run_ended(self, root: ObservedSpan) -> None:
        """Does nothing: the run was stopped before its end."""

    def has_log_event(self, event: str, span: ObservedSpan, identity: str | None = None) -> bool:
        """Delegates to `before`."""
        return self._before is not None and self._before.has_log_event(event, span, identity)

    def in_forked_child(self) -> Replay[ObservedSpan]:
        """Returns itself: the child is stopped, too."""
        return self

    @property
    def is_fork(self) -> bool:
        """Delegates to `before`."""
        return self._before is not None and self._before.is_fork

    def recorded_promise(self, key: str) -> str | None:
        """Delegates to `before`."""
        return self._before.recorded_promise(key) if self._before is not None else None

    def promise_answer(self, key: str) -> PromiseAnswer | None:
        """Delegates to `before`."""
        return self._before.promise_answer(key) if self._before is not None else None

    @property
    def had_completed(self) -> bool:
        """Delegates to `before`."""
        return self._before is not None and self._before.had_completed

    def refuse_promise(self, what: str) -> None:
        """Delegates to `before`."""
        if self._before is not None:
            self._before.refuse_promise(what)


def stop_run(run: ActiveRun, error: BaseException) -> None:
    """Makes the run's next call raise `error` again, if the program continues after the caller has raised it."""
    run.replay = StoppedRun(lambda span: error, run.replay)


def watch_for_interrupts(run: ActiveRun) -> None:
    """Registers the run, so that `poll_interrupts` looks for requests to stop it."""
    _runs[run.id] = run  # without a lock: a signal's handler may begin a run while this thread does


def poll_interrupts() -> None:
    """Stops the runs of this process that a person asked to stop, at their next call. Never raises.

    If the folder cannot be read, it is read again next time; the journal's writer reports such errors.
    """
    with guarded("look for interrupts"), suppress(JournalUnusable, OSError):
        store = promise_store()
        live_runs = [run for reference in _runs.valuerefs() if (run := reference()) is not None]
        runs = {run.id: run for run in live_runs if not isinstance(run.replay, StoppedRun)}
        for promise in store.interrupts(list(runs)) if runs else ():
            run = runs.get(promise["run"] or "")
            if run is not None:
                run.replay = StoppedRun(_interrupting(store, promise), run.replay)


def watching_for_interrupts(values: Callable[[ObservedSpan], None] | None) -> Callable[[ObservedSpan], None]:
    """Returns the function to call with the first call of each run: it registers the run for interrupts, then calls
    `values`, which records the values that runs read (None: they are not recorded)."""

    def started(span: ObservedSpan) -> None:
        watch_for_interrupts(span.run)
        if values is not None:
            values(span)

    return started


def polling_interrupts_before(before_read: Callable[[], bool]) -> Callable[[], bool]:
    """Returns `before_read`, the function that the delivery thread calls before each read of the journal, extended: it
    first looks for requests to stop runs."""

    def look() -> bool:
        if _runs:
            poll_interrupts()
        return before_read()

    return look


def _interrupting(store: PromiseStore, promise: Promise) -> Callable[[ObservedSpan], BaseException]:
    noted: list[bool] = []

    def stop(span: ObservedSpan) -> BaseException:
        reason, by = promise["action"], promise["name"]
        if not noted:
            noted.append(True)
            _note(span, by, reason, promise)
            done: PromiseAnswer = {
                "outcome": ANSWERED, "value": None, "by": "the run", "reason": None, "time": rfc3339(span.start_ns),
            }  # fmt: skip
            store.answer(promise["id"], done)
        why = f": {reason}" if reason else ""
        return Interrupted(
            f"{by or 'somebody'} asked run {span.run.id} to stop{why}; `playhead resume {span.run.id}` goes on with it"
        )

    return stop


def _note(span: ObservedSpan, by: object, reason: object, promise: Promise) -> None:
    attributes: dict[str, Any] = {names.WAITED_MS: max(0.0, (span.start_ns - parse_time(promise["created"])) / 1e6)}
    if by is not None:
        attributes[names.ANSWERED_BY] = str(by)
    log_event_of(
        span.enclosing or span, names.USER_INTERRUPTED, attributes, {} if reason is None else {names.REASON_REF: reason}
    )
