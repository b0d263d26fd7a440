"""Langfuse's references to images and files: `@@@langfuseMedia:type=image/png|id=...|source=...@@@`.

Langfuse's SDK puts one in the place of a whole string and uploads the bytes under the id. The id is the beginning of
the SHA-256 of the bytes, in 22 characters of URL-safe base64 (132 bits): it is derived from the ref of the bytes, and
leads to it.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from playhead.model.message import Message, Part

ID_CHARACTERS: Final = 22
MARK: Final = "@@@langfuseMedia:"
# The largest number of whole bytes of a digest that an id has.
BEGINNING_BYTES: Final = 16
_TOKEN: Final = re.compile(r"@@@langfuseMedia:type=([\w.+-]+/[\w.+-]+)\|id=([A-Za-z0-9_-]{22})\|source=\w{1,40}@@@")
# Where a dialect leaves a string of an image, by the type of the part.
_FIELDS: Final = {"text": "content", "uri": "uri", "blob": "content"}


class MediaToken(NamedTuple):
    """A reference that was read."""

    content_type: str
    id: str


def media_id(digest: bytes) -> str:
    """Langfuse's id of the bytes with this SHA-256."""
    return base64.urlsafe_b64encode(digest).decode()[:ID_CHARACTERS]


def media_token(content_type: str, number: str) -> str:
    """The text that stands for the bytes with this id."""
    return f"{MARK}type={content_type}|id={number}|source=base64_data_uri@@@"


def read_media_token(value: Any) -> MediaToken | None:
    """The reference that a value is as a whole; None for any other value."""
    if not isinstance(value, str) or not value.startswith(MARK):
        return None
    found = _TOKEN.fullmatch(value)
    return None if found is None else MediaToken(found[1], found[2])


def digest_beginning(number: str) -> bytes:
    """The first `BEGINNING_BYTES` bytes of the digest that an id was made of."""
    return base64.urlsafe_b64decode(number + "==")[:BEGINNING_BYTES]


def media_ids(message: Message) -> list[str]:
    """The ids of the media that parts of this message stand for."""
    return [token.id for part in message["parts"] if (token := _token_in(part)) is not None]


def with_media(message: Message, media: Mapping[str, bytes]) -> Message:
    """The message with blobs in place of references, for media that are known by their id; others stay text."""
    if not any(number in media for number in media_ids(message)):
        return message
    return cast(Message, {**message, "parts": [_with_medium(part, media) for part in message["parts"]]})


def _with_medium(part: Part, media: Mapping[str, bytes]) -> Part:
    token = _token_in(part)
    data = None if token is None else media.get(token.id)
    if token is None or data is None:
        return part
    kind = token.content_type.partition("/")[0]
    blob: Part = {
        "type": "blob",
        "mime_type": token.content_type,
        "modality": kind if kind in ("image", "audio", "video") else "file",
        "content": base64.b64encode(data).decode(),
    }
    return {**blob, "extra": part["extra"]} if "extra" in part else blob


def _token_in(part: Part) -> MediaToken | None:
    field = _FIELDS.get(str(part.get("type")))
    return None if field is None else read_media_token(part.get(field))
