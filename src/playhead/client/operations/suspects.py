"""[client]: the steps of a run that most likely went wrong."""

from collections.abc import Sequence

from playhead.client.operation import ApiRequest, client_method, run_path
from playhead.wire.operations.suspects import RerankedSuspects, Suspects


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

        `siblings`: at most five succeeded runs of the same task, to compare with. If none are given, the newest five
        are looked up, unless `find_siblings` is False; the `siblings` of the answer names them.

        `task`: what runs of the same task have in common: `input`, `session`, `user`, or `tag:` and the beginning of
        the tag; default: `tag:task:`, or `input` if the run has no such tag. `outcome`: the score that says whether a
        run succeeded, as NAME, NAME=VALUE or NAME>=NUMBER; default: the newest score of this run that is false or below
        0.5; if there is none, the status.
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
        """The first ten suspects, and their order according to the model that the collector's operator configured.

        The parameters are those of `suspects`. The answer may take a minute: set `timeout_seconds` of the client
        accordingly. Raises Conflict if no model is configured.
        """
        body = {"siblings": list(siblings), "task": task, "outcome": outcome, "find_siblings": find_siblings}
        return ApiRequest(run_path(run, "suspects", "rerank"), body=body)
