"""[client]: instrumentation scopes whose content was not understood"""

from playhead.client.operation import Question, asked
from playhead.wire.answers.scopes import Scopes


class ScopesOperations:
    """Instrumentation scopes whose content was not understood"""

    @asked
    def scopes(self) -> Question[Scopes]:
        """Instrumentation scopes whose content was taken without being understood, since the collector started."""
        return Question("scopes")
