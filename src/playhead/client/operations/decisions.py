"""[client]: decisions of the agent"""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.answers.analysis.decisions import Decision, DecisionDetail


class DecisionsOperations:
    """Decisions of the agent"""

    @paged_client_method
    def decisions(self, run: str, *, limit: int | None = None) -> PagedRequest[Decision]:
        """Where the agent chose: tools, their arguments, answers, handoffs, approvals, branches, to stop."""
        return PagedRequest(run_path(run, "decisions"), {}, limit)

    @client_method
    def decision(self, run: str, at: int | str) -> ApiRequest[DecisionDetail]:
        """A decision with its context, what else was open, what was chosen elsewhere in the same context, and why."""
        return ApiRequest(run_path(run, "decisions", str(at)))
