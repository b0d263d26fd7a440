"""[serve]: routes for a model's reasoning, and for explanations by another model, streamed or whole."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response
from fastapi.responses import StreamingResponse

from playhead.wire import operations
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
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import Responses, get, refusals
from playhead_collector.serve.schemas import schema
from playhead_collector.workers.questions import AnalysisQuestion

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

    def __init__(self, asking: AnalysisHandlers, configured: Configured) -> None:
        self._asking, self._configured = asking, configured

    async def reasoning(
        self,
        request: Request,
        run: params.RunId,
        seq: params.AtEvent,
    ) -> Response:
        """Reasoning of the model at the call that the event belongs to.

        Four parts: thinking that the provider returned, structured reasoning in the model's text, what can be inferred
        from the call's input, and a stored explanation, if there is one.
        """
        explainer = self._configured.explainer
        model = explainer.model if explainer else None
        return await self._asking.answer(request, "reasoning", run, at=seq, model=model)

    async def explain(
        self, request: Request, run: params.RunId, seq: Seq = None, stream: Stream = False, again: Again = False
    ) -> Response:
        """Ask a model to explain a decision or the whole run: goal, key decisions, mistakes, alternatives.

        The answer is the opinion of the model that the operator configured. 409 when none is configured, 502 when it
        does not answer. The explanation is stored and returned again without asking the model, unless `again` is true.
        A stream has events `text` (`{"text": a piece}`), then `explanation` (the whole answer) or `error`.
        """
        explainer = self._configured.explainer
        if explainer is None:
            raise no_model()
        record = await self._asking.record(run)
        brief = await self._brief(request, record, None if seq is None else str(seq))
        stored = None if again else await known_explanation(record, brief, explainer.model)
        streamed = stream or STREAM in request.headers.get("accept", "")
        if stored is not None:
            return _one_event(stored) if streamed else json_answer(stored)
        pieces = explainer.ask(brief.messages)
        # Wait for the first piece before responding, so that the response can be an error if the model does not answer.
        first = await anext(pieces, None)
        if streamed:
            return StreamingResponse(self._stream(record, brief, explainer, first, pieces), media_type=STREAM)
        text = (first or "") + "".join([piece async for piece in pieces])
        return json_answer(await self._keep(record, brief, explainer, text))

    async def _brief(self, request: Request, record: RunRecord, moment: str | None) -> ExplanationBrief:
        body = await self._asking.answered(request, AnalysisQuestion("brief", (record.run,), {"at": moment}))
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
        yield b"".join(_event("text", {"text": piece}) for piece in received)
        try:
            async with aclosing(pieces) as rest:
                async for piece in rest:
                    received.append(piece)
                    yield _event("text", {"text": piece})
            yield _event("explanation", await self._keep(record, brief, explainer, "".join(received)))
        except CollectorError as error:
            code = error.code if isinstance(error, Refused) else "store_unavailable"
            yield _event("error", {"error": {"code": code, "message": str(error)}})


def _one_event(value: Any) -> Response:
    return Response(_event("explanation", value), media_type=STREAM)


def _event(name: str, value: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + json_bytes(value) + b"\n\n"


def add_routes(api: APIRouter, asking: AnalysisHandlers, configured: Configured) -> None:
    """Registers the operations of this file."""
    routes = ReasoningRoutes(asking, configured)
    get(api, "moments", "/runs/{run}/reasoning/{seq}", routes.reasoning, operations.Reasoning)
    answer, responses = schema(operations.Explanation), _EXPLAINED | refusals(409, 502)
    explain = api.post("/runs/{run}/explain", tags=["moments"], response_model=answer, responses=responses)
    explain(routes.explain)
