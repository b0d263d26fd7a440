"""The questions about change: what is different between two moments or runs, and what compressions dropped."""

from playhead.client.operation import Listing, Question, asked, listed, run_path
from playhead.wire.answers import compression as c
from playhead.wire.answers.compare import Comparison


class QuestionsChange:
    """What can be asked about change."""

    @asked
    def diff(
        self, run: str, before: int | str | None = None, after: int | str | None = None, *, hydrate: bool = True
    ) -> Question[c.Diff]:
        """What is different at event `after` (default: the last), compared to `before` (default: the first)."""
        return Question(run_path(run, "diff"), {"from": before, "to": after, "hydrate": hydrate})

    @asked
    def compare(self, a: str, b: str, *, limit: int | None = None, cursor: str | None = None) -> Question[Comparison]:
        """How two runs differ: what they have in common, where they part, which calls stand for which, what came of it.

        `items` holds up to `limit` pairs (default 100) behind the common part; `cursor` is `next_cursor` of the answer
        before."""
        other = run_path(b).removeprefix("runs/")
        return Question(f"{run_path(a)}/compare/{other}", {"limit": limit, "cursor": cursor})

    @listed
    def compressions(self, run: str, *, limit: int | None = None) -> Listing[c.Compression]:
        """Where contexts lost messages, declared or not."""
        return Listing(run_path(run, "compressions"), {}, limit)

    @asked
    def compression(self, run: str, at: int | str) -> Question[c.CompressionAudit]:
        """What became of every message, which facts were lost, and which of these were needed later."""
        return Question(run_path(run, "compressions", str(at)))
