"""[client]: decisions of the agents."""

from playhead.client.operation import ApiRequest, PagedRequest, client_method, paged_client_method, run_path
from playhead.wire.operations.why import Decision, DecisionDetail, DecisionTree


class DecisionsOperations:
    """Decisions of the agents."""

    @paged_client_method
    def decisions(self, run: str, *, limit: int | None = None) -> PagedRequest[Decision]:
        """Decisions of the agents: tools, tool arguments, answers, handoffs, approvals, branches, stops."""
        return PagedRequest(run_path(run, "decisions"), {}, limit)

    @client_method
    def decision(self, run: str, at: int | str) -> ApiRequest[DecisionDetail]:
        """A decision with its context, reasons and options, and the choices of other calls with the same context."""
        return ApiRequest(run_path(run, "decisions", str(at)))

    @client_method
    def tree(self, run: str, *, limit: int = 100, cursor: str | None = None) -> ApiRequest[DecisionTree]:
        """The tree of the run's decisions: those that it took, options that it did not take, and runs that decided
        differently.

        `cursor` is the `next_cursor` of the previous answer.
        """
        return ApiRequest(run_path(run, "tree"), {"limit": limit, "cursor": cursor})
