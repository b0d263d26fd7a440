"""Langfuse's references to images and files: `@@@langfuseMedia:type=image/png|id=...|source=...@@@`.

Langfuse's SDK replaces a whole string by such a reference and uploads the bytes under the id. The id is the beginning
of the SHA-256 of the bytes, as 22 characters of URL-safe base64 (132 bits). So it can be computed from the ref of the
bytes, and the content can be found by it.
"""

import base64
import re
from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from playhead.model.json_value import JsonValue
from playhead.model.message import Message, Part

ID_CHARACTERS: Final = 22
MARK: Final = "@@@langfuseMedia:"
# The number of whole bytes of the digest that an id contains.
BEGINNING_BYTES: Final = 16
_TOKEN: Final = re.compile(r"@@@langfuseMedia:type=([\w.+-]+/[\w.+-]+)\|id=([A-Za-z0-9_-]{22})\|source=\w{1,40}@@@")
# The field in which a dialect keeps the string of an image, by the type of the part.
_FIELDS: Final = {"text": "content", "uri": "uri", "blob": "content"}


class MediaToken(NamedTuple):
    """A parsed reference."""

    content_type: str
    id: str


def media_id(digest: bytes) -> str:
    """Returns Langfuse's id for the bytes with this SHA-256."""
    return base64.urlsafe_b64encode(digest).decode()[:ID_CHARACTERS]


def media_token(content_type: str, number: str) -> str:
    """Returns the reference to the bytes with this id."""
    return f"{MARK}type={content_type}|id={number}|source=base64_data_uri@@@"


def read_media_token(value: JsonValue) -> MediaToken | None:
    """Parses a value that consists of one reference; returns None for any other value."""
    if not isinstance(value, str) or not value.startswith(MARK):
        return None
    match = _TOKEN.fullmatch(value)
    return None if match is None else MediaToken(match[1], match[2])


def digest_beginning(number: str) -> bytes:
    """Returns the first `BEGINNING_BYTES` bytes of the digest from which the id was made."""
    return base64.urlsafe_b64decode(number + "==")[:BEGINNING_BYTES]


def media_ids(message: Message) -> list[str]:
    """Returns the ids of the references in a message's parts."""
    return [token.id for part in message["parts"] if (token := _token_in(part)) is not None]


def with_media(message: Message, media: Mapping[str, bytes]) -> Message:
    """Returns the message with blobs in place of the references whose id is in `media`. Other references stay text."""
    if not media or not any(number in media for number in media_ids(message)):
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
