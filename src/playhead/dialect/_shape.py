"""What dialects share: parts that are kept as they came, and tool arguments that travel as JSON text."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import orjson

from playhead.model.canonical import canonical_json, parse_bounded, parse_json
from playhead.model.message import REF_PART, Part

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")

# Holds, under `value`, what is no part at all, or would be taken for one of ours if it stood there by itself.
AS_IS = "playhead.as_is"
RESERVED = frozenset({AS_IS, REF_PART})


def as_is(native: Any) -> Part:
    """A part that holds this value; `part["value"]` gives it back."""
    return {"type": AS_IS, "value": without_nulls(cast(dict[Any, Any], native)) if isinstance(native, dict) else native}


def read_data_uri(given: Any, modality: str) -> Part | None:
    """The blob that a `data:` URI holds; None when it is none."""
    found = _DATA_URI.match(given) if isinstance(given, str) else None
    if found is None:
        return None
    return {"type": "blob", "mime_type": found[1], "modality": modality, "content": given[found.end() :]}


def data_uri(part: Part) -> str:
    """The `data:` URI of a blob."""
    return f"data:{part.get('mime_type')};base64,{part.get('content')}"


def without_nulls(native: Mapping[Any, Any]) -> dict[Any, Any]:
    """The same keys but those that are null."""
    return {key: value for key, value in native.items() if value is not None}


def rest(native: Mapping[Any, Any], known: Iterable[str]) -> dict[Any, Any]:
    """What a native object says beyond the keys that are known."""
    return {key: value for key, value in native.items() if value is not None and key not in known}


def read_arguments(text: str) -> Any:
    """The object or array that the text spells; the text itself when it is none, or when the value would say less."""
    if text[:1] not in ("{", "[") and text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value = parse_bounded(text)
        return value if _says_all(value, text) else text
    except (ValueError, RecursionError):
        return text


def write_arguments(value: Any) -> str:
    """The JSON text of arguments that `read_arguments` read."""
    return value if isinstance(value, str) else canonical_json(value).decode()


def _says_all(value: Any, text: str) -> bool:
    """Whether nothing got lost in reading: no key stood twice, and the canonical form can hold the value.

    A message nests its arguments a few levels deeper, and orjson writes 254.  A repeated key that was lost takes its
    quotes with it, and only an escaped quote could make up for them.
    """
    nested = [[[[[[[[value]]]]]]]]
    try:
        written = orjson.dumps(nested)
    except orjson.JSONEncodeError:  # big integers, lone surrogates, or too deep
        if parse_json(canonical_json(nested)) != nested:
            return False
    else:
        if text.count('"') == written.count(b'"') and "\\u0022" not in text:
            return True
    json.loads(text, object_pairs_hook=_unique)
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def extra_of(part: Mapping[str, Any]) -> dict[str, Any]:
    """What stands under `extra`, {} when nothing does."""
    extra = part.get("extra")
    return cast(dict[str, Any], extra) if isinstance(extra, dict) else {}
