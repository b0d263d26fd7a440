"""[client]: reasons of tool calls and origins of their arguments."""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.operations.why import Attribution


class ProvenanceOperations:
    """Reasons of tool calls and origins of their arguments."""

    @paged_client_method
    def attributions(self, run: str, *, limit: int | None = None) -> PagedRequest[Attribution]:
        """Reason of each tool call, and origin of every value in its arguments."""
        return PagedRequest(run_path(run, "attributions"), {}, limit)

    @client_method
    def why(self, run: str, at: int | str) -> ApiRequest[Attribution]:
        """Reason of the tool call that this event belongs to, and origin of every value in its arguments."""
        return ApiRequest(run_path(run, "attributions", str(at)))
