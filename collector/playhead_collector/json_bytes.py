"""JSON encoding that also accepts texts and numbers that orjson refuses."""

import json
from typing import Any, cast

import orjson

_LEAST, _MOST = -(2**63), 2**64 - 1


def json_bytes(value: object) -> bytes:
    """Returns the value as JSON. Fragments (`orjson.Fragment`) in it are copied without being parsed.

    Lone surrogates are written as escapes (a recorded program may have cut an emoji in two), integers with all their
    digits.
    """
    try:
        return orjson.dumps(value, default=str)
    except orjson.JSONEncodeError:
        return orjson.dumps(_writable(value), default=str)


def _writable(value: object) -> Any:
    """Returns the value with everything that orjson refuses replaced by JSON fragments."""
    if isinstance(value, str):
        return value if _is_utf8(value) else _fragment(value)
    if isinstance(value, int):
        return value if _LEAST <= value <= _MOST else _fragment(value)
    if isinstance(value, list | tuple):
        return [_writable(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return _object(cast(dict[Any, Any], value))
    return value


def _object(value: dict[Any, Any]) -> Any:
    members = {str(key): _writable(member) for key, member in value.items()}
    if all(map(_is_utf8, members)):
        return members
    written = [json.dumps(key).encode() + b":" + orjson.dumps(member, default=str) for key, member in members.items()]
    return orjson.Fragment(b"{" + b",".join(written) + b"}")


def _fragment(value: object) -> orjson.Fragment:
    return orjson.Fragment(json.dumps(value).encode())


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
