"""[client]: the steps of a run that most likely went wrong."""

from collections.abc import Sequence

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.answers.analysis.suspects import RerankedSuspects, Suspects


class SuspectsOperations:
    """The steps of a run that most likely went wrong."""

    @client_method
    def suspects(self, run: str, *, siblings: Sequence[str] = (), limit: int | None = None) -> ApiRequest[Suspects]:
        """Steps of a failed run that most likely went wrong, ranked, with evidence.

        `siblings`: at most five runs of the same task that succeeded, to compare with.
        """
        return ApiRequest(run_path(run, "suspects"), {"sibling": list(siblings) or None, "limit": limit})

    @client_method
    def rerank_suspects(self, run: str, *, siblings: Sequence[str] = ()) -> ApiRequest[RerankedSuspects]:
        """The ten first suspects, and their order according to the model that the collector's operator configured.

        The answer may take a minute: set `timeout_seconds` of the client accordingly.  Raises Conflict if no model is
        configured.
        """
        return ApiRequest(run_path(run, "suspects", "rerank"), body={"siblings": list(siblings)})
