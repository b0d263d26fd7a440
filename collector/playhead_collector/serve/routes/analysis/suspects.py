"""[serve]: routes for the steps of a run that most likely went wrong."""

import dataclasses
import json
from typing import Annotated, Any, cast

from fastapi import APIRouter, Body, Query, Request, Response

from playhead.wire.operations.suspects import RerankedSuspects, Suspects
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.reasoning.explanation import no_model
from playhead_collector.analysis.suspects.asked_order import RERANKED, ask_for_order
from playhead_collector.read.scores import read_outcome
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get, refusals
from playhead_collector.serve.schemas import schema

# Each sibling is read completely, like the run itself.
MAX_SIBLINGS = 5
_SIBLINGS = "Runs of the same task that succeeded"
Siblings = Annotated[list[str] | None, Query(max_length=MAX_SIBLINGS, description=f"{_SIBLINGS}; repeated.")]
ListedSiblings = Annotated[list[str] | None, Body(embed=True, max_length=MAX_SIBLINGS, description=f"{_SIBLINGS}.")]
_NO_NUL = r"^[^\x00]+$"
# Without `name`: runs of one name have many different tasks, and no index finds them.
_TASKS = r"^(input|session|user|tag:[^\x00]*)$"
_TASK = (
    "What runs of one task have in common: `input`, `session`, `user`, or `tag:` and what the tag begins with; "
    "default: `tag:task:`, of a run without such a tag `input`."
)
_OUTCOME = (
    "When a run has succeeded: a score as NAME, NAME=VALUE or NAME>=NUMBER; default: the newest score of this run that "
    "is false or below 0.5, without any the status."
)
_FIND = "Whether succeeded runs of the same task are looked for when none are named."
Task = Annotated[str | None, Query(max_length=300, pattern=_TASKS, description=_TASK)]
Outcome = Annotated[str | None, Query(max_length=500, pattern=_NO_NUL, description=_OUTCOME)]
FindSiblings = Annotated[bool, Query(description=_FIND)]
GivenTask = Annotated[str | None, Body(embed=True, max_length=300, pattern=_TASKS, description=_TASK)]
GivenOutcome = Annotated[str | None, Body(embed=True, max_length=500, pattern=_NO_NUL, description=_OUTCOME)]
GivenFindSiblings = Annotated[bool, Body(embed=True, description=_FIND)]


class SuspectsRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers, configured: Configured) -> None:
        self._asking, self._configured = asking, configured

    async def suspects(
        self,
        request: Request,
        run: params.RunId,
        sibling: Siblings = None,
        task: Task = None,
        outcome: Outcome = None,
        find_siblings: FindSiblings = True,
        limit: params.Limit = 10,
    ) -> Response:
        """Steps of a failed run that most likely went wrong, ranked, each with its evidence and how strong that is.

        The run is also compared with runs of the same task that succeeded: those in `sibling`; without any, with the
        newest five that are found. `siblings` says which these are, and how it is known that they succeeded.
        """
        find = _find_options(task, outcome) if find_siblings else None
        return await self._answer(request, run, sibling, find, limit)

    async def _answer(
        self, request: Request, run: str, siblings: list[str] | None, find: dict[str, Any] | None, limit: int
    ) -> Response:
        if find is not None and not siblings:
            await self._asking.catch_up()
        return await self._asking.answer(request, "suspects", run, *(siblings or ()), limit=limit, find=find)

    async def rerank(
        self,
        request: Request,
        run: params.RunId,
        siblings: ListedSiblings = None,
        task: GivenTask = None,
        outcome: GivenOutcome = None,
        find_siblings: GivenFindSiblings = True,
    ) -> Response:
        """Ask a model in which order it would suspect the ten first suspects.

        The order is the opinion of the model that the operator configured, and stands beside what was computed. 409
        when none is configured, 502 when it does not answer. The model is asked each time.
        """
        explainer = self._configured.explainer
        if explainer is None:
            raise no_model()
        find = _find_options(task, outcome) if find_siblings else None
        computed = await self._answer(request, run, siblings, find, RERANKED)
        suspects = cast(Suspects, json.loads(bytes(computed.body)))
        return json_answer(await ask_for_order(explainer, suspects, self._configured.clock()))


def _find_options(task: str | None, outcome: str | None) -> dict[str, Any]:
    """Returns the options of `read_succeeded_runs` as JSON values. Raises Refused."""
    condition = read_outcome(outcome)
    return {"task": task, "outcome": None if condition is None else dataclasses.asdict(condition)}


def add_routes(api: APIRouter, asking: AnalysisHandlers, configured: Configured) -> None:
    """Registers the operations of this file."""
    routes = SuspectsRoutes(asking, configured)
    get(api, "why", "/runs/{run}/suspects", routes.suspects, Suspects)
    answer = schema(RerankedSuspects)
    post = api.post("/runs/{run}/suspects/rerank", tags=["why"], response_model=answer, responses=refusals(409, 502))
    post(routes.rerank)
