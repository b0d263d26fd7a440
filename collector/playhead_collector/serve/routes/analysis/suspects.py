"""[serve]: routes for the steps of a run that most likely went wrong."""

import json
from typing import Annotated, cast

from fastapi import APIRouter, Body, Query, Request, Response

from playhead.wire.answers.analysis.suspects import RerankedSuspects, Suspects
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.reasoning.explanation import no_model
from playhead_collector.analysis.reasoning.suspect_order import RERANKED, ask_for_order
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import get, refusals
from playhead_collector.serve.schemas import schema

# Each sibling is read as a whole, as the run itself.
MAX_SIBLINGS = 5
_SIBLINGS = "Runs of the same task that succeeded"
Siblings = Annotated[list[str] | None, Query(max_length=MAX_SIBLINGS, description=f"{_SIBLINGS}; repeated.")]
ListedSiblings = Annotated[list[str] | None, Body(embed=True, max_length=MAX_SIBLINGS, description=f"{_SIBLINGS}.")]


class SuspectsRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers, configured: Configured) -> None:
        self._asking, self._configured = asking, configured

    async def suspects(self, request: Request, run: p.RunId, sibling: Siblings = None, limit: p.Limit = 10) -> Response:
        """Steps of a failed run that most likely went wrong, ranked, each with its evidence and how strong that is.

        With `sibling`, also where the run differs from runs of the same task that succeeded.
        """
        return await self._asking.answer(request, "suspects", run, *(sibling or ()), limit=limit)

    async def rerank(self, request: Request, run: p.RunId, siblings: ListedSiblings = None) -> Response:
        """Ask a model in which order it would suspect the ten first suspects.

        The order is the opinion of the model that the operator configured, and stands beside what was computed. 409
        when none is configured, 502 when it does not answer. The model is asked each time.
        """
        explainer = self._configured.explainer
        if explainer is None:
            raise no_model()
        computed = await self._asking.answer(request, "suspects", run, *(siblings or ()), limit=RERANKED)
        suspects = cast(Suspects, json.loads(bytes(computed.body)))
        return json_answer(await ask_for_order(explainer, suspects, self._configured.clock()))


def add_routes(api: APIRouter, asking: AnalysisHandlers, configured: Configured) -> None:
    """Registers the operations of this file."""
    routes = SuspectsRoutes(asking, configured)
    get(api, "why", "/runs/{run}/suspects", routes.suspects, Suspects)
    answer = schema(RerankedSuspects)
    post = api.post("/runs/{run}/suspects/rerank", tags=["why"], response_model=answer, responses=refusals(409, 502))
    post(routes.rerank)
