"""[client]: instrumentation scopes with content that no dialect could read."""

from playhead.client.operation import ApiRequest, client_method
from playhead.wire.operations.content import Scopes


class ScopesOperations:
    """Instrumentation scopes with content that no dialect could read."""

    @client_method
    def scopes(self) -> ApiRequest[Scopes]:
        """Instrumentation scopes with content that no dialect could read, since the collector started; most first."""
        return ApiRequest("scopes")
