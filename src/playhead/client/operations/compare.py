"""[client]: comparison of two runs."""

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.operations.compare import Comparison


class CompareOperations:
    """Comparison of two runs."""

    @client_method
    def compare(self, a: str, b: str, *, limit: int | None = None, cursor: str | None = None) -> ApiRequest[Comparison]:
        """Comparison of two runs: common beginning, first difference, pairs of corresponding calls, outcomes.

        `items` has up to `limit` pairs (default 100) after the common beginning; `cursor` is the `next_cursor` of the
        previous answer."""
        other = run_path(b).removeprefix("runs/")
        return ApiRequest(f"{run_path(a)}/compare/{other}", {"limit": limit, "cursor": cursor})
