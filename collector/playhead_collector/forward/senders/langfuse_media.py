"""loading → [langfuse_media] → Langfuse.  Uploads images and files, which Langfuse stores apart from spans.

`playhead.outbound.langfuse_media` has the requests. Bytes are uploaded only to hosts that the operator has allowed.
"""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from playhead.outbound import langfuse_media as uploads
from playhead.outbound.langfuse_media import OutboundMedia
from playhead_collector.forward.attempts import Answer, Verdict, of_status, retry_after, shortened, without_secrets
from playhead_collector.forward.senders import UploadFailed
from playhead_collector.forward.senders.http import LOOPBACK, beginning

# Large files may take longer than requests, provided that they are uploaded at this speed.
_SLOWEST_BYTES_PER_S = 256 * 1024
# A proxy for the Internet does not reach this machine.
_WITHOUT_PROXY = {f"all://{'[::1]' if host == '::1' else host}": None for host in LOOPBACK}


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
        """`hosts` are the hosts to which bytes may be uploaded, `*.example.com` for all names below it."""
        self._url = url
        self._headers = dict(headers)
        self._hosts = hosts
        self._timeout_s = timeout_s
        self._client = httpx.AsyncClient(
            timeout=timeout_s, follow_redirects=False, transport=transport, mounts=_WITHOUT_PROXY
        )

    async def upload(self, media: Iterable[OutboundMedia]) -> None:
        """Uploads the media; returns when Langfuse has everything that it accepts. Raises UploadFailed if it should be
        tried again."""
        for medium in media:
            try:
                # httpx limits only each step: a server that answers one byte at a time would block the worker for ever.
                async with asyncio.timeout(self._timeout_s + len(medium.data) / _SLOWEST_BYTES_PER_S):
                    await self._upload(medium)
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                reason = shortened(f"takes no media ({type(error).__name__}: {error})")
                raise UploadFailed(Answer(Verdict.UNAVAILABLE, reason)) from None

    async def close(self) -> None:
        """Closes connections."""
        await self._client.aclose()

    async def _upload(self, medium: OutboundMedia) -> None:
        response, body = await self._send(
            "POST", self._url + uploads.MEDIA_PATH, json=uploads.question(medium), headers=self._headers
        )
        if not self._is_taken(response, body):
            return
        number, address = uploads.address_in(_json(body))
        if address is None:
            return
        began = time.monotonic()
        headers = self._put_headers(address, medium)
        stored, body = await self._send("PUT", address, content=medium.data, headers=headers)
        self._is_taken(stored, body)
        report = uploads.report(stored.status_code, time.monotonic() - began, datetime.now(UTC))
        about = f"{self._url}{uploads.MEDIA_PATH}/{quote(number, safe='')}"
        await self._send("PATCH", about, json=report, headers=self._headers)

    async def _send(self, method: str, url: str, **options: Any) -> tuple[httpx.Response, bytes]:
        async with self._client.stream(method, url, **options) as response:
            return response, await beginning(response)

    def _is_taken(self, response: httpx.Response, body: bytes) -> bool:
        """Whether the medium was accepted. False: it is refused for good, and its span is sent without it. Raises
        UploadFailed."""
        verdict = of_status(response.status_code)
        if verdict in (Verdict.ACCEPTED, Verdict.REFUSED):
            return verdict is Verdict.ACCEPTED
        wait = retry_after(response.headers.get("retry-after"), time.time())
        text = body.decode("utf-8", "replace")
        answer = Answer(verdict, f"answered {response.status_code} to an image or file: {text}", wait)
        raise UploadFailed(without_secrets(answer, self._headers.values()))

    def _put_headers(self, address: str, medium: OutboundMedia) -> dict[str, str]:
        """Returns the headers of the upload. Raises UploadFailed for a host that is not allowed."""
        host = (urlsplit(address).hostname or "").lower()
        if urlsplit(address).scheme not in {"http", "https"} or not any(
            _matches(host, allowed) for allowed in self._hosts
        ):
            reason = f"wants images and files at {host[:100] or 'no host'}: name it in MEDIA_HOSTS, or set none there"
            raise UploadFailed(Answer(Verdict.MISCONFIGURED, reason))
        return uploads.put_headers(address, medium)


def _matches(host: str, allowed: str) -> bool:
    return host.endswith(allowed[1:]) if allowed.startswith("*.") else host == allowed


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
