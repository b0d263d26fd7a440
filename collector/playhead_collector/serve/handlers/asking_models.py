"""Routes that send something to a model, which the operator configured: explain, ask a call again.

Beside them is the route whose answer they add to: a model's reasoning at a call. An explanation can be streamed.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Body, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from playhead.wire import operations
from playhead.wire.operations.reasoning import AskedAgain
from playhead.wire.operations.suspects import SuspectOperations
from playhead_collector.analysis.ask_again import Changes, ask, no_model_to_ask, prepare
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.reasoning.explanation import (
    Explainer,
    ExplanationBrief,
    keep_explanation,
    known_explanation,
    no_model,
)
from playhead_collector.errors import CollectorError, Refused
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.content import parse_ref
from playhead_collector.read.record import RunRecord
from playhead_collector.serve import routing
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.operations import OperationRoutes
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import ApiRoutes, Responses, conflict, get, refusals, schema
from playhead_collector.workers.questions import AnalysisQuestion

# --- reasoning and explanations --------------------------------------------------------------------------------------

STREAM = "text/event-stream"
_EXPLAINED: Responses = {
    200: {
        "description": "The explanation. Streamed: events `text`, `explanation` and `error`.",
        "content": {STREAM: {}},
    }
}
Seq = Annotated[
    int | str | None,
    Body(description="A seq, an event id or `turn:N`: explain the decision it belongs to; default: the whole run."),
]
Stream = Annotated[bool, Body(description="Stream the answer, as with `Accept: text/event-stream`.")]
Again = Annotated[bool, Body(description="Ask the model again, although an explanation is stored.")]


class ReasoningRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, analysis: AnalysisHandlers, configured: Configured) -> None:
        self._analysis, self._configured = analysis, configured

    async def reasoning(
        self,
        request: Request,
        run: routing.RunId,
        seq: routing.AtEvent,
    ) -> Response:
        """Reasoning of the model at the call that the event belongs to.

        Four parts: thinking that the provider returned, structured reasoning in the model's text, what can be inferred
        from the call's input, and a stored explanation, if there is one.
        """
        explainer = self._configured.explainer
        model = explainer.model if explainer else None
        return await self._analysis.answer(request, "reasoning", run, at=seq, model=model)

    async def explain(
        self, request: Request, run: routing.RunId, seq: Seq = None, stream: Stream = False, again: Again = False
    ) -> Response:
        """Ask a model to explain a decision or the whole run: goal, key decisions, mistakes, alternatives.

        The answer is the opinion of the model that the operator configured. 409 when none is configured, 502 when it
        does not answer. The explanation is stored and returned again without asking the model, unless `again` is true.
        A stream has events `text` (`{"text": a piece}`), then `explanation` (the whole answer) or `error`.
        """
        explainer = self._configured.explainer
        if explainer is None:
            raise no_model()
        record = await self._analysis.record(run)
        brief = await self._brief(request, record, None if seq is None else str(seq))
        stored = None if again else await known_explanation(record, brief, explainer.model)
        streamed = stream or STREAM in request.headers.get("accept", "")
        if stored is not None:
            return _explanation_event(stored) if streamed else json_answer(stored)
        pieces = explainer.ask(brief.messages)
        # Wait for the first piece before responding, so that the response can be an error if the model does not answer.
        first = await anext(pieces, None)
        if streamed:
            return StreamingResponse(self._stream(record, brief, explainer, first, pieces), media_type=STREAM)
        text = (first or "") + "".join([piece async for piece in pieces])
        return json_answer(await self._keep(record, brief, explainer, text))

    async def _brief(self, request: Request, record: RunRecord, moment: str | None) -> ExplanationBrief:
        body = await self._analysis.answered(request, AnalysisQuestion("brief", (record.run,), {"at": moment}))
        value: dict[str, Any] = json.loads(body)
        value["refs"] = [parse_ref(ref) for ref in value["refs"]]
        return ExplanationBrief(**value)

    async def _keep(self, record: RunRecord, brief: ExplanationBrief, explainer: Explainer, text: str) -> Any:
        return await keep_explanation(record, brief, explainer.model, text, self._configured.clock)

    async def _stream(
        self,
        record: RunRecord,
        brief: ExplanationBrief,
        explainer: Explainer,
        first: str | None,
        pieces: AsyncGenerator[str],
    ) -> AsyncIterator[bytes]:
        received = [first] if first else []
        yield b"".join(_stream_event("text", {"text": piece}) for piece in received)
        try:
            async with aclosing(pieces) as rest:
                async for piece in rest:
                    received.append(piece)
                    yield _stream_event("text", {"text": piece})
            yield _stream_event("explanation", await self._keep(record, brief, explainer, "".join(received)))
        except CollectorError as error:
            code = error.code if isinstance(error, Refused) else "store_unavailable"
            yield _stream_event("error", {"error": {"code": code, "message": str(error)}})


def _explanation_event(value: Any) -> Response:
    return Response(_stream_event("explanation", value), media_type=STREAM)


def _stream_event(name: str, value: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + json_bytes(value) + b"\n\n"


def _add_reasoning(api: ApiRoutes, analysis: AnalysisHandlers, configured: Configured) -> None:
    routes = ReasoningRoutes(analysis, configured)
    get(api, "moments", "/runs/{run}/reasoning/{seq}", routes.reasoning, operations.Reasoning)
    answer, responses = schema(operations.Explanation), _EXPLAINED | refusals(409, 502)
    explain = api.post("/runs/{run}/explain", tags=["moments"], response_model=answer, responses=responses)
    explain(routes.explain)


# --- asking a call again ---------------------------------------------------------------------------------------------


class AskAgainBody(BaseModel):
    """What is asked, and what differs from the record."""

    # Forbidden, because a misspelt field would be ignored: the unchanged call would be sent, and cost money.
    model_config = ConfigDict(extra="forbid")

    at: int | str | None = Field(None, description=f"{routing.MOMENT}: an event of the call; default: the last call.")
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

    def __init__(self, analysis: AnalysisHandlers, configured: Configured) -> None:
        self._analysis, self._configured = analysis, configured
        self._turns = ReadLimiter(configured.max_asked, 0, advice="raise PLAYHEAD_MAX_ASKED")

    async def ask_again(self, run: routing.RunId, body: AskAgainBody) -> Response:
        """Ask a recorded model call again, with another prompt, other messages, or of another model.

        The model is one that the operator configured; it is sent the recorded context and tools, with the changes. Its
        answer is compared with the recorded one, and kept as content beside the run, never as an event of it. 409 when
        no model is configured, 502 when it does not answer.
        """
        models = self._configured.chat_models
        if models is None:
            raise no_model_to_ask()
        record = await self._analysis.record(run)
        changes = Changes(body.model, body.system, body.messages)
        async with self._turns.turn():
            async with self._analysis.reads.turn():
                question = await prepare(record, None if body.at is None else str(body.at), changes, models)
            return json_answer(await ask(question, models, self._configured.clock))


def _add_ask_again(api: ApiRoutes, analysis: AnalysisHandlers, configured: Configured) -> None:
    responses = refusals(413, 502) | conflict("No model is configured that could be asked.")
    add = api.post("/runs/{run}/ask-again", tags=["why"], response_model=schema(AskedAgain), responses=responses)
    add(AskAgainRoutes(analysis, configured).ask_again)


# --- registration ----------------------------------------------------------------------------------------------------


def add_routes(api: ApiRoutes, analysis: AnalysisHandlers, configured: Configured, declared: OperationRoutes) -> None:
    """Registers the operations of this file."""
    for add in (_add_reasoning, _add_ask_again):
        add(api, analysis, configured)
    declared.add(api, SuspectOperations.suspects)
    declared.add(api, SuspectOperations.rerank_suspects)
