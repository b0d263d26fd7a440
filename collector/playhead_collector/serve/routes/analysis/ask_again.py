"""[serve]: route that sends a recorded model call again, to a model that the operator configured."""

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from playhead.wire.operations.reasoning import AskedAgain
from playhead_collector.analysis.ask_again import Changes, ask, no_model_to_ask, prepare
from playhead_collector.analysis.configuration import Configured
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import conflict, refusals
from playhead_collector.serve.schemas import schema


class AskAgainBody(BaseModel):
    """What is asked, and what differs from the record."""

    # Forbidden, because a misspelt field would be ignored: the unchanged call would be sent, and cost money.
    model_config = ConfigDict(extra="forbid")

    at: int | str | None = Field(None, description=f"{params.MOMENT}: an event of the call; default: the last call.")
    model: str | None = Field(
        None, max_length=300, description="One of the configured models; default: PLAYHEAD_EXPLAIN_MODEL."
    )
    system: str | None = Field(None, description="System instructions in place of the recorded ones.")
    messages: list[dict[str, Any]] | None = Field(
        None,
        min_length=1,
        max_length=10_000,
        description="Messages of Chat Completions in place of the recorded ones, but for the system instructions.",
    )


class AskAgainRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers, configured: Configured) -> None:
        self._asking, self._configured = asking, configured
        self._turns = ReadLimiter(configured.max_asked, 0, advice="raise PLAYHEAD_MAX_ASKED")

    async def ask_again(self, run: params.RunId, body: AskAgainBody) -> Response:
        """Ask a recorded model call again, with another prompt, other messages, or of another model.

        The model is one that the operator configured; it is sent the recorded context and tools, with the changes. Its
        answer is compared with the recorded one, and kept as content beside the run, never as an event of it. 409 when
        no model is configured, 502 when it does not answer.
        """
        models = self._configured.asked
        if models is None:
            raise no_model_to_ask()
        record = await self._asking.record(run)
        changes = Changes(body.model, body.system, body.messages)
        async with self._turns.turn():
            async with self._asking.reads.turn():
                question = await prepare(record, None if body.at is None else str(body.at), changes, models)
            return json_answer(await ask(question, models, self._configured.clock))


def add_routes(api: APIRouter, asking: AnalysisHandlers, configured: Configured) -> None:
    """Registers the operations of this file."""
    responses = refusals(413, 502) | conflict("No model is configured that could be asked.")
    add = api.post("/runs/{run}/ask-again", tags=["why"], response_model=schema(AskedAgain), responses=responses)
    add(AskAgainRoutes(asking, configured).ask_again)
