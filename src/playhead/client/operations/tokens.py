"""[client]: tokens and cost of a run's contexts"""

from playhead.client.operation import Question, asked, run_path
from playhead.wire import answers as a


class TokensOperations:
    """Tokens and cost of a run's contexts"""

    @asked
    def tokens(self, run: str, *, limit: int = 1_000, cursor: str | None = None) -> Question[a.TokenTimeline]:
        """How contexts grew, against their models' limits; usage, cost and cache hits.  Give `next_cursor` back."""
        return Question(run_path(run, "tokens"), {"limit": limit, "cursor": cursor})
