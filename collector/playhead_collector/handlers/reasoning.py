"""Handlers of a model's reasoning, and of what is sent to a model that the operator configured: explain, ask again."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from playhead.model.canonical import Content
from playhead.wire.operations.reasoning import AskedAgain, Explanation, Reasoning, ReasoningOperations
from playhead_collector.analysis.reasoning.explanation import (
    ExplanationBrief,
    keep_explanation,
    known_explanation,
)
from playhead_collector.analysis.reasoning.reasoning import answer_reasoning
from playhead_collector.errors import CollectorError, Refused
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.handlers.replies import BytesReply, EventStreamReply
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.content import parse_ref
from playhead_collector.read.record import RunRecord

_EVENT_STREAM = "text/event-stream"


@handles(ReasoningOperations.reasoning)
async def reasoning(asking: Asking, run: str, at: int | str) -> Reasoning:
    settings = asking.settings
    return await answer_reasoning(await asking.record(run), str(at), settings.reasoning_tag, settings.explainer_model)


# --- explanations ----------------------------------------------------------------------------------------------------


@handles(ReasoningOperations.explain, waits=True)
async def explain(
    asking: Asking, run: str, at: int | str | None = None, *, stream: bool = False, again: bool = False
) -> Explanation | BytesReply | EventStreamReply:
    explainer = asking.explainer
    record = await asking.record(run)
    brief = await _brief(asking, record, None if at is None else str(at))
    stored = None if again else await known_explanation(record, brief, explainer.model)
    is_streamed = stream or _EVENT_STREAM in asking.request.accept
    if stored is not None:
        return BytesReply(Content(_event("explanation", stored), _EVENT_STREAM)) if is_streamed else stored
    pieces = explainer.ask(brief.messages)
    # Wait for the first piece before responding, so that the response can be an error if the model does not answer.
    first = await anext(pieces, None)
    if is_streamed:
        return EventStreamReply(_stream(asking, record, brief, first, pieces))
    text = (first or "") + "".join([piece async for piece in pieces])
    return await _keep(asking, record, brief, text)


async def _brief(asking: Asking, record: RunRecord, moment: str | None) -> ExplanationBrief:
    value: dict[str, Any] = await asking.compute("brief", (record.run,), {"at": moment})
    value["refs"] = [parse_ref(ref) for ref in value["refs"]]
    return ExplanationBrief(**value)


async def _keep(asking: Asking, record: RunRecord, brief: ExplanationBrief, text: str) -> Explanation:
    [stored] = await asking.masked([text])
    return await keep_explanation(record, brief, asking.explainer.model, stored, asking.services.clock)


async def _stream(
    asking: Asking, record: RunRecord, brief: ExplanationBrief, first: str | None, pieces: AsyncGenerator[str]
) -> AsyncIterator[bytes]:
    received = [first] if first else []
    yield b"".join(_event("text", {"text": piece}) for piece in received)
    try:
        async with aclosing(pieces) as rest:
            async for piece in rest:
                received.append(piece)
                yield _event("text", {"text": piece})
        yield _event("explanation", await _keep(asking, record, brief, "".join(received)))
    except CollectorError as error:
        code = error.code if isinstance(error, Refused) else "store_unavailable"
        yield _event("error", {"error": {"code": code, "message": str(error)}})


def _event(name: str, value: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + json_bytes(value) + b"\n\n"


# --- asking a call again ---------------------------------------------------------------------------------------------


@handles(ReasoningOperations.ask_again, waits=True)
async def ask_again(
    asking: Asking,
    run: str,
    at: int | str | None = None,
    *,
    model: str | None = None,
    system: str | None = None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    settings: Mapping[str, int | float | str | Sequence[str] | None] | None = None,
) -> AskedAgain:
    from playhead_collector.analysis.ask_again import Changes, ask, prepare  # noqa: PLC0415 - few ask for it

    record = await asking.record(run)
    changes = Changes(model, system, messages, settings)
    async with asking.services.asking_models():
        async with asking.services.reading():
            question = await prepare(record, None if at is None else str(at), changes, asking.chat_models)
        return await ask(question, asking.chat_models, asking.services.clock, asking.masked)
