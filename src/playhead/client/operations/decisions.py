"""[client]: decisions of the agent"""

from playhead.client.operation import Listing, Question, asked, listed, run_path
from playhead.wire.answers.analysis.decisions import Decision, DecisionDetail


class DecisionsOperations:
    """Decisions of the agent"""

    @listed
    def decisions(self, run: str, *, limit: int | None = None) -> Listing[Decision]:
        """Where the agent chose: tools, their arguments, answers, handoffs, approvals, branches, to stop."""
        return Listing(run_path(run, "decisions"), {}, limit)

    @asked
    def decision(self, run: str, at: int | str) -> Question[DecisionDetail]:
        """A decision with its context, what else was open, what was chosen elsewhere in the same context, and why."""
        return Question(run_path(run, "decisions", str(at)))
