"""Converts the client's Python values to the JSON that is sent, and back.  Bytes are base64 in JSON."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, cast

# Keys whose values cannot hold bytes.  Nearly all blocks have no others.
_PLAIN_BLOCKS = frozenset({"text", "toolUse", "cachePoint"})
# Keys under which the API has bytes: `bytes` in a `source`, and reasoning that the model encrypted.
_SOURCE, _BYTES, _REDACTED = "source", "bytes", "redactedContent"


def sent_message(message: Any) -> Any:
    """Converts one of a request's messages to the JSON that is sent."""
    if type(message) is dict:
        fields = cast("dict[str, Any]", message)
        content: Any = fields.get("content")
        if type(content) is list and all(map(_is_plain, cast("list[Any]", content))):
            return fields
    return sent(message)


def _is_plain(block: Any) -> bool:
    return type(block) is dict and cast("dict[str, Any]", block).keys() <= _PLAIN_BLOCKS


def sent(value: Any) -> Any:
    """Converts any value to the JSON that is sent."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {key: sent(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [sent(item) for item in cast("list[Any]", value)]
    return value


def given_message(message: Any) -> Any:
    """Reverses `sent` for a message, so that the client accepts it: base64 to bytes, and a text to a block."""
    if isinstance(message, Mapping) and isinstance(text := cast("Mapping[str, Any]", message).get("content"), str):
        return {**cast("Mapping[str, Any]", message), "content": [{"text": text}]}
    return _given(message)


def _given(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        inner = cast("Mapping[str, Any]", value)
        return {
            name: _given_bytes(item) if name == _REDACTED or (key == _SOURCE and name == _BYTES) else _given(item, name)
            for name, item in inner.items()
        }
    if isinstance(value, list):
        return [_given(item) for item in cast("list[Any]", value)]
    return value


def _given_bytes(value: Any) -> Any:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else value
    except binascii.Error:
        return value
