"""[client]: amounts of stored data."""

from playhead.client.operation import ApiRequest, client_method
from playhead.wire.operations.storage import Storage


class StorageOperations:
    """Amounts of stored data."""

    @client_method
    def storage(self) -> ApiRequest[Storage]:
        """Amounts of stored data by kind: contents, their bytes, and the bytes that they would take inline in spans.

        Each number says whether it is exact or an estimate.
        """
        return ApiRequest("storage")
