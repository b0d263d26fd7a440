"""[client]: who goes on with a run."""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.answers.leases import Released, RunLease, RunLog


class LeasesOperations:
    """Leases, and log events as stored."""

    @paged_client_method
    def logs(self, run: str, *, limit: int | None = None) -> PagedRequest[RunLog]:
        """Log events as stored, by time: state, checkpoints, annotations, and what else the program has said."""
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
        """Be the only one who goes on with a run, for so many seconds.  Raises Conflict, which says who does.

        `unless_heard`: raises it also when spans of the run have come within that time; `force`: it is taken over.
        """
        body = {"holder": holder, "process": process, "seconds": seconds, "force": force, "unless_heard": unless_heard}
        return ApiRequest(run_path(run, "lease"), body=body)

    @client_method
    def renew_lease(self, run: str, *, holder: str, seconds: float) -> ApiRequest[RunLease]:
        """Still be the one, for so many seconds from now.  Raises Conflict when another has taken the run over."""
        return ApiRequest(run_path(run, "lease"), body={"holder": holder, "seconds": seconds}, method="PUT")

    @client_method
    def release_lease(self, run: str, *, holder: str) -> ApiRequest[Released]:
        """Others may go on with the run from now."""
        return ApiRequest(run_path(run, "lease"), {"holder": holder}, method="DELETE")
