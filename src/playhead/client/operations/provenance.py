"""[client]: why tools were called, and where their arguments are from"""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.answers.analysis.provenance import Attribution


class ProvenanceOperations:
    """Why tools were called, and where their arguments are from"""

    @paged_client_method
    def attributions(self, run: str, *, limit: int | None = None) -> PagedRequest[Attribution]:
        """Why each tool was called, and where every value in its arguments is from."""
        return PagedRequest(run_path(run, "attributions"), {}, limit)

    @client_method
    def why(self, run: str, at: int | str) -> ApiRequest[Attribution]:
        """Why the tool was called that this event is part of, and where every value in its arguments is from."""
        return ApiRequest(run_path(run, "attributions", str(at)))
