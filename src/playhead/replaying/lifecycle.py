"""`resume()` and `fork()` as context managers: the next run that begins in the block continues from a record.

Reads the record, takes the run's lease, and prepares the run: its numbering, what answers its calls, and the recorded
values (clock, random numbers, UUIDs).
"""

import atexit
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Self

from opentelemetry import context as otel

from playhead.api.recorded_values import kinds_of, set_recorded_values
from playhead.calls.begin import NEXT_RUN
from playhead.calls.lifecycle import current_span
from playhead.calls.run import ActiveRun, NextRun
from playhead.calls.starting import RecordedCheckpoint
from playhead.errors import CannotRestore, ClientError, NoRecord, ReplayError, RunAlive, is_run_stopped
from playhead.journal.ownership import take_from
from playhead.kernel.ids import process_name
from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.replaying.answering import CallReplayer
from playhead.replaying.editing import is_edit, rule_of
from playhead.replaying.enclosing import enclosing, span_in_fork
from playhead.replaying.fork_options import (
    ForkOptions,
    ResumeOptions,
    fork_options,
    lost_outcome_error,
    no_options_error,
    policy_of,
    recorded_outcome,
)
from playhead.replaying.handed_on import handed_on_before
from playhead.replaying.lease import KnownRecord, LeaseTerms, RunLeaseHolder, local_lease, run_alive_error
from playhead.replaying.lost_ends import check_lost_ends, with_delivered_ends
from playhead.replaying.other_processes import CallsElsewhere, OtherProcesses
from playhead.replaying.policy import RERUN, Live, Policy, ReplayReport, Unrecorded, completed_run_sentence
from playhead.replaying.record import (
    ForkRecord,
    KnownPart,
    MergedRecord,
    Record,
    RemoteRecord,
    attempt_of,
    last_attempt,
    read_local,
)
from playhead.replaying.recorded_calls import (
    Outcome,
    RecordedCall,
    has_all_orders,
    missing_orders,
    recorded_calls,
    request_refs_of,
)
from playhead.replaying.restoring import check_outcome
from playhead.replaying.starting import RecordedStart
from playhead.replaying.stops import StopNote, say_at_exit, say_now, stop_sentence
from playhead.replaying.unrecorded import stop_before_unrecorded

# --- the context manager ----------------------------------------------------------------------------------------------


log = logging.getLogger("playhead")

Prepared = tuple[ActiveRun, CallReplayer, RunLeaseHolder | None]
_SPAN_ID_DIGITS = 16


class RewindContext:
    """Result of `resume` and `fork`: a context manager in which the next run continues from a record.

    `id`: id of the run that continues. `report`: counts and lists of calls answered, executed, in doubt and diverged.
    `not_called_again`: recorded calls that the program has not made. `lease_lost`: whether another process has taken
    the run over by force.
    """

    def __init__(self, make: Callable[[], Prepared], close: Callable[[], None]):
        """`make` prepares the run; `close` releases what that needed."""
        self._make = make
        self._close_maker = close
        self._run: ActiveRun | None = None
        self._replay: CallReplayer | None = None
        self._lease: RunLeaseHolder | None = None
        self._token: Any = None
        self._next: NextRun | None = None
        self._used = False

    def __del__(self) -> None:
        """Logs a warning if the block was never entered, so that nothing was resumed."""
        if not self._used:
            log.warning("resume() and fork() do nothing until their block is entered: `with playhead.resume(run): ...`")

    def __enter__(self) -> Self:
        """Reads the record and prepares the run. Raises ReplayError."""
        self._used = True
        try:
            _check_outside_of_runs()
            self._run, self._replay, self._lease = self._make()
        except BaseException:
            self._close()
            raise
        self._next = NextRun(self._run)
        self._token = otel.attach(otel.set_value(NEXT_RUN, self._next))
        return self

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        """Ends the block: later runs do not continue from a record."""
        otel.detach(self._token)
        if self._next is not None and self._next.is_waiting and raised is None:
            log.warning(
                "no run has begun in the block of resume() or fork(), so nothing was answered from the record of run "
                "%s: begin it there, and in another thread with playhead.propagate_to_thread(function)", self.id
            )  # fmt: skip
        if (why := self._why_stopped()) is not None and not (raised is not None and is_run_stopped(raised)):
            say_at_exit(why)
        self._close()

    def waiting(self, note: StopNote | None = None) -> NextRun:
        """Prepares the run for the first run that begins in this process. Raises ReplayError.

        If the run is stopped, the reason goes to `note` at once, and to stderr when the process ends.
        """
        self._used = True
        self._run, self._replay, self._lease = self._make()
        run_id = self._run.id
        if note is not None:
            self._replay.on_stopped = lambda stopped: note.note(stop_sentence(run_id, stopped))
        atexit.register(self._end_process, note)
        return NextRun(self._run)

    def _end_process(self, note: StopNote | None) -> None:
        if (why := self._why_stopped()) is not None:
            say_now(why)
            if note is not None:
                note.note(why)  # a run that was taken over
                note.mark_said()
        self._close()

    def _why_stopped(self) -> str | None:
        if self._run is None or self._replay is None:
            return None
        lost = self._lease.loss if self._lease is not None else None
        stopped = self._replay.stopped or lost
        return None if stopped is None else stop_sentence(self._run.id, stopped)

    def _close(self) -> None:
        if self._lease is not None:
            self._lease.release()
        self._close_maker()

    async def __aenter__(self) -> Self:
        """Same as `__enter__`."""
        return self.__enter__()

    async def __aexit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        """Same as `__exit__`."""
        self.__exit__(kind, raised, trace)

    @property
    def id(self) -> str:
        """Id of the run that continues: 32 hex digits. Raises ReplayError before the block is entered."""
        if self._run is None:
            raise ReplayError("enter the block first: `with playhead.resume(run) as run:`")
        return self._run.id

    @property
    def report(self) -> ReplayReport:
        """Report of the replay so far. Raises ReplayError before the block is entered."""
        if self._replay is None:
            raise ReplayError("enter the block first: `with playhead.resume(run) as run:`")
        return self._replay.report

    @property
    def lease_lost(self) -> bool:
        """Whether another process has taken the run over by force.

        Calls of the run then raise RunTakenOver: nothing more of it is executed or recorded here.
        """
        return self._lease is not None and self._lease.lost

    @property
    def checkpoint(self) -> RecordedCheckpoint | None:
        """The last checkpoint of the record; None: there is none. The program is replayed from its beginning unless it
        reads `run.checkpoint` of its own `playhead.run` block."""
        return self._recorded.checkpoint

    @property
    def state(self) -> dict[str, Any]:
        """Values of the run's state at the end of its record, by key. Raises CannotRestore."""
        return dict(self._recorded.state)

    @property
    def _recorded(self) -> RecordedStart:
        if self._run is None or self._replay is None:
            raise ReplayError("enter the block first: `with playhead.resume(run) as run:`")
        return RecordedStart(self._run.id, self._replay.record)

    @property
    def not_called_again(self) -> list[str]:
        """Recorded calls that the program has not made (removed steps)."""
        return [call.call_path for call in self._replay.unmatched_calls()] if self._replay is not None else []


def _check_outside_of_runs() -> None:
    """Raises ReplayError inside a run: calls made there belong to that run, and would be executed."""
    inside = current_span()
    if inside is not None:
        raise ReplayError(
            f"resume() and fork() begin outside of runs, and this is inside {inside.name!r} of run {inside.run.id}: "
            "what is called here would be executed as a part of that run. Leave it first, or use another process"
        )


# --- resume -----------------------------------------------------------------------------------------------------------


def prepare_resume(
    run_id: str,
    client: Callable[[], Any],
    *,
    options: ResumeOptions,
    terms: LeaseTerms,
    other_processes: OtherProcesses = "raise",
) -> Prepared:
    """Prepares the run as its next attempt, and takes its lease unless the run has completed. Raises ReplayError."""
    lease, holder = local_lease(terms, run_id)
    try:
        record, calls, attempt = _read_and_lease(run_id, client, terms, lease, holder)
        needs_lease = attempt is not None
        fork = _resumed_fork(run_id, record, calls) if needs_lease else None
        if fork is not None:
            calls = fork.calls
        elsewhere = CallsElsewhere.of(run_id, record.elsewhere, calls)
        elsewhere.check(other_processes, has_completed=not needs_lease)
        policy = policy_of(options, fork.options if fork is not None else None)
        if needs_lease:
            check_lost_ends(run_id, record, policy)
        policy.outcomes = {_span_of(at, client, elsewhere): outcome for at, outcome in options.outcomes.items()}
        for call in calls:
            check_outcome(policy.outcomes.get(call.span.span_id), call)
        if fork is not None:
            fork.give_outcome(policy)
        stop_before_unrecorded(record, calls, options.unrecorded or "raise")
    except BaseException:
        if lease is not None:
            lease.release()
        raise
    if lease is not None and not needs_lease:
        lease.release()
    if not needs_lease and policy.outcomes:  # its calls' outcomes are known, and other runs may have used them
        at = next(call.name for call in calls if call.span.span_id in policy.outcomes)
        raise ReplayError(completed_run_sentence(run_id, "it takes no other outcomes", at))
    run = _next_attempt(run_id, record, calls, attempt, lease)
    completed_run = None if needs_lease else run_id
    replay = CallReplayer(
        record,
        calls,
        policy,
        run_id=run_id,
        same_run=True,
        after_fork=fork.calls_after_cut if fork is not None and policy.tools != "live" else [],
        cut=fork.cut.span.span_id if fork is not None and fork.cut is not None else None,
        completed_run=completed_run,
    )
    if fork is not None:
        replay.mark_parent_tools_used(fork.own)
    replay.after = last_attempt(_own_items(run_id, record))
    replay.missing_orders = missing_orders(record, int(run.root.get(names.FORK_ORDER, 1)))
    run.replay = replay
    load_recorded_values(run, record)
    # A completed run returns its results from the beginning.
    run.start = _recorded_start(run, record, replay) if needs_lease else None
    return run, replay, lease if needs_lease else None


def _next_attempt(
    run_id: str, record: Record, calls: list[RecordedCall], attempt: int | None, lease: RunLeaseHolder | None
) -> ActiveRun:
    run = ActiveRun(run_id=run_id, attempt=1 + _attempt(record) if attempt is None else attempt)
    if lease is not None and attempt is not None:
        run.owner = lease.own(attempt)
    run.flow_prefix = f"{run.attempt}."
    run.root = _fork_attributes(run_id, record)
    _continue_numbering(run, record, calls)
    return run


@dataclass(slots=True)
class _ResumedFork:
    """A fork that is resumed. `calls`: all calls that answer; `own`: those of the fork itself; `cut`: the parent's call
    at which the fork parts, if the fork has not given it another outcome yet; None: it has, or no outcome was set."""

    run_id: str
    record: Record
    options: ForkOptions
    calls: list[RecordedCall]
    own: list[RecordedCall]
    cut: RecordedCall | None
    calls_after_cut: list[RecordedCall]
    """The parent's calls from the cut on, which answer tools that must not be executed."""

    def give_outcome(self, policy: Policy) -> None:
        """Adds the recorded outcome of the cut to the policy, unless another one was given. Raises ReplayError."""
        if self.cut is None or self.cut.span.span_id in policy.outcomes:
            return
        try:
            outcome = recorded_outcome(self.run_id, self.record, self.options)
        except CannotRestore as error:
            raise lost_outcome_error(self.cut.name, str(error)) from error
        policy.outcomes[self.cut.span.span_id] = outcome


def _resumed_fork(run_id: str, record: Record, calls: list[RecordedCall]) -> _ResumedFork | None:
    """Returns the fork with its recorded options; None: the run is not a fork. Raises ReplayError."""
    if record.parent is None:
        return None
    options = fork_options(run_id, record)
    if options is None:
        raise no_options_error(run_id)
    own_calls = [call for call in calls if call.span.attributes.get(names.RUN_ID) == run_id]
    parents = recorded_calls(record.parent.spans)
    cut_order = _first_own_order(run_id, record)
    cut = next((call for call in parents if call.order == cut_order), None) if options.outcome else None
    beyond = [call for call in parents if call is not cut and not _is_shared_by_fork(call, cut_order)]
    if cut is None or any(names.FORK_CUT in call.span.attributes for call in own_calls):
        return _ResumedFork(run_id, record, options, calls, own_calls, None, beyond)
    calls = sorted([*calls, cut], key=lambda call: call.order)
    return _ResumedFork(run_id, record, options, calls, own_calls, cut, beyond)


def _recorded_start(run: ActiveRun, record: Record, replay: CallReplayer, upto: int | None = None) -> RecordedStart:
    """Returns the starting point of the run: what `run.checkpoint` returns, and how the run goes on from there."""

    def begin(checkpoint: RecordedCheckpoint) -> None:
        replay.start_after(checkpoint.order)
        run.values = None
        load_recorded_values(run, record, upto, since=checkpoint.order)

    return RecordedStart(run.id, record, upto=upto, begin=begin)


def _read_and_lease(
    run_id: str, client: Callable[[], Any], terms: LeaseTerms, lease: RunLeaseHolder | None, holder: str
) -> tuple[Record, list[RecordedCall], int | None]:
    """Reads the record when no other process goes on with the run. Returns the record, its calls, and the number of
    this attempt. The number is None if the run has completed: it only returns its results, which any number of
    processes may do at once. Raises ReplayError."""
    record = read_record(run_id, terms.journal_dir, client)
    _check_whole(run_id, record, client)
    calls = recorded_calls(record.spans)
    roots = _roots(run_id, calls)
    if _has_completed(roots):
        return record, calls, None
    if lease is None:
        raise run_alive_error(run_id, holder)
    is_over = any(root.span.end_ns is not None for root in roots)
    if not terms.force and record.is_still_running and not is_over:
        raise RunAlive(f"run {run_id} is still running in another process; end that, or resume with force")
    if record.is_still_running:
        _take_from_living(run_id, record, terms)
        record = read_record(run_id, terms.journal_dir, client)
    known_record = _known_record(run_id, record, roots)
    attempt = lease.take(known_record, unless_heard=record.remote and not is_over)
    if record.remote:  # the process that had the lease may have written meanwhile
        record = read_record(run_id, terms.journal_dir, client)
    elif attempt > known_record.attempt:  # another machine has made an attempt since
        record = KnownPart(MergedRecord(record, _remote_record(run_id, client)))
    elif lease.is_remote and (elsewhere := _newer_remote_record(run_id, record, client)) is not None:
        record = KnownPart(MergedRecord(record, elsewhere))
    if record.lost_ends:
        record = KnownPart(with_delivered_ends(run_id, record, client))
    calls = recorded_calls(record.spans)
    completed = _has_completed(_roots(run_id, calls))
    return record, calls, None if completed else max(attempt, 1 + _attempt(record))


def _take_from_living(run_id: str, record: Record, terms: LeaseTerms) -> None:
    """Tells the processes of this machine that execute the run that this process has taken it over."""
    try:
        take_from(record.lanes, run_id, process_name())
    except OSError as error:
        log.warning("the process that has run %s cannot be told that it was taken over (%s): end it", run_id, error)


def _known_record(run_id: str, record: Record, roots: list[RecordedCall]) -> KnownRecord:
    latest, own_spans = _attempt(record), [span for span in record.spans if span.attributes.get(names.RUN_ID) == run_id]
    ends = [root.ended[0] for root in roots if root.ended is not None and attempt_of(root.span) == latest]
    first = int(_fork_attributes(run_id, record).get(names.FORK_ORDER, 1))
    process = next(
        (span.attributes[names.RUN_PROCESS] for span in own_spans if names.RUN_PROCESS in span.attributes), None
    )
    is_whole = bool(ends) and has_all_orders(record, first, max(ends))
    return KnownRecord(1 + latest, not record.remote, is_whole, process if isinstance(process, str) else None)


def _roots(run_id: str, calls: list[RecordedCall]) -> list[RecordedCall]:
    """The agents that the run began with. Calls without an agent do not count: others may follow them."""
    own_calls = [call for call in calls if call.span.attributes.get(names.RUN_ID) == run_id]  # not a fork's parent
    return [call for call in own_calls if names.RUN_ROOT in call.span.attributes and call.kind not in names.CALL_KINDS]


def _has_completed(roots: list[RecordedCall]) -> bool:
    return any(root.outcome is Outcome.COMPLETED for root in roots)


def _remote_record(run_id: str, client: Callable[[], Any]) -> Record:
    try:
        return RemoteRecord(client(), run_id)
    except ClientError as error:
        raise NoRecord(
            f"another machine has gone on with run {run_id}, and what it did cannot be read: {error}"
        ) from error


def _newer_remote_record(run_id: str, record: Record, client: Callable[[], Any]) -> Record | None:
    """Returns the collector's record of the run if it has a later attempt than the local journal; else None."""
    try:
        latest = int(client().run(run_id)["attempt"])
        return RemoteRecord(client(), run_id) if latest > _attempt(record) else None
    except ClientError:  # unknown there, or no collector: the journal has what this machine did
        return None


def _attempt(record: Record) -> int:
    return last_attempt((*record.spans, *record.logs))


# --- fork -------------------------------------------------------------------------------------------------------------


def prepare_fork(
    run_id: str,
    at: int | str,
    journal_dir: Path,
    client: Callable[[], Any],
    *,
    policy: Policy,
    outcome: Any,
    live: Live = "all",
    other_processes: OtherProcesses = "raise",
    unrecorded: Unrecorded = "raise",
) -> Prepared:
    """Prepares a new run that shares the record up to the call of event `at`. Raises ReplayError."""
    record = read_record(run_id, journal_dir, client)
    _check_whole(run_id, record, client)
    calls = recorded_calls(record.spans)
    elsewhere = CallsElsewhere.of(run_id, record.elsewhere, calls)
    span_id = _span_of(at, client, elsewhere)
    cut = next((call for call in calls if call.span.span_id == span_id), None)
    if cut is None:
        raise elsewhere.not_here(span_id) or NoRecord(
            f"the event {at} of run {run_id} belongs to no call that is recorded with its place"
        )
    shared = handed_on_before(record.elsewhere, record.spans, cut.order)
    CallsElsewhere.of(run_id, shared, calls).check(other_processes)
    before = [call for call in calls if _is_shared_by_fork(call, cut.order)]
    again = enclosing(cut, calls)
    policy.outcomes |= dict.fromkeys(again, RERUN)  # so that the program reaches the cut
    stop_before_unrecorded(record, calls, unrecorded, upto=cut.order, again=again)
    if outcome is not None:
        if is_edit(outcome, cut):
            rule_of(outcome, record, cut)  # an impossible edit is an error before anything runs
        check_outcome(outcome, cut)
        before.append(cut)
        policy.outcomes[span_id] = outcome
    run = ActiveRun()
    run.root = {names.FORK_OF: run_id, names.FORK_ORDER: cut.order}
    outcome_to_record = None if outcome is RERUN else outcome
    run.describe_root = partial(ForkOptions.of(policy, live).describe_root, outcome=outcome_to_record)
    if isinstance(at, int):
        run.root[names.FORK_AT] = at
    run.continue_numbering(cut.order - 1)
    run.flow_prefix = f"f{cut.order}."
    beyond = [call for call in calls if call not in before] if live == "llm" else []
    replay = CallReplayer(
        record,
        before,
        policy,
        run_id=run.id,
        same_run=False,
        after_fork=beyond,
        cut=cut.span.span_id,
        fork_order=cut.order,
    )
    run.replay = replay
    load_recorded_values(run, record, upto=cut.order)
    run.start = _recorded_start(run, record, replay, cut.order)
    return run, replay, None


# --- the record -------------------------------------------------------------------------------------------------------


def read_record(run_id: str, journal_dir: Path, client: Callable[[], Any]) -> Record:
    """Reads the run from the local journal if that has it (so this works without the collector), else from the
    collector. For a fork, adds the part that it shares with its parent. Raises NoRecord."""
    record = KnownPart(_read_own_record(run_id, journal_dir, client))
    parent = next((span.attributes[names.FORK_OF] for span in record.spans if names.FORK_OF in span.attributes), None)
    if parent is None:
        return record
    first = _first_own_order(run_id, record)
    shared = read_record(str(parent), journal_dir, client)
    return ForkRecord(record, shared, _shared_spans(recorded_calls(shared.spans), record.spans, first), first)


def _check_whole(run_id: str, record: Record, client: Callable[[], Any]) -> None:
    """Raises NoRecord for a run of the collector that a retention rule has thinned: values that calls would be answered
    with may be gone. A new run may continue from its last checkpoint, which is kept."""
    if record.remote and (sentence := _thinned_sentence(run_id, client)) is not None:
        raise NoRecord(sentence)


def _thinned_sentence(run_id: str, client: Callable[[], Any]) -> str | None:
    try:
        about = client().run(run_id)
    except ClientError:
        return None
    # A collector of an earlier version says nothing of it.
    retained, retention = about["completeness"].get("retained", "hot"), about.get("retention", {})
    if retained not in ("cold", "archive"):
        return None
    return (
        f"run {run_id} was thinned on {str(retention.get('thinned'))[:10]} by retention rule "
        f"{retention.get('rule')!r} (it is {retained}), so it can be neither resumed nor forked: start it anew, and "
        "pin runs that are to be gone on with (`playhead pin`)"
    )


def _first_own_order(run_id: str, record: Record) -> int:
    """Order number of the fork's first own call, which is that of its parent's call at which it parts."""
    own_attributes = [span.attributes for span in record.spans if span.attributes.get(names.RUN_ID) == run_id]
    fork_order = next(
        (attributes[names.FORK_ORDER] for attributes in own_attributes if names.FORK_ORDER in attributes), None
    )
    if fork_order is not None:
        return int(fork_order)
    return min(int(attributes[names.CALL_ORDER]) for attributes in own_attributes if names.CALL_ORDER in attributes)


def _shared_spans(calls: list[RecordedCall], own_spans: Sequence[Span], first: int) -> list[Span]:
    """Spans of the parent's calls that the fork shares. `first`: order number of the fork's first own call."""
    cut = next((call for call in calls if call.order == first), None)
    # Calls that the fork has executed again are read from its own record.
    again = set(enclosing(cut, calls)) if cut is not None else set[str]()
    its_own = {(span.attributes.get(names.CALL_KEY), request_refs_of(span.attributes)) for span in own_spans}
    before = (
        call.span
        for call in calls
        if _is_shared_by_fork(call, first)
        and call.span.span_id not in again
        and not (call.can_answer and (call.key, call.request_refs) in its_own)
    )
    return [span_in_fork(span, first) for span in before]


def _read_own_record(run_id: str, journal_dir: Path, client: Callable[[], Any]) -> Record:
    local = read_local(journal_dir, run_id, lambda ref: client().content(ref))
    if local is not None and local.begins_here and not _lacks_attempts(local, run_id):
        return local
    try:
        remote = RemoteRecord(client(), run_id)
    except ClientError as error:
        part = " " if local is None else " as a whole "
        raise NoRecord(
            f"run {run_id} is not{part}in the journal in {journal_dir}, and the collector does not help: {error}"
        ) from error
    if not remote.spans:
        if (sentence := _thinned_sentence(run_id, client)) is not None:
            raise NoRecord(sentence)
        raise NoRecord(f"run {run_id} is neither in the journal in {journal_dir} nor in the collector")
    return remote if local is None else MergedRecord(local, remote, begins_here=local.begins_here)


def _lacks_attempts(record: Record, run_id: str) -> bool:
    """Whether an attempt that the latest one continues, directly or through others, was recorded elsewhere."""
    own_items = _own_items(run_id, record)
    made, attempt = set(map(attempt_of, own_items)), last_attempt(own_items)
    after = {
        attempt_of(log): log.attributes.get(names.RESUMED_AFTER) for log in record.logs if log.name == names.RESUMED
    }
    while attempt > 0:
        before = after.get(attempt)
        if not isinstance(before, int) or not 0 <= before < attempt:
            return False
        attempt = before
        if attempt not in made:
            return True
    return False


def _own_items(run_id: str, record: Record) -> list[Span | LogEvent]:
    """Spans and log events of the run itself, without those of a fork's parent."""
    return [item for item in (*record.spans, *record.logs) if item.attributes.get(names.RUN_ID) == run_id]


def _fork_attributes(run_id: str, record: Record) -> dict[str, Any]:
    """The fork attributes of the run's root span, which a resume of the fork must repeat."""
    own_attributes = [span.attributes for span in record.spans if span.attributes.get(names.RUN_ID) == run_id]
    fork_names = (names.FORK_OF, names.FORK_AT, names.FORK_ORDER, names.FORK_OPTIONS, names.FORK_OUTCOME_REF)
    return {name: attributes[name] for attributes in own_attributes for name in fork_names if name in attributes}


def _continue_numbering(run: ActiveRun, record: Record, calls: list[RecordedCall]) -> None:
    orders = [call.order for call in calls] + [int(entry.attributes.get(names.CALL_ORDER, 0)) for entry in record.logs]
    run.continue_numbering(max(orders, default=0))
    run.ends = count(1 + max((call.ended[1] for call in calls if call.ended), default=0))


def _is_shared_by_fork(call: RecordedCall, order: int) -> bool:
    """Whether a fork at this order number shares the call: it began before, and its outcome is known. Calls that
    enclose the cut are executed again."""
    return call.order < order and call.outcome is not Outcome.IN_DOUBT


def _span_of(at: int | str, client: Callable[[], Any], recorded: CallsElsewhere) -> str:
    """Returns the span id of the call that `at` means: the id of an event (which begins with the span id), a seq (the
    collector is asked), or a function's name (`name`: its first call, `name#2`: its second). Raises ReplayError."""
    run_id, calls = recorded.run_id, recorded.own.values()
    nothing = f"run {run_id} has no call at {at}; see `playhead events {run_id}` for what it has"
    if isinstance(at, str) and (not at.isdecimal() or len(at) == _SPAN_ID_DIGITS):
        by_id = [call.span.span_id for call in calls if call.span.span_id == at.partition(".")[0]]
        name, _, which = at.partition("#")
        by_name = [call.span.span_id for call in calls if call.name == name]
        if which or at.endswith("#"):
            by_name = by_name[int(which) - 1 :] if which.isdecimal() and int(which) > 0 else []
        if not (by_id or by_name):
            raise recorded.not_here(at) or NoRecord(nothing)
        return (by_id or by_name)[0]
    if int(at) < 1:
        raise NoRecord(nothing)
    try:
        events = [event for event in client().events(run_id, after=int(at) - 1, limit=1) if event["seq"] == int(at)]
    except ClientError as error:
        raise ReplayError(
            f"only the collector knows which call seq {at} is: {error} (or give the event's id, or the function's name)"
        ) from error
    if not events or not events[0].get("span"):
        raise NoRecord(nothing)
    return str(events[0]["span"])


# --- recorded values --------------------------------------------------------------------------------------------------


def load_recorded_values(run: ActiveRun, record: Record, upto: int | None = None, since: int = 0) -> None:
    """Gives the run the recorded values. `upto`: for a fork, only values read before the call with this order number;
    `since`: for a run that continues from a checkpoint, only values read after this order number.

    The run records the same kinds of values as its record, whatever the code says now.
    """
    roots = (span.attributes for span in record.spans if names.RECORDED_VALUES in span.attributes)
    kinds = kinds_of(next((attributes[names.RECORDED_VALUES] for attributes in roots), None))
    read = [(int(log.attributes.get(names.CALL_ORDER, 0)), log) for log in record.logs if log.name == names.VALUE_READ]
    read = [pair for pair in read if (upto is None or pair[0] < upto) and (not since or pair[0] > since)]
    read.sort(key=lambda pair: pair[0])
    if kinds or read:
        values = [(str(log.attributes.get(names.VALUE_OF)), log.attributes.get(names.VALUE)) for _, log in read]
        set_recorded_values(run, kinds, values)
    if kinds:
        run.root = {**run.root, names.RECORDED_VALUES: ",".join(sorted(kinds))}


# --- before the program is started ------------------------------------------------------------------------------------


def check_before_start(
    run_id: str, record: Record, client: Callable[[], Any], at: int | str | None, unrecorded: Unrecorded
) -> None:
    """Raises ReplayError, before the program is started, for what would stop it at its first call. `at`: the event at
    which a fork parts; None: the run is resumed."""
    if unrecorded == "rerun":
        return
    calls = recorded_calls(record.spans)
    if at is None:
        stop_before_unrecorded(record, calls, unrecorded)
        return
    span_id = _span_of(at, client, CallsElsewhere.of(run_id, record.elsewhere, calls))
    cut = next((call for call in calls if call.span.span_id == span_id), None)
    if cut is not None:
        stop_before_unrecorded(record, calls, unrecorded, upto=cut.order, again=enclosing(cut, calls))


def launch_of(run_id: str, record: Record) -> str | None:
    """How recording was switched on when the run was recorded; None: by the program itself. For a fork without this
    attribute, that of its parent."""
    roots = [span.attributes for span in record.spans if names.LAUNCH in span.attributes]
    own_roots = [attributes for attributes in roots if attributes.get(names.RUN_ID) == run_id]
    return next((str(attributes[names.LAUNCH]) for attributes in (*own_roots, *roots)), None)


def recorded_functions(record: Record) -> tuple[str, ...]:
    """Returns the functions that were named to be recorded as tools when the run was recorded, as `module:function`."""
    named = (span.attributes.get(names.RECORDED_FUNCTIONS) for span in record.spans)
    return tuple(dict.fromkeys(str(name) for each in named if isinstance(each, list | tuple) for name in each))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def has_commands(record: Record) -> bool:
    """Whether commands of the program were recorded as tools."""
    return any(span.attributes.get(names.TOOL_TYPE) == names.COMMAND for span in record.spans)
