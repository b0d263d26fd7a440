"""[client]: deletion of runs, and of content that no run refers to."""

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.operations.storage import Collected, DeletedRuns


class DeletionOperations:
    """Operations that delete.  If the collector has keys, they need one with the scope `admin`."""

    @client_method
    def delete_run(self, run: str, *, forks: bool = False) -> ApiRequest[DeletedRuns]:
        """Delete a run, given by its id or a unique part of it; with `forks`, also its forks.

        Raises NotFound; raises Conflict if the run has forks and `forks` is false.
        """
        return ApiRequest(run_path(run), {"forks": "true" if forks else None}, method="DELETE")

    @client_method
    def collect_garbage(self) -> ApiRequest[Collected]:
        """Delete content that no run refers to, for a few seconds; call again until `phase` is None.

        The collector also does this by itself.
        """
        return ApiRequest("gc", method="POST")
