"""delivery → [http] ══▶ collector.  One POST, and what its answer means for what was sent.

A Playhead collector sets a header on each of its answers.  So an answer of the collector itself can be told from an
answer of something in between (a proxy's 413, a load balancer's 520, a different server):

| answer | meaning |
|---|---|
| 2xx with the header | delivered |
| 4xx with the header | RequestRejected: find the refused items, deliver the others |
| 401, 403, 407 | Unavailable: the key is missing or wrong |
| 408, 429, 502, 503, 504 | Unavailable: try later |
| any other 5xx, or 4xx without the header | RequestRejected, not `sure`: try again first |
| 2xx, 3xx, 404, 405 without the header | Unavailable: the server is not a Playhead collector |
"""

import gzip
import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import httpx
import orjson
from opentelemetry.instrumentation.utils import suppress_instrumentation

from playhead.export.counters import ShipCounters
from playhead.model.names import COLLECTOR_HEADER, COLLECTOR_PATH, WIRE_VERSION
from playhead.outbound.otlp import status_message
from playhead.settings.sdk import OTEL_ENDPOINT, Settings
from playhead.settings.table import without_password
from playhead.wire.delays import retry_after_s
from playhead.wire.retries import Unavailable, grpc_hint

# 30 s for the answer of a busy collector; 5 s to connect, which does not depend on its load.
_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
# Shorter than the 5 s after which servers commonly close idle connections, so none is used while it is closed.
_LIMITS = httpx.Limits(max_connections=1, keepalive_expiry=4.0)
_SLOWLY_SECONDS = 60.0
_MAX_RETRY_AFTER_SECONDS = 300.0
_DENIED, _BUSY = frozenset({401, 403, 407}), frozenset({408, 429, 502, 503, 504})
_NOT_THERE = frozenset({404, 405, 501})

_shipping: ContextVar[bool] = ContextVar("playhead_shipping", default=False)


class RequestRejected(Exception):
    """The request was not accepted. `is_final`: the collector itself rejected it, so the same request will fail
    again; otherwise the cause may be temporary."""

    def __init__(self, status: int, reason: str, *, sure: bool):
        super().__init__(f"{status}: {reason}" if reason else str(status))
        self.status = status
        self.is_final = sure


def compression() -> tuple[str, Callable[[bytes], bytes]]:
    """Returns the name of the encoding of requests, and the function: zstd with `playhead[zstd]`, else gzip, which
    Python brings itself."""
    try:
        import zstandard  # noqa: PLC0415 - an extra
    except ImportError:
        return "gzip", partial(gzip.compress, compresslevel=6, mtime=0)
    # Measured on 200 recorded runs: 11 % fewer bytes than level 3 for 9 us more a span; level 12 would save 3 % more.
    # Matches of less than 6 bytes cost more than they save, since half of what we send is hex digits of hashes.
    level = zstandard.ZstdCompressionParameters.from_level(7, min_match=6)  # pyright: ignore[reportUnknownMemberType]
    return "zstd", zstandard.ZstdCompressor(compression_params=level).compress


class CollectorEndpoint:
    """The HTTP connection to a collector. Used by one thread of one process."""

    def __init__(self, settings: Settings, counters: ShipCounters):
        """Does not connect yet."""
        self.shown = without_password(settings.collector)
        self._is_otel = settings.endpoint_is_otel
        self._base = settings.collector.rstrip("/")
        self._counters = counters
        self._encoding, self._compress = compression()
        self._is_known = False
        self._key = settings.collector_headers
        headers = {"user-agent": "playhead", **dict(settings.headers)}
        with without_instrumentation():
            # Reading the certificates of all authorities takes 50 ms, for nothing where there is no TLS.
            tls = self._base.startswith("https:")
            self._client = httpx.Client(headers=headers, timeout=_TIMEOUT, limits=_LIMITS, verify=tls)

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def post(self, path: str, body: bytes, media_type: str) -> bytes:
        """Sends the body and returns the body of the answer. Raises Unavailable or RequestRejected.

        First checks that the server is a Playhead collector: recorded data must not be sent to any other server."""
        return self.exchange(path, body, media_type).content

    def exchange(self, path: str, body: bytes, media_type: str) -> httpx.Response:
        """Same as `post`, but returns the whole answer."""
        if not self._is_known:
            self._check_is_collector()
        sent = self._compress(body)
        self._counters.wire_bytes += len(sent)
        headers = {"content-type": media_type, "content-encoding": self._encoding, **self._key}
        answer = self._exchange("POST", path, headers, sent)
        if not (answer.is_success and COLLECTOR_HEADER in answer.headers):
            self._raise_for(answer)
        return answer

    def delete(self, path: str) -> None:
        """Asks for a deletion. Raises Unavailable or RequestRejected."""
        if not self._is_known:
            self._check_is_collector()
        answer = self._exchange("DELETE", path, self._key)
        if not (answer.is_success and COLLECTOR_HEADER in answer.headers):
            self._raise_for(answer)

    def _check_is_collector(self) -> None:
        # An address from OpenTelemetry's variable gets no key of ours: it may name a server that is not a collector.
        answer = self._exchange("GET", COLLECTOR_PATH, {} if self._is_otel else self._key)
        if COLLECTOR_HEADER in answer.headers:
            if is_older(answer.headers[COLLECTOR_HEADER]):
                raise self._too_old(answer.headers[COLLECTOR_HEADER])
            self._is_known = True
            return
        status = answer.status_code
        if status in _DENIED:
            raise self._denied(answer)
        if (status >= 500 and status not in _NOT_THERE) or status in _BUSY:
            raise self._busy(answer)
        raise self._not_a_collector(status)

    def _exchange(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> httpx.Response:
        try:
            with without_instrumentation():
                return self._client.request(method, self._base + path, content=body, headers=headers)
        except httpx.RequestError as error:
            raise self._unreachable(error) from error

    def _raise_for(self, answer: httpx.Response) -> None:
        status, is_ours = answer.status_code, COLLECTOR_HEADER in answer.headers
        if status in _DENIED:
            raise self._denied(answer)
        if status in _BUSY:
            raise self._busy(answer)
        if status < 400 or status in _NOT_THERE:
            self._is_known = False  # it was a collector before: check again
            raise Unavailable(
                "another answer",
                f"{self.shown} does not answer as a Playhead collector any more ({_detail(answer)}): what is recorded "
                "stays in the journal and is sent later; see what is at that address",
            )
        raise RequestRejected(status, _reason(answer), sure=is_ours and status < 500)

    def _unreachable(self, error: httpx.RequestError) -> Unavailable:
        slow = isinstance(error, httpx.TimeoutException)
        plain = ", which begins with http:// where the collector has no TLS" if "SSL" in str(error) else ""
        return Unavailable(
            "timeout" if slow else "unreachable",
            f"the collector at {self.shown} {'does not answer in time' if slow else 'cannot be reached'} "
            f"({error or type(error).__name__}): what is recorded stays in the journal and is sent later; "
            f"start one with `playhead serve`, or set PLAYHEAD_ENDPOINT{plain}{grpc_hint(error)}",
            retry_is_useless=isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol),
        )

    def _denied(self, answer: httpx.Response) -> Unavailable:
        return Unavailable(
            "denied",
            f"the collector at {self.shown} wants another key ({_detail(answer)}): set PLAYHEAD_API_KEY; "
            "what is recorded stays in the journal until then",
            retry_after=_SLOWLY_SECONDS,
            retry_is_useless=True,
        )

    def _busy(self, answer: httpx.Response) -> Unavailable:
        return Unavailable(
            "busy",
            f"the collector at {self.shown} cannot take more now ({_detail(answer)}): "
            "what is recorded stays in the journal and is sent later",
            retry_after=asked_delay_s(answer.headers.get("retry-after")),
        )

    def _too_old(self, version: str) -> Unavailable:
        return Unavailable(
            "too old",
            f"the collector at {self.shown} speaks version {version} of the wire, and this program {WIRE_VERSION}: "
            "what is recorded stays in the journal until the collector is upgraded",
            retry_after=_SLOWLY_SECONDS,
            retry_is_useless=True,
        )

    def _not_a_collector(self, status: int) -> Unavailable:
        named = f"{OTEL_ENDPOINT}, {self.shown}," if self._is_otel else self.shown
        return Unavailable(
            "stranger",
            f"what answers at {named} is no Playhead collector ({COLLECTOR_PATH} answers {status}): nothing is sent "
            "there, and what is recorded stays in the journal; start a collector with `playhead serve`, and set "
            "PLAYHEAD_ENDPOINT to its address (without a path such as /v1/traces)",
            retry_after=_SLOWLY_SECONDS,
            retry_is_useless=True,
        )


def is_older(collector: str) -> bool:
    """Whether a collector with this version of the wire is older than this program. A newer one takes what this program
    sends; a version that is no number is not judged."""
    return collector.isascii() and collector.isdigit() and int(collector) < WIRE_VERSION


def everything_refused(endpoint: str, why: str) -> Unavailable:
    """The error for a collector that refuses every item: keep the records instead of giving all of them up."""
    return Unavailable(
        "everything refused",
        f"the collector at {endpoint} refuses everything ({why}): what is recorded stays in the journal; "
        "see the collector's log, what is between it and this program, and whether the two have versions that fit",
        retry_after=_SLOWLY_SECONDS,
        retry_is_useless=True,
    )


def _detail(answer: httpx.Response) -> str:
    return f"{answer.status_code} {_reason(answer)}".rstrip()


def _reason(answer: httpx.Response) -> str:
    if answer.headers.get("content-type", "").startswith("application/json"):
        try:
            fields = orjson.loads(answer.content)
            return str(fields.get("error", fields)["message"])[:500]  # ours, or OTLP's to a request in JSON
        except (ValueError, TypeError, KeyError, AttributeError):
            return ""
    return status_message(answer.content)[:500]


def asked_delay_s(retry_after: str | None) -> float:
    """Returns the seconds that a `Retry-After` header asks to wait, at most five minutes; 0 if it does not ask."""
    return retry_after_s(retry_after, time.time(), _MAX_RETRY_AFTER_SECONDS) or 0.0


@contextmanager
def without_instrumentation() -> Generator[None]:
    """Hides our requests from the program's instrumentation and from its log."""
    token = _shipping.set(True)
    try:
        with suppress_instrumentation():
            yield
    finally:
        _shipping.reset(token)


class _HideOwnRequests(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not _shipping.get()


# httpx logs each request at INFO: with that level, the program's log would get one of our lines per second.
for _name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(_HideOwnRequests())
