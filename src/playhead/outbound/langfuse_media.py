"""Images, files and other bytes, which Langfuse stores separately from text, and the requests that upload them.

In a span, a medium is replaced by a reference (`OutboundMedia.token`). Its bytes are uploaded once per project, under
an id that is made of their hash:

POST /api/public/media       `question`: asks for the upload address; there is none if Langfuse has the bytes
PUT  the address             the bytes, with `put_headers`
PATCH /api/public/media/ID   `report`: the result of the upload

`upload` decides which request comes next. Whoever sends them decides how: in a thread, or in an event loop.
"""

import base64
import binascii
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote, urlsplit

import orjson

from playhead.dialect.langfuse_media import media_id, media_token
from playhead.model.canonical import BYTES
from playhead.model.json_value import Json, JsonOrBytes, JsonValue, object_of
from playhead.outbound.answers import Verdict, verdict_of

Field = Literal["input", "output", "metadata"]
_DATA_URI: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.+=-]+){0,4}?;base64,")


@dataclass(frozen=True, slots=True)
class OutboundMedia:
    """A medium to upload, and its position: trace, span and field. `sha256`: the hash in base64, as Langfuse requires
    it."""

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
        """The reference that replaces the bytes in the span."""
        return media_token(self.content_type, self.id)


class MediaTokens:
    """Replaces media in the values of one span by references, and collects the media."""

    def __init__(self, trace_id: str, observation_id: str) -> None:
        self.found: dict[str, OutboundMedia] = {}
        self._ids = trace_id, observation_id

    def of(self, value: JsonOrBytes, field: Field) -> JsonValue:
        """Returns the value with references in place of `data:` URIs and bytes."""
        if isinstance(value, bytes):
            return self._token(value, BYTES, field)
        if isinstance(value, str):
            return self._of_text(value, field)
        if isinstance(value, dict):
            return {key: self.of(item, field) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(item, field) for item in value]
        return value

    def _of_text(self, text: str, field: Field) -> str:
        head = _DATA_URI.match(text)
        if head is None:
            return text
        try:
            data = base64.b64decode(text[head.end() :], validate=True)
        except (binascii.Error, ValueError):
            return text
        return self._token(data, head.group(1) or BYTES, field) if data else text

    def _token(self, data: bytes, content_type: str, field: Field) -> str:
        digest = base64.b64encode(sha256(data).digest()).decode()
        medium = OutboundMedia(data, content_type, digest, *self._ids, field)
        self.found.setdefault(f"{medium.id} {field}", medium)
        return medium.token


# --- uploads ----------------------------------------------------------------------------------------------------------


MEDIA_PATH: Final = "/api/public/media"
# Google's storage refuses unknown headers.
_GOOGLE_STORAGE: Final = "storage.googleapis.com"


@dataclass(frozen=True, slots=True)
class UploadRequest:
    """An HTTP request. `is_to_storage`: it has the bytes, and goes to the address that Langfuse named, with no key."""

    method: Literal["POST", "PUT", "PATCH"]
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def is_to_storage(self) -> bool:
        return self.method == "PUT"


@dataclass(frozen=True, slots=True)
class UploadAnswer:
    """The answer to an `UploadRequest`. `retry_after`: that header. `seconds`: how long the exchange took. `at`: when
    it ended."""

    status: int
    body: bytes
    retry_after: str | None
    seconds: float
    at: datetime


def upload(
    media_url: str, headers: Mapping[str, str], medium: OutboundMedia
) -> Generator[UploadRequest, UploadAnswer, UploadAnswer | None]:
    """Yields the requests that upload a medium, and takes the answer to each.

    `media_url`: Langfuse's address for media; `headers`: what Langfuse wants with each request, as the key. Returns
    the answer with which the upload failed; None: Langfuse has the medium.
    """
    headers = {**headers, "content-type": "application/json"}
    asked = yield UploadRequest("POST", media_url, headers, orjson.dumps(question(medium)))
    if verdict_of(asked.status) is not Verdict.ACCEPTED:
        return asked
    number, address = address_in(_json(asked.body))
    if address is None:
        return None
    stored = yield UploadRequest("PUT", address, put_headers(address, medium), medium.data)
    if verdict_of(stored.status) not in (Verdict.ACCEPTED, Verdict.REFUSED):
        return stored  # the upload is tried again, so there is nothing to report yet
    result = orjson.dumps(report(stored.status, stored.seconds, stored.at))
    reported = yield UploadRequest("PATCH", f"{media_url}/{quote(number, safe='')}", headers, result)
    if verdict_of(stored.status) is Verdict.REFUSED:
        return stored
    # Without the report, Langfuse does not show the medium, and would take it once more.
    return reported if verdict_of(reported.status) in (Verdict.UNAVAILABLE, Verdict.BROKEN) else None


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:
        return None


class UploadAddress(NamedTuple):
    """Langfuse's id of a medium, and the address to which its bytes are uploaded (None: Langfuse has them)."""

    id: str
    url: str | None


def question(medium: OutboundMedia) -> Json:
    """Returns the body that asks for the upload address and links the medium to the span."""
    return {
        "contentType": medium.content_type,
        "contentLength": len(medium.data),
        "sha256Hash": medium.sha256,
        "traceId": medium.trace_id,
        "observationId": medium.observation_id,
        "field": medium.field,
    }


def address_in(answer: object) -> UploadAddress:
    """Reads the answer to `question`. An answer in another form gives no address and an empty id."""
    fields = object_of(answer)
    number, url = fields.get("mediaId"), fields.get("uploadUrl")
    return UploadAddress(str(number), url) if number and isinstance(url, str) else UploadAddress("", None)


def put_headers(url: str, medium: OutboundMedia) -> dict[str, str]:
    """Returns the headers of the upload. They contain no API key: the address is signed."""
    host = (urlsplit(url).hostname or "").lower()
    headers = {"content-type": medium.content_type}
    if host != _GOOGLE_STORAGE and not host.endswith(f".{_GOOGLE_STORAGE}"):
        headers |= {"x-ms-blob-type": "BlockBlob", "x-amz-checksum-sha256": medium.sha256}
    return headers


def report(status: int, seconds: float, now: datetime) -> Json:
    """Returns the body that reports the HTTP status of the upload and how long it took."""
    return {"uploadedAt": now.isoformat(), "uploadHttpStatus": status, "uploadTimeMs": int(seconds * 1000)}
