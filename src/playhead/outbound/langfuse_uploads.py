"""The requests with which Langfuse is given images and files.

POST /api/public/media       `question`: asks where to put the bytes; no address: Langfuse has them
PUT  the address             the bytes, with `put_headers`
PATCH /api/public/media/ID   `report`: how that went
"""

from datetime import datetime
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from playhead.outbound.vocabularies.media import OutboundMedia

MEDIA_PATH: Final = "/api/public/media"
# Google's storage refuses headers that it does not know.
_GOOGLE: Final = "storage.googleapis.com"


class UploadAddress(NamedTuple):
    """Langfuse's id of a medium, and where its bytes are to be put; None: it has them."""

    id: str
    url: str | None


def question(medium: OutboundMedia) -> dict[str, Any]:
    """Asks where to put the bytes, and ties them to the span."""
    return {
        "contentType": medium.content_type,
        "contentLength": len(medium.data),
        "sha256Hash": medium.sha256,
        "traceId": medium.trace_id,
        "observationId": medium.observation_id,
        "field": medium.field,
    }


def address_in(answer: Any) -> UploadAddress:
    """What the answer to `question` says.  An answer of another form has no address."""
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    number, url = fields.get("mediaId"), fields.get("uploadUrl")
    return UploadAddress(str(number), url) if number and isinstance(url, str) else UploadAddress("", None)


def put_headers(url: str, medium: OutboundMedia) -> dict[str, str]:
    """Headers for the bytes.  None of our keys is among them: the address is signed."""
    host = (urlsplit(url).hostname or "").lower()
    headers = {"content-type": medium.content_type}
    if host != _GOOGLE and not host.endswith(f".{_GOOGLE}"):
        headers |= {"x-ms-blob-type": "BlockBlob", "x-amz-checksum-sha256": medium.sha256}
    return headers


def report(status: int, seconds: float, now: datetime) -> dict[str, Any]:
    """Says with which HTTP status the bytes were put, and how long that took."""
    return {"uploadedAt": now.isoformat(), "uploadHttpStatus": status, "uploadTimeMs": int(seconds * 1000)}
