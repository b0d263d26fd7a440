"""Leases of runs: while a process holds the lease of a run, no other process resumes the run."""

from typing import Annotated, TypedDict

from playhead.wire.operations.bounds import NO_NUL, Bounds, RunName
from playhead.wire.operations.operation import INGEST, delete, post, put

# --- answers ---------------------------------------------------------------------------------------------------------


class RunLease(TypedDict):
    """The lease of a run: no other process can take it before `until`, unless it is forced.

    `holder` is the id of the process's journal, `process` its name for people, `attempt` which attempt at the run it
    makes.  Times are those of the database.
    """

    run: str
    holder: str
    process: str
    attempt: int
    since: str
    until: str


class Released(TypedDict):
    """`released`: whether this holder had the lease."""

    released: bool


# --- operations ------------------------------------------------------------------------------------------------------

# A day. A process that has not renewed its lease for so long has ended or no longer needs it.
_MOST_SECONDS = 86_400
_MAX_NAME_LENGTH = 200
_MOST_ATTEMPTS = 1_000_000
_HELD = "The lease was not granted or not extended. The message says why, and which process holds it."

Holder = Annotated[
    str,
    Bounds(
        min_length=1,
        max_length=_MAX_NAME_LENGTH,
        pattern=NO_NUL,
        description="Id of the holder, also for renewal and release.",
    ),
]
Whose = Annotated[
    str, Bounds(min_length=1, max_length=_MAX_NAME_LENGTH, pattern=NO_NUL, description="Id of the holder.")
]
Process = Annotated[
    str,
    Bounds(
        min_length=1,
        max_length=_MAX_NAME_LENGTH,
        pattern=NO_NUL,
        description="Name of the process, shown in messages.",
    ),
]
Seconds = Annotated[float, Bounds(gt=0, le=_MOST_SECONDS, description="Duration of the lease from now, in seconds.")]
Attempt = Annotated[int, Bounds(ge=0, le=_MOST_ATTEMPTS, description="Which attempt at the run the holder makes.")]
MaybeAttempt = Annotated[
    int | None, Bounds(ge=0, le=_MOST_ATTEMPTS, description="Which attempt at the run the holder makes.")
]
EndedAttempt = Annotated[
    int | None,
    Bounds(
        ge=0,
        le=_MOST_ATTEMPTS,
        description="Which attempt has ended. Also noted of a run that has no lease.",
    ),
]
Force = Annotated[bool, Bounds(description="Take the lease although another process holds it.")]
UnlessHeard = Annotated[bool, Bounds(description="Also refuse if spans of the run arrived within the last `seconds`.")]
UnlessUndelivered = Annotated[
    bool,
    Bounds(description="Also refuse while records of the holder before may not have arrived, and name that holder."),
]
BegunHere = Annotated[bool, Bounds(description="The holder's journal has the run's first attempt.")]


class LeaseOperations:
    """Leases of runs, which keep several processes from resuming the same run."""

    @post("/runs/{run}/lease", scope=INGEST, tag="runs", also_refuses={409: _HELD})
    def take_lease(
        self,
        run: RunName,
        *,
        holder: Holder,
        process: Process,
        seconds: Seconds,
        attempt: Attempt = 0,
        force: Force = False,
        unless_heard: UnlessHeard = False,
        unless_undelivered: UnlessUndelivered = False,
        begun_here: BegunHere = False,
    ) -> RunLease:
        """Take the lease of a run for `seconds`: until it expires, no other holder can take it without `force`.

        409 when another process holds it; the message names that process. With `unless_heard`, also 409 when spans of
        the run arrived within the last `seconds`; with `unless_undelivered`, when records of the holder before may not
        have arrived. The run does not have to be stored yet.

        The answer's `attempt` is later than that of another holder before. A lease that is taken with `force` from a
        holder whose records may not have arrived is a takeover: what earlier attempts do from then on is not added to
        the run.
        """
        ...

    @put("/runs/{run}/lease", scope=INGEST, tag="runs", also_refuses={409: _HELD})
    def renew_lease(
        self, run: RunName, *, holder: Holder, seconds: Seconds, process: Process = "", attempt: MaybeAttempt = None
    ) -> RunLease:
        """Extend a lease to `seconds` from now. 409 when this holder no longer has it.

        With an `attempt`, also 409 when it has the lease for a later one; a lease that nobody has taken is taken.
        """
        ...

    @delete("/runs/{run}/lease", scope=INGEST, tag="runs")
    def release_lease(
        self, run: RunName, *, holder: Whose, process: Process = "", attempt: EndedAttempt = None
    ) -> Released:
        """Release a lease, so that another process can take it. `released` is false if this holder had none.

        It says that the holder does not go on with the run, and that all its records have arrived. With an `attempt`,
        that is noted of a run without a lease, too.
        """
        ...
