"""[client]: the steps of a run that most likely went wrong."""

from collections.abc import Sequence

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.answers.analysis.suspects import RerankedSuspects, Suspects


class SuspectsOperations:
    """The steps of a run that most likely went wrong."""

    @client_method
    def suspects(
        self,
        run: str,
        *,
        siblings: Sequence[str] = (),
        task: str | None = None,
        outcome: str | None = None,
        find_siblings: bool = True,
        limit: int | None = None,
    ) -> ApiRequest[Suspects]:
        """Steps of a failed run that most likely went wrong, ranked, with evidence.

        `siblings`: at most five runs of the same task that succeeded, to compare with.  Without any, the newest five
        are found, unless `find_siblings` is False: runs of the same `task` (`input`, `session`, `user`, or `tag:` and
        what the tag begins with; default: `tag:task:`, of a run without such a tag `input`) that succeeded by
        `outcome` (a score as NAME, NAME=VALUE or NAME>=NUMBER; default: the newest score of this run that is false or
        below 0.5, without any the status).  `siblings` of the answer says which were used.
        """
        finding = {"task": task, "outcome": outcome, "find_siblings": None if find_siblings else False}
        return ApiRequest(run_path(run, "suspects"), {"sibling": list(siblings) or None, **finding, "limit": limit})

    @client_method
    def rerank_suspects(
        self,
        run: str,
        *,
        siblings: Sequence[str] = (),
        task: str | None = None,
        outcome: str | None = None,
        find_siblings: bool = True,
    ) -> ApiRequest[RerankedSuspects]:
        """The ten first suspects, and their order according to the model that the collector's operator configured.

        Siblings are those of `suspects`.
        The answer may take a minute: set `timeout_seconds` of the client accordingly.  Raises Conflict if no model is
        configured.
        """
        body = {"siblings": list(siblings), "task": task, "outcome": outcome, "find_siblings": find_siblings}
        return ApiRequest(run_path(run, "suspects", "rerank"), body=body)
