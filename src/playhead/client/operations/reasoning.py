"""[client]: what the model was thinking"""

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire import answers as a


class ReasoningOperations:
    """What the model was thinking"""

    @client_method
    def reasoning(self, run: str, at: int | str) -> ApiRequest[a.Reasoning]:
        """What the model was thinking at the call that this event belongs to: captured, written down, inferred."""
        return ApiRequest(run_path(run, "reasoning", str(at)))

    @client_method
    def explain(self, run: str, at: int | str | None = None, *, again: bool = False) -> ApiRequest[a.Explanation]:
        """What the model that the collector's operator chose says about a decision, or about the whole run.

        It may think for a minute: give the client a `timeout_seconds` to match.
        """
        return ApiRequest(run_path(run, "explain"), body={"seq": at, "again": again})
