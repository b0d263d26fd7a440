"""What can be asked about tokens and thoughts; `Questions` has these, too."""

from playhead.client.operation import Question, asked, run_path
from playhead.wire import answers as a


class QuestionsThought:
    """Tokens, reasoning, explanations."""

    @asked
    def tokens(self, run: str, *, limit: int = 1_000, cursor: str | None = None) -> Question[a.TokenTimeline]:
        """How contexts grew, against their models' limits; usage, cost and cache hits.  Give `next_cursor` back."""
        return Question(run_path(run, "tokens"), {"limit": limit, "cursor": cursor})

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
