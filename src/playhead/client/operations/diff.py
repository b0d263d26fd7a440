"""[client]: differences between two events of a run."""

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.operations.moments import Diff


class DiffOperations:
    """Differences between two events of a run."""

    @client_method
    def diff(
        self, run: str, before: int | str | None = None, after: int | str | None = None, *, hydrate: bool = True
    ) -> ApiRequest[Diff]:
        """Differences at event `after` (default: the last), compared to event `before` (default: the first)."""
        return ApiRequest(run_path(run, "diff"), {"from": before, "to": after, "hydrate": hydrate})
