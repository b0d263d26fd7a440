"""OTLP's JSON, rewritten as the protobuf message that says the same."""

import base64
import json
from typing import Any, TypeVar

from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)
IDS = {"traceId", "spanId", "parentSpanId"}


def message_of(request: dict[str, Any], kind: type[M]) -> M:
    """Protobuf's own JSON reader takes base64 where OTLP has hex."""
    return ParseDict(_with_base64_ids(request), kind())


def as_json(request: dict[str, Any]) -> bytes:
    return json.dumps(request).encode()


def _with_base64_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode() if key in IDS else _with_base64_ids(item)
        for key, item in value.items()
    }
