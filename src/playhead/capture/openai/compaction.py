"""`responses.compact()` of `openai`: the provider makes a conversation shorter when the program asks for it.

The answer has the user's messages as they were, and one item that stands for all others. The item is encrypted: only
the provider can read it. The call is a model call of operation `compact`, with its own usage.
"""

from dataclasses import replace

from playhead.capture.client_methods import ClientApi
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.openai import responses
from playhead.capture.openai.replay import restore
from playhead.capture.stainless import end_with_result
from playhead.capture.wrapping import MethodCall
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_of


def _read_request(call: MethodCall) -> ObservedRequest:
    return replace(responses.read_request(call.client, call.kwargs, call.method), operation="compact")


def _read(raw: Json | None) -> ObservedResponse | None:
    """Reads an answer; None if there is none. It is not remembered: no response follows it by its id."""
    if raw is None:
        return None
    response = responses.model_response(raw)
    attributes = {name: value for name, value in response.attributes.items() if name != names.FINISH_REASONS}
    return ObservedResponse(response.messages, raw, response.reasoning, attributes)


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    return restore(raw, call.kwargs, call.client, method=call.method, is_async=call.is_async, ending=ending)


def _with_message(raw: object, message: str | JsonMapping, call: MethodCall) -> Json:
    """Returns the recorded answer with these items. Raises CannotRestore for anything but `{"output": [...]}`: the
    program goes on with a list of items."""
    output = object_of(message).get("output")
    if not isinstance(output, list):
        raise CannotRestore('a compaction is a list of items: give the outcome as {"output": [...]}')
    return {"id": "resp_playhead", "object": "response.compaction", "created_at": 0, **object_of(raw), "output": output}


def _with_edit(call: MethodCall, messages: list[JsonValue] | None, system: str | None) -> MethodCall | None:
    kwargs = responses.with_edit(call.kwargs, messages, system)
    return None if kwargs is None else call.with_kwargs(kwargs)


COMPACTION = ClientApi(
    read_request=_read_request,
    is_streamed=lambda call: False,
    read_response=lambda response, run, call: _read(responses.plain_response(response)),
    assemble=lambda events, run, call: None,
    read_recorded=lambda raw, run, call: _read(raw),
    restore=_restore,
    with_message=_with_message,
    with_edit=_with_edit,
    end_with_result=end_with_result,
    one_shot=("input",),
)
