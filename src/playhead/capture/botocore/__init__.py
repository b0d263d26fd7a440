"""`botocore` (and so boto3): models on Amazon Bedrock, by Converse or by their own APIs, and no other service.

All calls of all services go through one method of the client, so the name of the service is checked first. The client's
own retries happen inside that method, so they are one call here. A call ends with the client's response, or when its
stream or body is read. `aiobotocore` has an instrumentation of its own, beside this one.
"""

import base64
from collections.abc import Mapping
from functools import partial
from typing import Any

from playhead.calls.run import ActiveRun
from playhead.capture.botocore import converse, invoke
from playhead.capture.botocore.converse import sent
from playhead.capture.botocore.streams import STREAMED, ObservedBody, ObservedEvents, restore, with_own_error
from playhead.capture.client_methods import ClientApi, MethodRecording, begin_method
from playhead.capture.model_call import ObservedModelCall, ObservedResponse
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.capture.streams import StreamRecording
from playhead.capture.wrapping import MethodCall, wrap
from playhead.compat.botocore import replace_stream
from playhead.model.json_value import Json, JsonValue

SUPPORTS = "botocore >= 1.35"

_SERVICE = "bedrock-runtime"


# --- the end of a call ------------------------------------------------------------------------------------------------

_KEPT_HEADERS = frozenset({"x-amzn-requestid", "content-type"})
_COUNT_HEADERS = "x-amzn-bedrock-"
_BODY = "body"


def record_converse(
    api: ClientApi, observed: ObservedModelCall, result: dict[str, Any], call: MethodCall
) -> dict[str, Any]:
    """`EndCall` of Converse: the answer is a dictionary, or a stream of events in one."""
    run, headers = observed.span.run, kept_headers(result)
    if call.args[0] in STREAMED:
        recording = StreamRecording(observed, lambda seen: streamed_response(api, run, headers, seen, call))
        result["stream"] = ObservedEvents(result["stream"], recording, sent)
        return result
    body = sent({name: value for name, value in result.items() if name != "ResponseMetadata"})
    observed.end(lambda: api.read_recorded({"headers": headers, "body": body}, run, call))
    return result


def record_invoked(
    api: ClientApi, observed: ObservedModelCall, result: dict[str, Any], call: MethodCall
) -> dict[str, Any]:
    """`EndCall` of InvokeModel: the answer is a body to read, or a stream of chunks."""
    run, headers = observed.span.run, kept_headers(result)
    if call.args[0] in STREAMED:
        recording = StreamRecording(observed, lambda seen: streamed_response(api, run, headers, seen, call))
        result[_BODY] = ObservedEvents(result[_BODY], recording, kept_chunk)
        return result
    recording = body_recording(api, observed, headers, call)
    replace_stream(result[_BODY], lambda stream, length: ObservedBody(stream, length_of(length), recording))
    return result


def body_recording(api: ClientApi, observed: ObservedModelCall, headers: Json, call: MethodCall) -> StreamRecording:
    """Returns the recording of a body, which ends the call when the program has read it; its chunks are bytes."""
    run = observed.span.run
    return StreamRecording(
        observed, lambda seen: api.read_recorded({"headers": headers, **kept_bytes(b"".join(seen))}, run, call)
    )


def length_of(header: object) -> int | None:
    """Returns the value of a header `content-length`; None if it is not a number."""
    return int(str(header)) if str(header).isdecimal() else None


def kept_headers(result: Mapping[str, Any]) -> Json:
    """Returns the response's headers that tell about the answer: request id, content type, token counts."""
    headers: Mapping[str, str] = result.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return {name: value for name, value in headers.items() if name in _KEPT_HEADERS or name.startswith(_COUNT_HEADERS)}


def kept_bytes(data: bytes) -> Json:
    """Returns a body as a JSON value: text, or base64 if it is not UTF-8.  It can be restored byte for byte."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def streamed_response(
    api: ClientApi, run: ActiveRun, headers: Json, seen: list[Any], call: MethodCall
) -> ObservedResponse | None:
    """Reads the events of a stream received so far."""
    return api.read_recorded({"headers": headers, "stream": seen}, run, call)


def kept_chunk(event: Any) -> JsonValue:
    """Returns an event of an invoked model's stream as a JSON value."""
    return {"chunk": kept_bytes(event["chunk"].get("bytes", b""))} if "chunk" in event else sent(event)


# --- the APIs ---------------------------------------------------------------------------------------------------------


def _is_streamed(call: MethodCall) -> bool:
    return call.args[0] in STREAMED


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    return restore(raw, call.client, call.args[0], ending)


CONVERSE = ClientApi(
    read_request=converse.read_request,
    is_streamed=_is_streamed,
    read_response=lambda raw, run, call: converse.read_recorded(raw),
    assemble=lambda chunks, run, call: None,  # `record_converse` reads its streams
    read_recorded=lambda raw, run, call: converse.read_recorded(raw),
    restore=_restore,
    with_message=lambda raw, message, call: converse.with_message(raw, message, streamed=_is_streamed(call)),
    with_edit=converse.with_edit,
    end_with_result=record_converse,
)
INVOKE = ClientApi(
    read_request=invoke.read_request,
    is_streamed=_is_streamed,
    read_response=lambda raw, run, call: invoke.read_recorded(raw, call),
    assemble=lambda chunks, run, call: None,  # `record_invoked` reads its streams
    read_recorded=lambda raw, run, call: invoke.read_recorded(raw, call),
    restore=_restore,
    with_message=invoke.with_message,
    with_edit=lambda call, messages, system: invoke.with_edit(call, messages),
    end_with_result=record_invoked,
)


def apis(converse: ClientApi, invoke: ClientApi) -> Mapping[str, ClientApi]:
    """Returns the recorded operations, each with its API."""
    return {
        "Converse": converse,
        "ConverseStream": converse,
        "InvokeModel": invoke,
        "InvokeModelWithResponseStream": invoke,
    }


# --- the wrapped method -----------------------------------------------------------------------------------------------


def begin_api_call(apis: Mapping[str, ClientApi], call: MethodCall) -> MethodRecording | None:
    """Begins to record `_make_api_call(operation_name, api_params)`, which every method of every client calls."""
    if call.client.meta.service_model.service_name != _SERVICE or len(call.args) != len(("operation", "parameters")):
        return None
    api = apis.get(call.args[0])
    recording = None if api is None else begin_method(api, call)
    if recording is not None and recording.observed.answer is not None:
        recording.observed.answer = with_own_error(recording.observed.answer, call.client)
    return recording


_make_api_call = wrap(partial(begin_api_call, apis(CONVERSE, INVOKE)))
_botocore = Instrumentation([Wrap("botocore.client", "BaseClient._make_api_call", _make_api_call)])
patch, unpatch = _botocore.patch, _botocore.unpatch
BotocoreInstrumentor = instrumentor("BotocoreInstrumentor", SUPPORTS, patch, unpatch)
