"""`responses.retrieve()`: records the polling of a response that runs in the background.

Each poll is one call of operation `fetch_response`. Its input is the response's input. Tokens count once: in the first
call that gets the ended response.
"""

from collections.abc import Mapping
from typing import Any

from playhead.calls.lifecycle import current_span
from playhead.calls.run import ActiveRun
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


def _id_of(call: MethodCall) -> str:
    return str(call.args[0] if call.args else call.kwargs.get("response_id", ""))


def _named(call: MethodCall) -> dict[str, Any]:
    """Returns the keyword arguments with the id, which the program may pass by position."""
    return {**call.kwargs, "response_id": _id_of(call)}


def _read_request(call: MethodCall) -> ModelRequest:
    response_id, above = _id_of(call), current_span()
    run = above.run if above is not None else None
    response = known_response(run, response_id)
    settings, attributes = settings_of(_named(call), TRANSPORT, {"stream": names.REQUEST_STREAM}, described)
    return ModelRequest(
        provider=provider_of(call.client),
        operation="fetch_response",
        model=response.model if response is not None else "",
        messages=items_asked(run, response_id),
        to_message=to_message,
        from_message=dialect.from_message,
        settings=settings,
        attributes=attributes,
        shape={"dialect": dialect.NAME, "input": "absent", "before": 0},
    )


def _remembered(raw: dict[str, Any] | None, run: ActiveRun, call: MethodCall) -> ModelResponse | None:
    if raw is None:
        return None
    response, remembered = model_response(raw), known_response(run, _id_of(call))
    if remembered is not None and remembered.is_ended:
        response.attributes = _without_tokens(response.attributes)
    remember_retrieved(run, _id_of(call), whole(raw))
    return response


def _without_tokens(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name not in _TOKENS}


def _restore(raw: Any, call: MethodCall, ending: BaseException | None) -> Any:
    return restore(raw, _named(call), call.client, method=call.method, is_async=call.is_async, ending=ending)


def _with_message(raw: Any, message: Any, call: MethodCall) -> Any:
    return with_message(raw, message, model="", streamed=call.kwargs.get("stream") is True)


RETRIEVAL = ClientApi(
    read_request=_read_request,
    is_streamed=lambda call: bool(call.kwargs.get("stream")),
    read_response=lambda response, run, call: _remembered(plain_response(response), run, call),
    assemble=lambda events, run, call: _remembered(plain_stream(events), run, call),
    read_recorded=_remembered,
    restore=_restore,
    with_message=_with_message,
    with_edit=lambda call, messages, system: None,
    record_result=record_result,
)
