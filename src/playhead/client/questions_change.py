"""The questions about change: what is different between two moments or runs, and what compressions dropped."""

from urllib.parse import quote

from playhead.client.question import Listing, Question, asked, listed
from playhead.model.answers import changes as c
from playhead.model.answers.comparisons import Comparison


class QuestionsChange:
    """What can be asked about change."""

    @asked
    def diff(
        self, run: str, before: int | str | None = None, after: int | str | None = None, *, hydrate: bool = True
    ) -> Question[c.Diff]:
        """What is different at event `after` (default: the last), compared to `before` (default: the first)."""
        return Question(_of(run, "diff"), {"from": before, "to": after, "hydrate": hydrate})

    @asked
    def compare(self, a: str, b: str, *, limit: int | None = None, cursor: str | None = None) -> Question[Comparison]:
        """How two runs differ: what they have in common, where they part, which calls stand for which, what came of it.

        `items` holds up to `limit` pairs (default 100) behind the common part; `cursor` is `next_cursor` of the answer
        before."""
        return Question(_of(a, "compare", b), {"limit": limit, "cursor": cursor})

    @listed
    def compressions(self, run: str, *, limit: int | None = None) -> Listing[c.Compression]:
        """Where contexts lost messages, declared or not."""
        return Listing(_of(run, "compressions"), {}, limit)

    @asked
    def compression(self, run: str, at: int | str) -> Question[c.CompressionAudit]:
        """What became of every message, which facts were lost, and which of these were needed later."""
        return Question(_of(run, "compressions", str(at)))


def _of(run: str, *rest: str) -> str:
    return "/".join(("runs", *(quote(part, safe="") for part in (run, *rest))))
