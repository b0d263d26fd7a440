"""loading → [langfuse_media] → Langfuse.  Images and files, which Langfuse keeps apart from the spans that show them.

POST /api/public/media       asks where to put the bytes, and ties them to the span; no address: it has them
PUT  the address             the bytes; only to hosts that the operator has allowed
PATCH /api/public/media/ID   says how that went
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httpx

from playhead.outbound import OutboundMedia
from playhead_collector.forward.attempts import Answer, Verdict, of_status, retry_after, shortened, without_secrets
from playhead_collector.forward.senders import UploadFailed

_PATH = "/api/public/media"
# Google's storage refuses headers that it does not know.
_GOOGLE = "storage.googleapis.com"


class LangfuseMedia:
    """Uploads media to one project of Langfuse. Follows no redirects."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        hosts: Sequence[str],
        timeout_s: float,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`hosts`: where bytes may be put, `*.example.com` for all below."""
        self._url = url
        self._headers = dict(headers)
        self._hosts = hosts
        self._client = httpx.AsyncClient(timeout=timeout_s, follow_redirects=False, transport=transport)

    async def upload(self, media: Iterable[OutboundMedia]) -> None:
        """Returns when Langfuse has all that it takes.  Raises UploadFailed when it is to be tried again."""
        for medium in media:
            try:
                await self._upload(medium)
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                reason = shortened(f"takes no media ({type(error).__name__}: {error})")
                raise UploadFailed(Answer(Verdict.AWAY, reason)) from None

    async def close(self) -> None:
        """Closes connections."""
        await self._client.aclose()

    async def _upload(self, medium: OutboundMedia) -> None:
        about = {
            "contentType": medium.content_type,
            "contentLength": len(medium.data),
            "sha256Hash": medium.sha256,
            "traceId": medium.trace_id,
            "observationId": medium.observation_id,
            "field": medium.field,
        }
        response = await self._client.post(self._url + _PATH, json=about, headers=self._headers)
        if not self._is_taken(response):
            return
        number, address = _where(response)
        if address is None:
            return
        began = time.monotonic()
        stored = await self._client.put(address, content=medium.data, headers=self._put_headers(address, medium))
        self._is_taken(stored)
        done = {
            "uploadedAt": datetime.now(UTC).isoformat(),
            "uploadHttpStatus": stored.status_code,
            "uploadTimeMs": int((time.monotonic() - began) * 1000),
        }
        await self._client.patch(f"{self._url}{_PATH}/{quote(number, safe='')}", json=done, headers=self._headers)

    def _is_taken(self, response: httpx.Response) -> bool:
        """False: this medium is refused for good, and its span is sent without it.  Raises UploadFailed."""
        verdict = of_status(response.status_code)
        if verdict in (Verdict.ACCEPTED, Verdict.REFUSED):
            return verdict is Verdict.ACCEPTED
        wait = retry_after(response.headers.get("retry-after"), time.time())
        answer = Answer(
            verdict, shortened(f"answered {response.status_code} to an image or file: {response.text}"), wait
        )
        raise UploadFailed(without_secrets(answer, self._headers.values()))

    def _put_headers(self, address: str, medium: OutboundMedia) -> dict[str, str]:
        """Without our keys: the address is signed.  Raises UploadFailed for a host that is not allowed."""
        host = (urlsplit(address).hostname or "").lower()
        if urlsplit(address).scheme not in {"http", "https"} or not any(_matches(host, each) for each in self._hosts):
            reason = f"wants images and files at {host[:100] or 'no host'}: name it in MEDIA_HOSTS, or set none there"
            raise UploadFailed(Answer(Verdict.MISCONFIGURED, reason))
        headers = {"content-type": medium.content_type}
        if host != _GOOGLE and not host.endswith(f".{_GOOGLE}"):
            headers |= {"x-ms-blob-type": "BlockBlob", "x-amz-checksum-sha256": medium.sha256}
        return headers


def _matches(host: str, allowed: str) -> bool:
    return host.endswith(allowed[1:]) if allowed.startswith("*.") else host == allowed


def _where(response: httpx.Response) -> tuple[str, str | None]:
    """Langfuse's id of the medium, and where to put it; None: it is there."""
    try:
        said = cast(dict[str, Any], response.json())
        address = said.get("uploadUrl")
        return str(said["mediaId"]), address if isinstance(address, str) else None
    except (ValueError, KeyError, AttributeError):
        return "", None
