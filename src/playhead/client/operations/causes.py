"""[client]: causes and effects of an event."""

from typing import Literal

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.operations.why import CausalGraph


class CausesOperations:
    """Causes and effects of an event."""

    @client_method
    def causes(
        self, run: str, at: int | str, *, direction: Literal["back", "forward", "both"] = "both"
    ) -> ApiRequest[CausalGraph]:
        """Causes of an event (a seq or an event id), back to the user's messages, and its effects."""
        return ApiRequest(run_path(run, "causes", str(at)), {"direction": direction})
