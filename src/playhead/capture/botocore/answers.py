"""Ends a recorded call of Bedrock with the client's response, or when its stream or body is read."""

import base64
from collections.abc import Mapping
from typing import Any, cast

from playhead.capture.botocore.bodies import ObservedBody, observe_events
from playhead.capture.botocore.replay import STREAMED
from playhead.capture.botocore.wire_values import sent
from playhead.capture.client_methods import ClientApi, MethodCall
from playhead.capture.model_call import ObservedModelCall
from playhead.capture.streams import StreamRecording

_KEPT = frozenset({"x-amzn-requestid", "content-type"})
_COUNTS = "x-amzn-bedrock-"
_BODY = "body"


def record_converse(api: ClientApi, observed: ObservedModelCall, result: Any, call: MethodCall) -> Any:
    """`RecordResult` of Converse: the answer is a dictionary, or a stream of events in one."""
    run, headers = observed.span.run, kept_headers(result)
    if call.args[0] in STREAMED:
        recording = StreamRecording(observed, lambda seen: _events(api, headers, seen, call))
        observe_events(result["stream"], recording, sent)
        return result
    body = sent({name: value for name, value in result.items() if name != "ResponseMetadata"})
    observed.end(lambda: api.read_recorded({"headers": headers, "body": body}, run, call))
    return result


def record_invoked(api: ClientApi, observed: ObservedModelCall, result: Any, call: MethodCall) -> Any:
    """`RecordResult` of InvokeModel: the answer is a body to read, or a stream of chunks."""
    run, headers = observed.span.run, kept_headers(result)
    if call.args[0] in STREAMED:
        recording = StreamRecording(observed, lambda seen: _events(api, headers, seen, call))
        observe_events(result[_BODY], recording, _kept_chunk)
        return result
    body = result[_BODY]
    recording = StreamRecording(
        observed, lambda seen: api.read_recorded({"headers": headers, **kept_bytes(b"".join(seen))}, run, call)
    )
    length: Any = body._content_length
    body._raw_stream = ObservedBody(body._raw_stream, int(length) if str(length).isdecimal() else None, recording)
    return result


def kept_headers(result: Mapping[str, Any]) -> dict[str, str]:
    """Returns the response's headers that tell about the answer: request id, content type, token counts."""
    headers: Mapping[str, str] = result.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return {name: value for name, value in headers.items() if name in _KEPT or name.startswith(_COUNTS)}


def kept_bytes(data: bytes) -> dict[str, str]:
    """Returns a body as a JSON value: text, or base64 if it is not UTF-8.  It can be restored byte for byte."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _events(api: ClientApi, headers: Any, seen: list[Any], call: MethodCall) -> Any:
    return api.assemble([{"headers": headers, "stream": seen}], cast(Any, None), call)


def _kept_chunk(event: Any) -> Any:
    return {"chunk": kept_bytes(event["chunk"].get("bytes", b""))} if "chunk" in event else sent(event)
