"""Restores recorded answers of Bedrock in the form that the live call returned.

The client's own parser reads the recorded body, so that types (bytes, event streams, bodies to read) are the library's,
whatever its version.  Nothing leaves the process.
"""

import base64
import dataclasses
from collections.abc import Mapping
from sys import modules
from typing import Any, cast

from playhead.calls.replay import ReplayAnswer
from playhead.capture.botocore.bodies import RecordedBytes, RecordedFrames
from playhead.capture.botocore.event_frames import event_frame
from playhead.errors import CannotRestore
from playhead.model.canonical import canonical_json

STREAMED = frozenset({"ConverseStream", "InvokeModelWithResponseStream"})
INVOKED = frozenset({"InvokeModel", "InvokeModelWithResponseStream"})
_JSON = "application/json"
_UNKNOWN_MEMBER = "SDK_UNKNOWN_MEMBER"


def restore(raw: Any, client: Any, operation: str, ending: BaseException | None) -> Any:
    """Rebuilds the client's response to this operation from `raw`.  Raises CannotRestore."""
    recorded = cast("dict[str, Any]", raw if isinstance(raw, dict) else {})
    if isinstance(recorded.get("$playhead"), str):  # a marker in the place of content that was not kept
        raise CannotRestore(f"the model's answer was not kept ({recorded['$playhead']}); fork the run before this call")
    is_stream = isinstance(recorded.get("stream"), list)
    if is_stream != (operation in STREAMED):
        wanted = "a stream" if operation in STREAMED else "an unstreamed answer"
        raise CannotRestore(f"{wanted} is asked for, and none was recorded")
    try:
        return _parsed(recorded, client, operation, ending)
    except CannotRestore:
        raise
    except Exception as error:
        message = f"botocore cannot read the recorded answer ({type(error).__name__}: {error})"
        raise CannotRestore(message) from error


def _parsed(recorded: Mapping[str, Any], client: Any, operation: str, ending: BaseException | None) -> Any:
    model = client.meta.service_model.operation_model(operation)
    headers = modules["botocore.awsrequest"].HeadersDict({"content-type": _JSON, **(recorded.get("headers") or {})})
    response: dict[str, Any] = {"headers": headers, "status_code": 200, "context": {"operation_name": operation}}
    if operation in STREAMED:
        events = _with_unknown_members(recorded["stream"])
        frames = [event_frame(name, payload) for event in events for name, payload in _payloads(event)]
        response["body"] = RecordedFrames(frames, ending)
    elif operation in INVOKED:
        data = body_bytes(recorded)
        streaming_body = modules["botocore.response"].StreamingBody
        response["body"] = streaming_body(RecordedBytes(data, ending), str(len(data)))
    else:
        response["body"] = canonical_json(_with_unknown_members(recorded.get("body")))
    return client._response_parser.parse(response, model.output_shape)


def _with_unknown_members(value: Any) -> Any:
    """Replaces the client's markers for blocks of a kind unknown to its version by empty blocks of that kind."""
    if isinstance(value, list):
        return [_with_unknown_members(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    marker = fields.get(_UNKNOWN_MEMBER)
    if len(fields) == 1 and isinstance(marker, dict):
        return {str(cast("dict[str, Any]", marker).get("name")): {}}
    return {name: _with_unknown_members(item) for name, item in fields.items()}


def body_bytes(recorded: Mapping[str, Any]) -> bytes:
    """Returns the recorded body of an invoked model.  Raises CannotRestore."""
    if isinstance(text := recorded.get("text"), str):
        return text.encode()
    if isinstance(data := recorded.get("base64"), str):
        return base64.b64decode(data)
    raise CannotRestore("the model's answer was not recorded whole")


def _payloads(event: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns the event's type and payload; a chunk of an invoked model's answer is sent as base64 of its bytes."""
    if isinstance(event.get("chunk"), Mapping):
        return [("chunk", {"bytes": base64.b64encode(body_bytes(event["chunk"])).decode()})]
    return list(event.items())


def with_own_error(answer: ReplayAnswer, client: Any) -> ReplayAnswer:
    """Converts the answer's error to the client's own exception class, which each client makes per error code."""
    response = getattr(answer.error, "response", None)
    operation = getattr(answer.error, "operation_name", None)
    if answer.is_new or not isinstance(response, dict) or not isinstance(operation, str):
        return answer
    code = cast("dict[str, Any]", response).get("Error", {}).get("Code")
    kind = client.exceptions.from_code(code)
    return answer if isinstance(answer.error, kind) else dataclasses.replace(answer, error=kind(response, operation))
