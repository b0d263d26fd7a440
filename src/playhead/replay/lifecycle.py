"""`resume()` and `fork()`: the next run that begins inside goes on from a record instead of from nothing."""

import atexit
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Literal, Self

from opentelemetry import context as otel

from playhead.api.begin import NEXT_RUN
from playhead.api.run import ActiveRun
from playhead.errors import ClientError, NoRecord, ReplayError, RunAlive
from playhead.model import names
from playhead.replay.answering import RecordReplay
from playhead.replay.calls import Outcome, RecordedCall, recorded_calls
from playhead.replay.policy import OnDivergence, OnDoubt, Policy, Told, Tools
from playhead.replay.record import Record, RemoteRecord, WithParent, read_local

_SPAN_ID_DIGITS = 16


class Rewound:
    """What `resume` and `fork` give: a block in which the next run goes on from a record.

    `id` is the id of the run that goes on, `told` what came of replaying (calls answered, live, in doubt, divergences),
    `not_called_again` the recorded calls that the program has not made.
    """

    def __init__(self, make: Callable[[], tuple[ActiveRun, RecordReplay]], close: Callable[[], None]):
        """`make` prepares the run; `close` gives back what that needed."""
        self._make = make
        self._close = close
        self._run: ActiveRun | None = None
        self._replay: RecordReplay | None = None
        self._token: Any = None

    def __enter__(self) -> Self:
        """Reads the record.  Raises ReplayError."""
        try:
            self._run, self._replay = self._make()
        except BaseException:
            self._close()
            raise
        self._token = otel.attach(otel.set_value(NEXT_RUN, [self._run]))
        return self

    def __exit__(self, kind: Any, raised: BaseException | None, trace: Any) -> None:
        """From here on, runs begin from nothing again."""
        otel.detach(self._token)
        self._close()

    def waiting(self) -> list[ActiveRun]:
        """The run, prepared, for the first run that begins in this process.  Raises ReplayError."""
        self._run, self._replay = self._make()
        atexit.register(self._close)
        return [self._run]

    async def __aenter__(self) -> Self:
        """As `__enter__`."""
        return self.__enter__()

    async def __aexit__(self, kind: Any, raised: BaseException | None, trace: Any) -> None:
        """As `__exit__`."""
        self.__exit__(kind, raised, trace)

    @property
    def id(self) -> str:
        """The run that goes on: 32 hex digits."""
        if self._run is None:
            raise ReplayError("enter the block first: `with playhead.resume(run) as run:`")
        return self._run.id

    @property
    def told(self) -> Told:
        """What came of replaying so far."""
        if self._replay is None:
            raise ReplayError("enter the block first: `with playhead.resume(run) as run:`")
        return self._replay.told

    @property
    def not_called_again(self) -> list[str]:
        """Recorded calls that the program has not made (removed steps)."""
        return [call.place for call in self._replay.left()] if self._replay is not None else []


def prepare_resume(
    run_id: str, journal_dir: Path, client: Callable[[], Any], *, policy: Policy, force: bool = False
) -> tuple[ActiveRun, RecordReplay]:
    """The run, going on as its next attempt.  Raises ReplayError."""
    record = read_record(run_id, journal_dir, client)
    calls = recorded_calls(record.spans)
    if not force and _is_alive(record, calls):
        raise RunAlive(f"run {run_id} is still running in another process; end that, or resume with force")
    policy.outcomes = {_span_of(run_id, at, client, calls): given for at, given in policy.outcomes.items()}
    attempt = 1 + max((int(span.attributes.get(names.RUN_ATTEMPT, 0)) for span in record.spans), default=0)
    run = ActiveRun(run_id=run_id, attempt=attempt)
    _go_on_counting(run, record, calls)
    replay = RecordReplay(record, calls, policy, same_run=True, beyond=[])
    run.replay = replay
    return run, replay


def prepare_fork(
    run_id: str,
    at: int | str,
    journal_dir: Path,
    client: Callable[[], Any],
    *,
    policy: Policy,
    outcome: Any,
    live: Literal["all", "llm"] = "all",
) -> tuple[ActiveRun, RecordReplay]:
    """A new run that shares the record up to the call that event `at` belongs to.  Raises ReplayError."""
    record = read_record(run_id, journal_dir, client)
    calls = recorded_calls(record.spans)
    span_id = _span_of(run_id, at, client, calls)
    cut = next((call for call in calls if call.span.span_id == span_id), None)
    if cut is None:
        raise NoRecord(f"the event {at} of run {run_id} belongs to no call that is recorded with its place")
    before = [call for call in calls if _is_before(call, cut.order)]
    if outcome is not None:
        before.append(cut)
        policy.outcomes[span_id] = outcome
    run = ActiveRun()
    run.root = {names.FORK_OF: run_id, names.FORK_AT: at if isinstance(at, int) else cut.order}
    run.last = cut.order - 1
    replay = RecordReplay(
        record, before, policy, same_run=False, beyond=[c for c in calls if c not in before] if live == "llm" else []
    )
    run.replay = replay
    return run, replay


def read_record(run_id: str, journal_dir: Path, client: Callable[[], Any]) -> Record:
    """The local journal's record when it is there (so it works with the collector down), else the collector's.

    Of a fork, the part that it shares with its parent, too.  Raises NoRecord.
    """
    record = _read(run_id, journal_dir, client)
    parent = next((span.attributes[names.FORK_OF] for span in record.spans if names.FORK_OF in span.attributes), None)
    if parent is None:
        return record
    first = min(int(span.attributes[names.CALL_ORDER]) for span in record.spans if names.CALL_ORDER in span.attributes)
    shared = read_record(str(parent), journal_dir, client)
    before = [call.span for call in recorded_calls(shared.spans) if _is_before(call, first)]
    return WithParent(record, shared, before)


def _read(run_id: str, journal_dir: Path, client: Callable[[], Any]) -> Record:
    local = read_local(journal_dir, run_id, lambda ref: client().content(ref))
    if local is not None:
        return local
    try:
        remote = RemoteRecord(client(), run_id)
    except ClientError as error:
        raise NoRecord(
            f"run {run_id} is not in the journal in {journal_dir}, and the collector does not help: {error}"
        ) from error
    if not remote.spans:
        raise NoRecord(f"run {run_id} is neither in the journal in {journal_dir} nor in the collector")
    return remote


def policy_of(
    on_divergence: OnDivergence, in_doubt: OnDoubt, outcomes: dict[Any, Any] | None = None, tools: Tools = "live"
) -> Policy:
    """What to do where the record does not simply answer."""
    return Policy(on_divergence, in_doubt, tools, dict(outcomes or {}))


def _go_on_counting(run: ActiveRun, record: Record, calls: list[RecordedCall]) -> None:
    orders = [call.order for call in calls] + [int(entry.attributes.get(names.CALL_ORDER, 0)) for entry in record.logs]
    run.last = max(orders, default=0)
    run.ends = count(1 + max((call.ended[1] for call in calls if call.ended), default=0))


def _is_before(call: RecordedCall, order: int) -> bool:
    """Shared with the parent: what had begun before the cut.  What encloses the cut is executed again."""
    return call.order < order and call.outcome is not Outcome.IN_DOUBT


def _is_alive(record: Record, calls: list[RecordedCall]) -> bool:
    over = any(names.RUN_ROOT in call.span.attributes and call.span.end_ns is not None for call in calls)
    return record.alive and not over


def _span_of(run_id: str, at: int | str, client: Callable[[], Any], calls: list[RecordedCall]) -> str:
    """The span of an event: its id begins with it; a seq is the collector's to know; a function's name is its first
    call, `name#2` its second.  Raises ReplayError."""
    nothing = f"run {run_id} has no call at {at}; see `playhead events {run_id[:8]}` for what it has"
    if isinstance(at, str) and (not at.isdecimal() or len(at) == _SPAN_ID_DIGITS):
        by_id = [call.span.span_id for call in calls if call.span.span_id == at.partition(".")[0]]
        name, _, which = at.partition("#")
        by_name = [call.span.span_id for call in calls if call.name == name]
        by_name = by_name[int(which) - 1 :] if which.isdecimal() and which != "0" else by_name
        if not (by_id or by_name):
            raise NoRecord(nothing)
        return (by_id or by_name)[0]
    try:
        found = [event for event in client().events(run_id, after=int(at) - 1, limit=1) if event["seq"] == int(at)]
    except ClientError as error:
        raise ReplayError(
            f"only the collector knows which call seq {at} is: {error} (or give the event's id, or the function's name)"
        ) from error
    if not found or not found[0].get("span"):
        raise NoRecord(nothing)
    return str(found[0]["span"])
