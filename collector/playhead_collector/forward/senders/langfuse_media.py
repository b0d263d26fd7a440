"""loading → [langfuse_media] → Langfuse.  Uploads images and files, which Langfuse stores apart from spans.

`playhead.outbound.langfuse_media` has the requests. Bytes are uploaded only to hosts that the operator has allowed.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

import httpx

from playhead.outbound import langfuse_media as uploads
from playhead.outbound.answers import Verdict, verdict_of
from playhead.outbound.langfuse_media import OutboundMedia, UploadAnswer, UploadRequest
from playhead.wire.loopback import LOOPBACK_HOSTS
from playhead_collector.forward.attempts import Answer, retry_after, shortened, without_secrets
from playhead_collector.forward.senders import UploadFailed
from playhead_collector.forward.senders.http import beginning

# Large files may take longer than requests, provided that they are uploaded at this speed.
_SLOWEST_BYTES_PER_S = 256 * 1024
# A proxy for the Internet does not reach this machine.
_WITHOUT_PROXY = {f"all://{'[::1]' if host == '::1' else host}": None for host in LOOPBACK_HOSTS}


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
        """Uploads one medium. A refusal is final: its span is sent without it. Raises UploadFailed."""
        requests = uploads.upload(self._url + uploads.MEDIA_PATH, self._headers, medium)
        request = next(requests)
        while True:
            answer = await self._send(request)
            try:
                request = requests.send(answer)
            except StopIteration as ended:
                self._check(ended.value)
                return

    async def _send(self, request: UploadRequest) -> UploadAnswer:
        if request.is_to_storage:
            self._check_host(request.url)
        began = time.monotonic()
        async with self._client.stream(
            request.method, request.url, content=request.body, headers=request.headers
        ) as response:
            body = await beginning(response)
        seconds, wait = time.monotonic() - began, response.headers.get("retry-after")
        return UploadAnswer(response.status_code, body, wait, seconds, datetime.now(UTC))

    def _check(self, failed: UploadAnswer | None) -> None:
        """Raises UploadFailed unless the medium was accepted or refused for good."""
        if failed is None or verdict_of(failed.status) is Verdict.REFUSED:
            return
        reason = f"answered {failed.status} to an image or file: {failed.body.decode('utf-8', 'replace')}"
        answer = Answer(verdict_of(failed.status), reason, retry_after(failed.retry_after, time.time()))
        raise UploadFailed(without_secrets(answer, self._headers.values()))

    def _check_host(self, address: str) -> None:
        """Raises UploadFailed for a host to which the operator allows no uploads."""
        host = (urlsplit(address).hostname or "").lower()
        if urlsplit(address).scheme not in {"http", "https"} or not any(
            _matches(host, allowed) for allowed in self._hosts
        ):
            reason = f"wants images and files at {host[:100] or 'no host'}: name it in MEDIA_HOSTS, or set none there"
            raise UploadFailed(Answer(Verdict.MISCONFIGURED, reason))


def _matches(host: str, allowed: str) -> bool:
    return host.endswith(allowed[1:]) if allowed.startswith("*.") else host == allowed
