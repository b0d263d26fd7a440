"""Canonical bytes: the only byte form of a value, so that its ref does not depend on which program serialised it.

JSON is UTF-8 with keys sorted by code point, no white space, floats as the shortest text that reads back to the same
float, integers exact at any size.  The quick path is one orjson call; what orjson refuses or would change silently
(big integers, NaN, lone surrogates, cycles, foreign objects) is written by `objects/safe_json.py`, with the same bytes
for every value that both can write.  `CANONICAL_VERSION` goes up when any of these bytes change; a golden file pins
them.

Different texts have different bytes and refs.  Reading is not exact for one kind of text: if Python holds the two
halves of a surrogate pair as two characters, JSON readers join their escapes to one character.  To restore a value,
such a text is kept in parts (`refs/value_codecs.py`); in a conversation the provider reads the joined character.

A `Content` is such bytes with their media type: `type/subtype`, then parameters, as in HTTP.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from playhead.model.objects.limits import NO_LIMITS, Cut, ValueLimits
from playhead.model.objects.masking import Mask
from playhead.model.objects.safe_json import bounded_json, safe_json
from playhead.model.objects.tree_json import quick_json
from playhead.model.ref import AS_BYTES, AS_TEXT, ContentRef

CANONICAL_VERSION = 1

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
BYTES = "application/octet-stream"

# orjson reads an integer of more than 64 bits as a float: such text goes to the standard library.  The table finds
# long runs of digits ten times as fast as a regular expression.  Refs often contain one, but hardly ever after a
# character that can precede a number.
_BEFORE_NUMBER = b" \t\r\n:,[-"
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
_ZEROS = b"0" * 19
_WHITE = b" \t\r\n"
_DIGITS = b"0123456789"
_CLOSING = {b"{": b"}", b"[": b"]", b'"': b'"'}
_CONSTANTS = (b"true", b"false", b"null")
# A message takes up to 1 kB of memory while it is read, and as little as two characters of text: 50,000 are 50 MB.
_MOST_OBJECTS = 50_000
AS_JSON = "json"
_TYPE_OF_KIND = {AS_JSON: JSON, AS_TEXT: TEXT, AS_BYTES: BYTES}


@dataclass(slots=True)
class Content:
    """Bytes and their media type; neither changes. The ref, which says how to read them, is computed at the first
    access.

    `is_masked`: a collector has masked a part of the content, so that the bytes are not those that the ref names."""

    # Not a frozen class with functools.cached_property: on Python 3.11 that holds one lock for all contents, which a
    # forked child would find held for ever.
    data: bytes
    media_type: str
    _ref: ContentRef | None = field(default=None, init=False, repr=False, compare=False)
    is_masked: bool = field(default=False, init=False)

    @classmethod
    def masked(cls, ref: ContentRef, data: bytes, media_type: str) -> "Content":
        """Returns what is left of the content of `ref`. The media type is that of the whole content."""
        content = cls(data, media_type)
        content._ref, content.is_masked = ref, True
        return content

    @property
    def ref(self) -> ContentRef:
        """The ref of this content."""
        ref = self._ref
        if ref is None:
            ref = self._ref = ContentRef.of(self.data).with_reading(read_as(self.data, self.media_type))
        return ref


def canonical_json(value: Any, mask: Mask | None = None) -> bytes:
    """The canonical JSON bytes of any value.  Never raises: values that JSON does not have are described (see
    `safe_json.py`).

    `mask` hides secrets in the JSON made from objects, but not in plain dictionaries and lists.
    """
    data = quick_json(value)
    return safe_json(value, mask) if data is None else data


def content_of(value: object, mask: Mask | None = None) -> Content:
    """Content of any value: text as text, bytes as they are, everything else as canonical JSON.  Never raises."""
    return bounded_content_of(value, mask, NO_LIMITS)[0]


def bounded_content_of(value: Any, mask: Mask | None, limits: ValueLimits) -> tuple[Content, Cut | None]:
    """The same as `content_of`, within limits. Also returns why a part of the value was left out, None if it is whole.
    Texts and bytes are never cut here."""
    if type(value) is str:
        try:
            return Content(value.encode(), TEXT), None
        except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form; JSON can escape it
            return Content(safe_json(value), JSON), None
    if issubclass(type(cast(object, value)), bytes | bytearray | memoryview):  # isinstance would call the value's code
        try:
            return Content(bytes(value), BYTES), None
        except ValueError:  # a memoryview that was released
            pass
    data, cut = bounded_json(value, mask, limits)
    return Content(data, JSON), cut


def parse_json(data: bytes | str) -> Any:
    """Reads JSON with integers exact at any size and lone surrogates kept; raises ValueError."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if not _may_have_big_integer(raw):
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            pass
    text = raw.decode("utf-8", "surrogatepass")
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("this JSON nests too deeply to be read") from None


def parse_bounded(data: bytes | str) -> Any:
    """The same as `parse_json`, for JSON from senders: also raises ValueError for more than 50,000 objects, which no
    conversation has."""
    objects = data.count("{") if isinstance(data, str) else data.count(b"{")
    if objects > _MOST_OBJECTS:
        raise ValueError(f"there are {objects} objects in it, and no more than {_MOST_OBJECTS} are read")
    return parse_json(data)


def _may_have_big_integer(raw: bytes) -> bool:
    zeros = raw.translate(_DIGITS_TO_ZERO)
    index = zeros.find(_ZEROS)
    while index >= 0:
        if index == 0 or raw[index - 1] in _BEFORE_NUMBER:
            return True
        while zeros.startswith(b"0", index):  # skips this run of digits, which is not at the beginning of a number
            index += 1
        index = zeros.find(_ZEROS, index)
    return False


def may_be_json(data: bytes) -> bool:
    """Whether these bytes may be JSON, so that the ref of a text needs a suffix. False only if they cannot be JSON.

    Part of the definition of refs: two writers that differ in this would give one text two refs.  Checks both ends
    only, so it costs the same for any length.
    """
    first, last = data[:1], data[-1:]
    if first in _WHITE or last in _WHITE:
        data = data.strip(_WHITE)
        first, last = data[:1], data[-1:]
    if not first:
        return False
    if first in _CLOSING:
        return last == _CLOSING[first]
    return data in _CONSTANTS or ((first == b"-" or first in _DIGITS) and last in _DIGITS)


def read_as(data: bytes, media_type: str) -> str | None:
    """The suffix for a ref to this content: AS_TEXT, AS_BYTES, or None if readers infer the kind from the bytes."""
    kind = _kind_of(media_type)
    if kind == AS_TEXT:
        return AS_TEXT if may_be_json(data) or not _is_utf8(data) else None
    return AS_BYTES if kind == AS_BYTES and _is_utf8(data) else None


def is_json_type(media_type: str) -> bool:
    """Whether it is `application/json` or another type that ends with `json`."""
    return media_type.partition(";")[0].strip().endswith("json")


def content_as(stored: Content, ref: ContentRef) -> Content:
    """The stored content as the ref reads it: itself if its media type is of the ref's kind, else with a default type.

    Equal bytes are stored once, with the type that came first, perhaps from another writer.
    """
    kind, data = ref.read_as, stored.data
    if stored.is_masked:  # what is left says nothing about the bytes that were sent
        media_type = stored.media_type if kind in (None, _kind_of(stored.media_type)) else _TYPE_OF_KIND[kind]
        return Content.masked(ref, data, media_type)
    if kind is None:
        kind = AS_JSON if may_be_json(data) else AS_TEXT if _is_utf8(data) else AS_BYTES
    return stored if _kind_of(stored.media_type) == kind else Content(data, _TYPE_OF_KIND[kind])


def value_of(content: Content) -> Any:
    """The value of a content: text for text, the parsed value for JSON, bytes for anything else."""
    kind = _kind_of(content.media_type)
    if kind == AS_TEXT:
        return content.data.decode("utf-8", "replace")
    return parse_json(content.data) if kind == AS_JSON else content.data


def _kind_of(media_type: str) -> str:
    if media_type.startswith("text/"):
        return AS_TEXT
    return AS_JSON if is_json_type(media_type) else AS_BYTES


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


# --- media types ------------------------------------------------------------------------------------------------------


MAX_CHARACTERS = 200  # RFC 6838 allows 127 for each half; nothing in use comes near
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,127}+/[\w.+-]{1,127}+(; ?[\w-]{1,64}+=[\w.-]{1,64}+){0,8}", re.ASCII)


def is_media_type(text: str) -> bool:
    """Whether the text is valid as a Content-Type header of at most 200 characters."""
    return len(text) <= MAX_CHARACTERS and _MEDIA_TYPE.fullmatch(text) is not None


def text_of(value: object) -> str:
    """Returns a value as text, in the form in which a model reads it."""
    return value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")
