"""What can be asked about why; `Questions` has these, too."""

from typing import Literal

from playhead.client.operation import Listing, Question, asked, listed, run_path
from playhead.wire.answers import provenance as w


class QuestionsWhy:
    """Decisions, attributions, causes."""

    @listed
    def decisions(self, run: str, *, limit: int | None = None) -> Listing[w.Decision]:
        """Where the agent chose: tools, their arguments, answers, handoffs, approvals, branches, to stop."""
        return Listing(run_path(run, "decisions"), {}, limit)

    @asked
    def decision(self, run: str, at: int | str) -> Question[w.DecisionDetail]:
        """A decision with its context, what else was open, what was chosen elsewhere in the same context, and why."""
        return Question(run_path(run, "decisions", str(at)))

    @listed
    def attributions(self, run: str, *, limit: int | None = None) -> Listing[w.Attribution]:
        """Why each tool was called, and where every value in its arguments is from."""
        return Listing(run_path(run, "attributions"), {}, limit)

    @asked
    def why(self, run: str, at: int | str) -> Question[w.Attribution]:
        """Why the tool was called that this event is part of, and where every value in its arguments is from."""
        return Question(run_path(run, "attributions", str(at)))

    @asked
    def causes(
        self, run: str, at: int | str, *, direction: Literal["back", "forward", "both"] = "both"
    ) -> Question[w.CausalGraph]:
        """What this event rests on, back to the user's words, and what rested on it."""
        return Question(run_path(run, "causes", str(at)), {"direction": direction})
