"""[client]: what an event rests on, and what rested on it"""

from typing import Literal

from playhead.client.operation import Question, asked, run_path
from playhead.wire.answers.analysis.causes import CausalGraph


class CausesOperations:
    """What an event rests on, and what rested on it"""

    @asked
    def causes(
        self, run: str, at: int | str, *, direction: Literal["back", "forward", "both"] = "both"
    ) -> Question[CausalGraph]:
        """What this event rests on, back to the user's words, and what rested on it."""
        return Question(run_path(run, "causes", str(at)), {"direction": direction})
