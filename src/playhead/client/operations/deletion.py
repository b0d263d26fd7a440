"""[client]: deletion of runs, and collection of content that no run names."""

from playhead.client.operation import Question, asked, run_path
from playhead.wire.answers.deletion import Collected, DeletedRuns


class DeletionOperations:
    """Deletes.  All of these need a key with the scope `admin`, once there is any."""

    @asked
    def delete_run(self, run: str, *, forks: bool = False) -> Question[DeletedRuns]:
        """Delete a run, named by its id or a part that no other has; with `forks`, those made from it, too.

        Raises NotFound; raises Conflict when it has forks and these are to stay.
        """
        return Question(run_path(run), {"forks": "true" if forks else None}, method="DELETE")

    @asked
    def collect_garbage(self) -> Question[Collected]:
        """Make some steps of the collection of content that no run names any more; call again until its `phase` is
        None.  The collector does it by itself, too."""
        return Question("gc", method="POST")
