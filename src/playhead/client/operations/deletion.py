"""[client]: deletion of runs, and collection of content that no run names."""

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.answers.deletion import Collected, DeletedRuns


class DeletionOperations:
    """Deletes.  All of these need a key with the scope `admin`, once there is any."""

    @client_method
    def delete_run(self, run: str, *, forks: bool = False) -> ApiRequest[DeletedRuns]:
        """Delete a run, named by its id or a part that no other has; with `forks`, those made from it, too.

        Raises NotFound; raises Conflict when it has forks and these are to stay.
        """
        return ApiRequest(run_path(run), {"forks": "true" if forks else None}, method="DELETE")

    @client_method
    def collect_garbage(self) -> ApiRequest[Collected]:
        """Make some steps of the collection of content that no run names any more; call again until its `phase` is
        None.  The collector does it by itself, too."""
        return ApiRequest("gc", method="POST")
