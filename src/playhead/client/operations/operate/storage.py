"""[client]: how much is stored."""

from playhead.client.operation import ApiRequest, client_method
from playhead.wire.answers.across.storage import Storage


class StorageOperations:
    """How much is stored."""

    @client_method
    def storage(self) -> ApiRequest[Storage]:
        """How much is stored, by kind: contents, their bytes, and the inline bytes that they stand for.

        Each number says whether it is exact or an estimate.
        """
        return ApiRequest("storage")
