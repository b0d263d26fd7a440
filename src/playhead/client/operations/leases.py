"""[client]: who goes on with a run."""

from playhead.client.operation import Listing, Question, asked, listed, run_path
from playhead.wire.answers.leases import Released, RunLease, RunLog


class LeasesOperations:
    """Leases, and log events as stored."""

    @listed
    def logs(self, run: str, *, limit: int | None = None) -> Listing[RunLog]:
        """Log events as stored, by time: state, checkpoints, annotations, and what else the program has said."""
        return Listing(run_path(run, "logs"), {}, limit)

    @asked
    def take_lease(
        self,
        run: str,
        *,
        holder: str,
        process: str,
        seconds: float,
        force: bool = False,
        unless_heard: bool = False,
    ) -> Question[RunLease]:
        """Be the only one who goes on with a run, for so many seconds.  Raises Conflict, which says who does.

        `unless_heard`: raises it also when spans of the run have come within that time; `force`: it is taken over.
        """
        body = {"holder": holder, "process": process, "seconds": seconds, "force": force, "unless_heard": unless_heard}
        return Question(run_path(run, "lease"), body=body)

    @asked
    def renew_lease(self, run: str, *, holder: str, seconds: float) -> Question[RunLease]:
        """Still be the one, for so many seconds from now.  Raises Conflict when another has taken the run over."""
        return Question(run_path(run, "lease"), body={"holder": holder, "seconds": seconds}, method="PUT")

    @asked
    def release_lease(self, run: str, *, holder: str) -> Question[Released]:
        """Others may go on with the run from now."""
        return Question(run_path(run, "lease"), {"holder": holder}, method="DELETE")
