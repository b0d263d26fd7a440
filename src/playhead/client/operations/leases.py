"""[client]: leases of runs, which keep several processes from resuming the same run; and log events."""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.operations.runs import Released, RunLease, RunLog


class LeasesOperations:
    """Leases of runs, and log events."""

    @paged_client_method
    def logs(self, run: str, *, limit: int | None = None) -> PagedRequest[RunLog]:
        """Log events as stored, in order of time: state, checkpoints, annotations and others."""
        return PagedRequest(run_path(run, "logs"), {}, limit)

    @client_method
    def take_lease(
        self,
        run: str,
        *,
        holder: str,
        process: str,
        seconds: float,
        attempt: int = 0,
        force: bool = False,
        unless_heard: bool = False,
        unless_undelivered: bool = False,
        begun_here: bool = False,
    ) -> ApiRequest[RunLease]:
        """Take the lease of a run for `seconds`. Raises Conflict if another process holds it; the message names it.

        `attempt`: the number of the holder's attempt at the run. `unless_heard`: raise Conflict also if spans of the
        run arrived within the last `seconds`. `unless_undelivered`: raise Conflict also while records of the previous
        holder may not have arrived; of a run without a lease, unless the run began in this holder's journal
        (`begun_here`). `force`: take the lease in any case; then the attempt in the answer may be a later one, and from
        then on records of earlier attempts are not added to the run.
        """
        body = {"holder": holder, "process": process, "seconds": seconds, "attempt": attempt, "force": force}
        body |= {"unless_heard": unless_heard, "unless_undelivered": unless_undelivered, "begun_here": begun_here}
        return ApiRequest(run_path(run, "lease"), body=body)

    @client_method
    def renew_lease(
        self, run: str, *, holder: str, seconds: float, process: str | None = None, attempt: int | None = None
    ) -> ApiRequest[RunLease]:
        """Extend the lease to `seconds` from now. Raises Conflict if this holder no longer has it.

        With an `attempt`: raises Conflict also if the holder has the lease for a later attempt, and takes the lease if
        nobody has it.
        """
        body = {"holder": holder, "seconds": seconds, "process": process, "attempt": attempt}
        parameters = {name: value for name, value in body.items() if value is not None}
        return ApiRequest(run_path(run, "lease"), body=parameters, method="PUT")

    @client_method
    def release_lease(
        self, run: str, *, holder: str, process: str | None = None, attempt: int | None = None
    ) -> ApiRequest[Released]:
        """Release the lease, so that another process can take it. This also says that all records of this holder have
        arrived.

        With an `attempt`, the collector notes the latter also for a run without a lease.
        """
        query = {"holder": holder, "process": process, "attempt": attempt}
        return ApiRequest(run_path(run, "lease"), query, method="DELETE")
