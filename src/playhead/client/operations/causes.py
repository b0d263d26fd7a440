"""[client]: what an event rests on, and what rested on it"""

from typing import Literal

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.answers.analysis.causes import CausalGraph


class CausesOperations:
    """What an event rests on, and what rested on it"""

    @client_method
    def causes(
        self, run: str, at: int | str, *, direction: Literal["back", "forward", "both"] = "both"
    ) -> ApiRequest[CausalGraph]:
        """What this event rests on, back to the user's words, and what rested on it."""
        return ApiRequest(run_path(run, "causes", str(at)), {"direction": direction})
