"""[client]: tokens and cost of a run's contexts."""

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire import operations


class TokensOperations:
    """Tokens and cost of a run's contexts."""

    @client_method
    def tokens(
        self, run: str, *, limit: int = 1_000, cursor: str | None = None, split: bool = False
    ) -> ApiRequest[operations.TokenTimeline]:
        """Sizes of the contexts in tokens, limits of the models, usage, cost and cache hits.

        `cursor` is the `next_cursor` of the previous answer. `split`: also what each context consists of.
        """
        return ApiRequest(run_path(run, "tokens"), {"limit": limit, "cursor": cursor, "split": split or None})
