"""[client]: leases of runs, which keep several processes from resuming the same run; and log events."""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.answers.leases import Released, RunLease, RunLog


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
        force: bool = False,
        unless_heard: bool = False,
    ) -> ApiRequest[RunLease]:
        """Take the lease of a run for `seconds`.  Raises Conflict if another process holds it; the message names it.

        `unless_heard`: also raise Conflict if spans of the run arrived within the last `seconds`.  `force`: take the
        lease although another process holds it.
        """
        body = {"holder": holder, "process": process, "seconds": seconds, "force": force, "unless_heard": unless_heard}
        return ApiRequest(run_path(run, "lease"), body=body)

    @client_method
    def renew_lease(self, run: str, *, holder: str, seconds: float) -> ApiRequest[RunLease]:
        """Extend the lease to `seconds` from now.  Raises Conflict if this holder no longer has it."""
        return ApiRequest(run_path(run, "lease"), body={"holder": holder, "seconds": seconds}, method="PUT")

    @client_method
    def release_lease(self, run: str, *, holder: str) -> ApiRequest[Released]:
        """Release the lease, so that another process can take it."""
        return ApiRequest(run_path(run, "lease"), {"holder": holder}, method="DELETE")
