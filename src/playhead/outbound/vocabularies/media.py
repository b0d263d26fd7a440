"""Images, files and other bytes, which Langfuse keeps apart from text.

In a span, a medium is a token (`OutboundMedia.token`).  Its bytes are uploaded once per project, under an id that is
made of their hash.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, cast

from playhead.dialect.media_token import media_id, media_token
from playhead.outbound.vocabularies.chat import OCTETS

Field = Literal["input", "output", "metadata"]
_DATA_URI: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.+=-]+){0,4}?;base64,")


@dataclass(frozen=True, slots=True)
class OutboundMedia:
    """A medium to upload, and where it stands.  `sha256` is the base64 of the hash, as Langfuse asks for it."""

    data: bytes
    content_type: str
    sha256: str
    trace_id: str
    observation_id: str
    field: Field

    @property
    def id(self) -> str:
        """Langfuse's id of these bytes."""
        return media_id(base64.b64decode(self.sha256))

    @property
    def token(self) -> str:
        """What stands in the span."""
        return media_token(self.content_type, self.id)


class MediaTokens:
    """Replaces media by tokens in the values of one span's field, and gathers them."""

    def __init__(self, trace_id: str, observation_id: str) -> None:
        self.found: dict[str, OutboundMedia] = {}
        self._ids = trace_id, observation_id

    def of(self, value: Any, field: Field) -> Any:
        """The value with tokens in place of `data:` addresses and bytes."""
        if isinstance(value, bytes):
            return self._token(value, OCTETS, field)
        if isinstance(value, str):
            return self._of_text(value, field)
        if isinstance(value, dict):
            return {key: self.of(one, field) for key, one in cast("dict[str, Any]", value).items()}
        if isinstance(value, list | tuple):
            return [self.of(one, field) for one in cast("list[Any]", value)]
        return value

    def _of_text(self, text: str, field: Field) -> str:
        head = _DATA_URI.match(text)
        if head is None:
            return text
        try:
            data = base64.b64decode(text[head.end() :], validate=True)
        except (binascii.Error, ValueError):
            return text
        return self._token(data, head.group(1) or OCTETS, field) if data else text

    def _token(self, data: bytes, content_type: str, field: Field) -> str:
        digest = base64.b64encode(sha256(data).digest()).decode()
        medium = OutboundMedia(data, content_type, digest, *self._ids, field)
        self.found.setdefault(f"{medium.id} {field}", medium)
        return medium.token
