"""The requests that upload images and files to Langfuse.

POST /api/public/media       `question`: asks for the upload address; there is none if Langfuse has the bytes
PUT  the address             the bytes, with `put_headers`
PATCH /api/public/media/ID   `report`: the result of the upload
"""

from datetime import datetime
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from playhead.outbound.vocabularies.media import OutboundMedia

MEDIA_PATH: Final = "/api/public/media"
# Google's storage refuses unknown headers.
_GOOGLE: Final = "storage.googleapis.com"


class UploadAddress(NamedTuple):
    """Langfuse's id of a medium, and the address to which its bytes are uploaded (None: Langfuse has them)."""

    id: str
    url: str | None


def question(medium: OutboundMedia) -> dict[str, Any]:
    """Returns the body that asks for the upload address and links the medium to the span."""
    return {
        "contentType": medium.content_type,
        "contentLength": len(medium.data),
        "sha256Hash": medium.sha256,
        "traceId": medium.trace_id,
        "observationId": medium.observation_id,
        "field": medium.field,
    }


def address_in(answer: Any) -> UploadAddress:
    """Reads the answer to `question`. An answer in another form gives no address and an empty id."""
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    number, url = fields.get("mediaId"), fields.get("uploadUrl")
    return UploadAddress(str(number), url) if number and isinstance(url, str) else UploadAddress("", None)


def put_headers(url: str, medium: OutboundMedia) -> dict[str, str]:
    """Returns the headers of the upload. They contain no API key: the address is signed."""
    host = (urlsplit(url).hostname or "").lower()
    headers = {"content-type": medium.content_type}
    if host != _GOOGLE and not host.endswith(f".{_GOOGLE}"):
        headers |= {"x-ms-blob-type": "BlockBlob", "x-amz-checksum-sha256": medium.sha256}
    return headers


def report(status: int, seconds: float, now: datetime) -> dict[str, Any]:
    """Returns the body that reports the HTTP status of the upload and how long it took."""
    return {"uploadedAt": now.isoformat(), "uploadHttpStatus": status, "uploadTimeMs": int(seconds * 1000)}
