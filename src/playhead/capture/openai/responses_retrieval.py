"""`responses.retrieve()`: records the polling of a response that runs in the background.

Each poll is one call of operation `fetch_response`. Its input is that of the response, and tokens count once, in the
first call that gets the ended response.
"""

from collections.abc import Mapping
from typing import Any

from playhead.api.calls.lifecycle import current_span
from playhead.api.run import ActiveRun
from playhead.capture.client_methods import ClientApi, MethodCall
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.capture.openai.chat_reading import provider_of
from playhead.capture.openai.replay import restore
from playhead.capture.openai.responses_history import items_asked, known_response, remember_retrieved
from playhead.capture.openai.responses_outcome import with_message
from playhead.capture.openai.responses_reading import (
    model_response,
    plain_response,
    plain_stream,
    to_message,
    whole,
)
from playhead.capture.stainless.reading import TRANSPORT, described, settings_of
from playhead.capture.stainless.results import record_result
from playhead.dialect import openai_responses as dialect
from playhead.model import names

_TOKENS = (
    names.INPUT_TOKENS,
    names.OUTPUT_TOKENS,
    names.CACHE_READ_TOKENS,
    names.CACHE_WRITE_TOKENS,
    names.REASONING_TOKENS,
)


def _id_of(asked: MethodCall) -> str:
    return str(asked.args[0] if asked.args else asked.kwargs.get("response_id", ""))


def _named(asked: MethodCall) -> dict[str, Any]:
    """The keyword arguments with the id, which the program may pass by position."""
    return {**asked.kwargs, "response_id": _id_of(asked)}


def _read_request(asked: MethodCall) -> ModelRequest:
    response_id, above = _id_of(asked), current_span()
    run = above.run if above is not None else None
    known = known_response(run, response_id)
    settings, attributes = settings_of(_named(asked), TRANSPORT, {"stream": names.REQUEST_STREAM}, described)
    return ModelRequest(
        provider=provider_of(asked.client),
        operation="fetch_response",
        model=known.model if known is not None else "",
        messages=items_asked(run, response_id),
        to_message=to_message,
        from_message=dialect.from_message,
        settings=settings,
        attributes=attributes,
        shape={"dialect": dialect.NAME, "input": "absent", "before": 0},
    )


def _remembered(raw: dict[str, Any] | None, run: ActiveRun, asked: MethodCall) -> ModelResponse | None:
    if raw is None:
        return None
    response, known = model_response(raw), known_response(run, _id_of(asked))
    if known is not None and known.is_ended:
        response.attributes = _without_tokens(response.attributes)
    remember_retrieved(run, _id_of(asked), whole(raw))
    return response


def _without_tokens(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name not in _TOKENS}


def _restore(raw: Any, asked: MethodCall, ending: BaseException | None) -> Any:
    return restore(raw, _named(asked), asked.client, method=asked.method, is_async=asked.is_async, ending=ending)


def _with_message(raw: Any, message: Any, asked: MethodCall) -> Any:
    return with_message(raw, message, model="", streamed=asked.kwargs.get("stream") is True)


RETRIEVAL = ClientApi(
    read_request=_read_request,
    is_streamed=lambda asked: bool(asked.kwargs.get("stream")),
    read_response=lambda response, run, asked: _remembered(plain_response(response), run, asked),
    assemble=lambda events, run, asked: _remembered(plain_stream(events), run, asked),
    read_recorded=_remembered,
    restore=_restore,
    with_message=_with_message,
    with_edit=lambda asked, messages, system: None,
    record_result=record_result,
)
