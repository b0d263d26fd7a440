"""[client]: compressions of contexts, and what they dropped"""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.answers.analysis.compression import Compression, CompressionAudit


class CompressionOperations:
    """Compressions of contexts, and what they dropped"""

    @paged_client_method
    def compressions(self, run: str, *, limit: int | None = None) -> PagedRequest[Compression]:
        """Where contexts lost messages, declared or not."""
        return PagedRequest(run_path(run, "compressions"), {}, limit)

    @client_method
    def compression(self, run: str, at: int | str) -> ApiRequest[CompressionAudit]:
        """What became of every message, which facts were lost, and which of these were needed later."""
        return ApiRequest(run_path(run, "compressions", str(at)))
