"""delivery → [http] ══▶ collector.  One POST, and what its answer means for what was sent.

Three things can be wrong: the collector cannot take anything now (Unavailable: keep it, try later), it does not take
these items (Refused: find out which, go on with the others), or it does not know the path at all (NotThere).
"""

import gzip
import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
import orjson
import zstandard
from opentelemetry.instrumentation.utils import suppress_instrumentation

from playhead.export.counters import ShipCounters
from playhead.export.otlp import status_message
from playhead.export.patience import Unavailable
from playhead.model.setting import without_password
from playhead.settings import Settings

# 30 s to answer: a collector that is catching up; 5 s to connect: it is there, or it is not.
_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
# Shorter than the 5 s after which servers commonly close idle connections: never write into one that is closing.
_LIMITS = httpx.Limits(max_connections=1, keepalive_expiry=4.0)
# Measured on 200 recorded runs: 11 % fewer bytes than level 3 for 9 us more a span, and level 12 would save 3 % more.
# Matches of less than 6 bytes cost more than they save, since half of what we send is hex digits of hashes.
_ZSTD = zstandard.ZstdCompressionParameters.from_level(7, min_match=6)  # pyright: ignore[reportUnknownMemberType]
_SLOWLY_SECONDS = 60.0
_LONGEST_RETRY_AFTER_SECONDS = 300.0

_shipping: ContextVar[bool] = ContextVar("playhead_shipping", default=False)


class Refused(Exception):
    """The collector will never take this request as it is."""

    def __init__(self, status: int, reason: str):
        super().__init__(f"{status}: {reason}" if reason else str(status))
        self.status = status


class NotThere(Exception):
    """The endpoint answers, and not as one that knows this path."""


class Endpoint:
    """Where spans and content go.  Belongs to one thread of one process."""

    def __init__(self, settings: Settings, counters: ShipCounters):
        """Does not connect yet."""
        self.shown = without_password(settings.endpoint)
        self.encoding = "zstd"
        self._base = settings.endpoint.rstrip("/")
        self._counters = counters
        self._zstd = zstandard.ZstdCompressor(compression_params=_ZSTD)
        headers = {"user-agent": "playhead", **dict(settings.headers)}
        if settings.api_key:
            headers["authorization"] = f"Bearer {settings.api_key}"
        with _unnoticed():
            # Reading the certificates of all authorities takes 50 ms, for nothing where there is no TLS.
            tls = self._base.startswith("https:")
            self._client = httpx.Client(headers=headers, timeout=_TIMEOUT, limits=_LIMITS, verify=tls)

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def post(self, path: str, body: bytes, media_type: str) -> bytes:
        """The body of a successful answer; raises Unavailable, Refused or NotThere."""
        sent = self._zstd.compress(body) if self.encoding == "zstd" else gzip.compress(body, 6)
        self._counters.wire_bytes += len(sent)
        headers = {"content-type": media_type, "content-encoding": self.encoding}
        try:
            with _unnoticed():
                answer = self._client.post(self._base + path, content=sent, headers=headers)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        if not answer.is_success:
            self._raise_for(answer)
        return answer.content

    def _unreachable(self, error: httpx.TransportError) -> Unavailable:
        slow = isinstance(error, httpx.TimeoutException)
        return Unavailable(
            "timeout" if slow else "unreachable",
            f"the collector at {self.shown} {'does not answer in time' if slow else 'cannot be reached'} "
            f"({error or type(error).__name__}): what is recorded stays in the journal and is sent later; "
            "start one with `playhead serve`, or set OTEL_EXPORTER_OTLP_ENDPOINT",
            hopeless=isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol),
        )

    def _raise_for(self, answer: httpx.Response) -> None:
        status, reason = answer.status_code, _reason(answer)
        if status in {401, 403, 407}:
            raise Unavailable(
                "denied",
                f"the collector at {self.shown} wants another key ({status} {reason}): set PLAYHEAD_API_KEY; "
                "what is recorded stays in the journal until then",
                retry_after=_SLOWLY_SECONDS,
                hopeless=True,
            )
        if status in {408, 429, 502, 503, 504}:
            raise Unavailable(
                "busy",
                f"the collector at {self.shown} cannot take more now ({status} {reason}): "
                "what is recorded stays in the journal and is sent later",
                retry_after=retry_after_seconds(answer.headers.get("retry-after", ""), datetime.now(UTC)),
            )
        if status in {404, 405, 501} or answer.is_redirect:
            raise NotThere(f"{answer.request.url.path} answers {status} {reason}".rstrip())
        raise Refused(status, reason)


def elsewhere(shown: str, error: NotThere) -> Unavailable:
    """For a path without which nothing works."""
    return Unavailable(
        "elsewhere",
        f"there is no collector at {shown} ({error}): set OTEL_EXPORTER_OTLP_ENDPOINT to the collector's address "
        "without /v1/traces; what is recorded stays in the journal until then",
        retry_after=_SLOWLY_SECONDS,
        hopeless=True,
    )


def everything_refused(shown: str, refused: Refused) -> Unavailable:
    """For a collector that takes nothing at all: losing everything helps nobody."""
    return Unavailable(
        "everything refused",
        f"the collector at {shown} refuses everything ({refused}): what is recorded stays in the journal; "
        "see the collector's log, and whether it and this program have versions that fit",
        retry_after=_SLOWLY_SECONDS,
        hopeless=True,
    )


def _reason(answer: httpx.Response) -> str:
    if answer.headers.get("content-type", "").startswith("application/json"):
        try:
            return str(orjson.loads(answer.content)["error"]["message"])[:500]
        except (ValueError, TypeError, KeyError):
            return ""
    return status_message(answer.content)[:500]


def retry_after_seconds(text: str, now: datetime) -> float:
    """What a Retry-After header asks for, within reason: seconds, or a date; 0 when it cannot be read."""
    try:
        seconds = float(text) if text.isdecimal() else (parsedate_to_datetime(text) - now).total_seconds()
    except (ValueError, TypeError):
        return 0.0
    return min(max(seconds, 0.0), _LONGEST_RETRY_AFTER_SECONDS)


@contextmanager
def _unnoticed() -> Generator[None]:
    """What we send must not be observed by the program's instrumentation, nor fill its log."""
    token = _shipping.set(True)
    try:
        with suppress_instrumentation():
            yield
    finally:
        _shipping.reset(token)


class _NotOurs(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not _shipping.get()


# httpx logs a line for each request: with the program's logging at INFO that would be one a second, about nothing.
for _name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(_NotOurs())
