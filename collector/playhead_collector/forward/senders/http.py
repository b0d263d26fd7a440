"""delivery → [http] → a destination.  Sends OTLP (protobuf, gzip) and scores (JSON, one in each request) over HTTP."""

import asyncio
import gzip
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from playhead.outbound.answers import Verdict, verdict_of
from playhead.wire.loopback import is_loopback
from playhead_collector.forward.attempts import Answer, retry_after, shortened, without_secrets
from playhead_collector.forward.scoring import OutboundScore
from playhead_collector.forward.senders import HttpTarget, Signal

_PROTOBUF = "application/x-protobuf"
JSON = {"content-type": "application/json"}
# Spans of one run are so repetitive that a better level saves a few percent and takes twice the time.
_GZIP_LEVEL = 4
# OTLP's answers are a few bytes; a longer one is a web page, of which the beginning is enough.
_MOST_ANSWER_BYTES = 64 * 1024


class HttpSender:
    """Sends to one address. Follows no redirects, so that nothing is sent to a host that was not configured."""

    def __init__(self, target: HttpTarget, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._target = target
        self._client = httpx.AsyncClient(
            timeout=target.timeout_s,
            follow_redirects=False,
            # A proxy for the Internet does not reach this machine, so loopback addresses ignore the proxy settings.
            trust_env=not all(map(is_loopback, target.urls.values())),
            transport=transport,
        )

    async def send(self, signal: Signal, body: bytes) -> Answer:
        """See `Sender`."""
        packed = await asyncio.to_thread(gzip.compress, body, _GZIP_LEVEL, mtime=0)
        return await self.post(signal, packed, {"content-type": _PROTOBUF, "content-encoding": "gzip"})

    async def post(self, signal: Signal, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Sends a body as it is, with these headers in addition to the destination's."""
        headers = {**self._target.headers, **headers}
        try:
            # httpx limits only each step: a destination that answers one byte at a time would block the worker for
            # ever.
            async with asyncio.timeout(self._target.timeout_s):
                async with self._client.stream(
                    "POST", self._target.urls[signal], content=body, headers=headers
                ) as response:
                    answer = _answer_of(signal, response, await beginning(response))
                    return without_secrets(answer, self._target.headers.values())
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
            return Answer(Verdict.UNAVAILABLE, shortened(f"cannot be reached ({type(error).__name__}: {error})"))

    async def ask(self, url: str, question: bytes) -> tuple[int, bytes] | None:
        """Posts JSON to another address of the destination. Returns the status and the beginning of the answer; None if
        there is no answer."""
        headers = {**self._target.headers, **JSON}
        try:
            async with asyncio.timeout(self._target.timeout_s):
                async with self._client.stream("POST", url, content=question, headers=headers) as response:
                    return response.status_code, await beginning(response)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError):
            return None

    async def close(self) -> None:
        """Closes connections."""
        await self._client.aclose()


async def beginning(response: httpx.Response) -> bytes:
    """Reads the first part of a response, so that a long one cannot fill the memory."""
    pieces, size = list[bytes](), 0
    async for piece in response.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_ANSWER_BYTES:
            break
    return b"".join(pieces)


def _answer_of(signal: Signal, response: httpx.Response, body: bytes) -> Answer:
    verdict, status = verdict_of(response.status_code), response.status_code
    if verdict is Verdict.ACCEPTED:
        rejected, message = _partial_success(signal, response, body)
        return Answer(verdict, message, rejected=rejected)
    if response.is_redirect:
        where = urlsplit(str(response.headers.get("location", ""))).hostname or "elsewhere"
        return Answer(verdict, f"answered {status}, a redirect to {where}: set its URL to where it is")
    wait = retry_after(response.headers.get("retry-after"), time.time())
    return Answer(verdict, f"answered {status}: {_error_text(response, body)}", wait)


def _partial_success(signal: Signal, response: httpx.Response, body: bytes) -> tuple[int, str]:
    """Returns the number of rejected items, and the reason. Returns (0, "") if the body is not OTLP's."""
    if _PROTOBUF not in response.headers.get("content-type", ""):
        return 0, ""
    try:
        if signal == "traces":
            of_spans = ExportTraceServiceResponse.FromString(body).partial_success
            return of_spans.rejected_spans, of_spans.error_message
        of_logs = ExportLogsServiceResponse.FromString(body).partial_success
        return of_logs.rejected_log_records, of_logs.error_message
    except DecodeError:
        return 0, ""


def _error_text(response: httpx.Response, body: bytes) -> str:
    if _PROTOBUF in response.headers.get("content-type", ""):
        try:
            return Status.FromString(body).message
        except DecodeError:
            pass
    return body.decode("utf-8", "replace") or "nothing"


# --- scores ----------------------------------------------------------------------------------------------------------


class JsonScores:
    """Posts scores to one address."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        timeout_s: float,
        body_of: Callable[[OutboundScore], dict[str, Any]],
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._sender = HttpSender(HttpTarget({"logs": url}, headers, timeout_s), transport)
        self._body_of = body_of

    async def send(self, score: OutboundScore) -> Answer:
        """See `ScoreSender`."""
        answer = await self._sender.post("logs", orjson.dumps(self._body_of(score)), JSON)
        # Phoenix answers 404 if it does not know the span (yet). A 404 for another reason also concerns only scores.
        is_unknown = answer.verdict is Verdict.MISCONFIGURED and answer.reason.startswith("answered 404")
        return replace(answer, verdict=Verdict.REFUSED) if is_unknown else answer

    async def close(self) -> None:
        """Closes connections."""
        await self._sender.close()
