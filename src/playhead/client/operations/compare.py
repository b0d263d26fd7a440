"""[client]: how two runs differ"""

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.answers.analysis.compare import Comparison


class CompareOperations:
    """How two runs differ"""

    @client_method
    def compare(self, a: str, b: str, *, limit: int | None = None, cursor: str | None = None) -> ApiRequest[Comparison]:
        """How two runs differ: what they have in common, where they part, which calls stand for which, what came of it.

        `items` holds up to `limit` pairs (default 100) behind the common part; `cursor` is `next_cursor` of the answer
        before."""
        other = run_path(b).removeprefix("runs/")
        return ApiRequest(f"{run_path(a)}/compare/{other}", {"limit": limit, "cursor": cursor})
