"""[client]: reasoning of a model."""

from collections.abc import Mapping, Sequence
from typing import Any

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire import operations
from playhead.wire.operations.reasoning import AskedAgain


class ReasoningOperations:
    """Reasoning of a model."""

    @client_method
    def reasoning(self, run: str, at: int | str) -> ApiRequest[operations.Reasoning]:
        """Reasoning of the model at the call that this event belongs to: captured, structured, inferred."""
        return ApiRequest(run_path(run, "reasoning", str(at)))

    @client_method
    def explain(
        self, run: str, at: int | str | None = None, *, again: bool = False
    ) -> ApiRequest[operations.Explanation]:
        """Explanation of a decision, or of the whole run, by the model that the collector's operator configured.

        The answer may take a minute: set `timeout_seconds` of the client accordingly.  `again`: ask the model although
        an explanation is stored.  Raises Conflict if no model is configured.
        """
        return ApiRequest(run_path(run, "explain"), body={"seq": at, "again": again})

    @client_method
    def ask_again(
        self,
        run: str,
        at: int | str | None = None,
        *,
        model: str | None = None,
        system: str | None = None,
        messages: Sequence[Mapping[str, Any]] | None = None,
    ) -> ApiRequest[AskedAgain]:
        """Ask a model again with the input of a recorded call and these changes. Returns its answer.

        `at`: any event of the call; default: the last call. `model`: one that the collector's operator configured.
        `system` and `messages` (in the form of Chat Completions) replace the recorded ones. The run is not changed.
        Needs a key of scope `admin`; raises Conflict if no model is configured.
        """
        message_dicts = None if messages is None else [dict(message) for message in messages]
        body = {"at": at, "model": model, "system": system, "messages": message_dicts}
        return ApiRequest(run_path(run, "ask-again"), body=body)
