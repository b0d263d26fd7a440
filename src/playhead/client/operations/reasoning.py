"""[client]: what the model was thinking"""

from playhead.client.operation import Question, asked, run_path
from playhead.wire import answers as a


class ReasoningOperations:
    """What the model was thinking"""

    @asked
    def reasoning(self, run: str, at: int | str) -> Question[a.Reasoning]:
        """What the model was thinking at the call that this event belongs to: captured, written down, inferred."""
        return Question(run_path(run, "reasoning", str(at)))

    @asked
    def explain(self, run: str, at: int | str | None = None, *, again: bool = False) -> Question[a.Explanation]:
        """What the model that the collector's operator chose says about a decision, or about the whole run.

        It may think for a minute: give the client a `timeout_seconds` to match.
        """
        return Question(run_path(run, "explain"), body={"seq": at, "again": again})
