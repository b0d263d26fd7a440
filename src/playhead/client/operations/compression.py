"""[client]: compressions of contexts and the facts lost in them."""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.operations.compression import Compression, CompressionAudit


class CompressionOperations:
    """Compressions of contexts and the facts lost in them."""

    @paged_client_method
    def compressions(self, run: str, *, limit: int | None = None) -> PagedRequest[Compression]:
        """Compressions of contexts, declared or inferred."""
        return PagedRequest(run_path(run, "compressions"), {}, limit)

    @client_method
    def compression(self, run: str, at: int | str) -> ApiRequest[CompressionAudit]:
        """Audit of a compression: what happened to each message, which facts were lost and needed later."""
        return ApiRequest(run_path(run, "compressions", str(at)))
