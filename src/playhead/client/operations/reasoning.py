"""[client]: reasoning of a model."""

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire import answers as a


class ReasoningOperations:
    """Reasoning of a model."""

    @client_method
    def reasoning(self, run: str, at: int | str) -> ApiRequest[a.Reasoning]:
        """Reasoning of the model at the call that this event belongs to: captured, structured, inferred."""
        return ApiRequest(run_path(run, "reasoning", str(at)))

    @client_method
    def explain(self, run: str, at: int | str | None = None, *, again: bool = False) -> ApiRequest[a.Explanation]:
        """Explanation of a decision, or of the whole run, by the model that the collector's operator configured.

        The answer may take a minute: set `timeout_seconds` of the client accordingly.  `again`: ask the model although
        an explanation is stored.  Raises Conflict if no model is configured.
        """
        return ApiRequest(run_path(run, "explain"), body={"seq": at, "again": again})
