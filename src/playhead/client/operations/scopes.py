"""[client]: instrumentation scopes whose content was not understood"""

from playhead.client.operation import ApiRequest, client_method
from playhead.wire.answers.scopes import Scopes


class ScopesOperations:
    """Instrumentation scopes whose content was not understood"""

    @client_method
    def scopes(self) -> ApiRequest[Scopes]:
        """Instrumentation scopes whose content was taken without being understood, since the collector started."""
        return ApiRequest("scopes")
