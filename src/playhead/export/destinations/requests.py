"""delivery → [requests] ══▶ destination.  Requests to one destination, and what their answers mean.

| verdict on the answer | meaning |
|---|---|
| ACCEPTED | delivered |
| REFUSED | RequestRejected: find the refused spans, deliver the others |
| MISCONFIGURED, with 401 or 403 | Unavailable: the key is missing or wrong |
| MISCONFIGURED | Unavailable: there is no such destination; redirects are not followed |
| UNAVAILABLE, BROKEN, and no answer | Unavailable: try later |
"""

import gzip
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import httpx

from playhead.export.counters import ShipCounters
from playhead.export.destinations.target import ExportTarget
from playhead.export.http import RequestRejected, asked_delay_s, without_instrumentation
from playhead.model.span import Span
from playhead.outbound import langfuse_media as uploads
from playhead.outbound.answers import Verdict, shown_reason, verdict_of
from playhead.outbound.langfuse_media import OutboundMedia, UploadAnswer
from playhead.outbound.phoenix_projects import ProjectLookup, SentSpan, answer_of, project_of
from playhead.settings.table import without_password
from playhead.wire.loopback import is_loopback
from playhead.wire.retries import Unavailable

_TIMEOUT: Final = httpx.Timeout(30.0, connect=5.0)
_LIMITS: Final = httpx.Limits(max_connections=1, keepalive_expiry=4.0)
_DENIED: Final = frozenset({401, 403})
# Many backends take traces only.
_NO_LOGS: Final = frozenset({404, 405, 415, 501})
_SLOWLY_SECONDS: Final = 60.0
_MOST_REASON: Final = 300
# Characters of an error that are read: a longer one is a web page.
_MOST_READ: Final = 64 * 1024
_JSON: Final = {"content-type": "application/json"}
_PROTOBUF: Final = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}


class DestinationEndpoint:
    """The HTTP connection to a destination.  Used by one thread of one process."""

    def __init__(self, target: ExportTarget, counters: ShipCounters) -> None:
        """Does not connect yet."""
        self.shown = without_password(target.url)
        self._target = target
        self._logs_url = target.logs_url
        self._counters = counters
        self._projects = ProjectLookup()
        with without_instrumentation():
            self._client = httpx.Client(
                headers={"user-agent": "playhead"},
                timeout=_TIMEOUT,
                limits=_LIMITS,
                follow_redirects=False,
                # Loading certificates takes time. Langfuse's storage has TLS also where Langfuse itself has none.
                verify=target.url.startswith("https:") or target.media_url is not None,
                trust_env=not is_loopback(target.url),
            )

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    def send_spans(self, body: bytes) -> None:
        """Sends an OTLP request.  Raises Unavailable or RequestRejected."""
        self._check_answer(self._send(self._target.url, body))

    @property
    def takes_logs(self) -> bool:
        """Whether log events are sent to this destination."""
        return self._logs_url is not None

    def send_logs(self, body: bytes) -> None:
        """Sends an OTLP request of log events. A backend that does not take log events gets no more of them. Raises as
        `send_spans`."""
        if self._logs_url is None:
            return
        answer = self._send(self._logs_url, body)
        if answer.status_code in _NO_LOGS:
            self._logs_url = None
        else:
            self._check_answer(answer)

    def _check_answer(self, answer: httpx.Response) -> None:
        self._check(answer.status_code, answer.content, answer.headers.get("retry-after"))

    def _send(self, url: str, body: bytes) -> httpx.Response:
        packed = gzip.compress(body, 6, mtime=0)
        self._counters.wire_bytes += len(packed)
        return self._exchange("POST", url, {**self._target.headers, **_PROTOBUF}, packed)

    def upload(self, medium: OutboundMedia) -> None:
        """Uploads a medium to Langfuse if Langfuse does not have it yet. Raises as `send_spans`."""
        if self._target.media_url is None:
            return
        requests = uploads.upload(self._target.media_url, self._target.headers, medium)
        request = next(requests)
        while True:
            began = time.monotonic()
            answer = self._exchange(request.method, request.url, request.headers, request.body)
            seconds, wait = time.monotonic() - began, answer.headers.get("retry-after")
            ended_at = datetime.now(UTC)
            try:
                request = requests.send(UploadAnswer(answer.status_code, answer.content, wait, seconds, ended_at))
            except StopIteration as ended:
                failed: UploadAnswer | None = ended.value
                if failed is not None:
                    self._check(failed.status, failed.body, failed.retry_after)
                return

    def elsewhere(self, spans: Sequence[Span]) -> Mapping[str, str]:
        """Returns the other projects of Phoenix that have some of these spans already, by span id. Empty for other
        destinations, and if Phoenix does not say."""
        url, project = self._target.projects_url, self._target.options.project
        if url is None:
            return {}
        questions = self._projects.look(
            [SentSpan(span.trace_id, span.span_id, project_of(project, span.resource)) for span in spans]
        )
        try:
            question = next(questions)
            while True:
                question = questions.send(self._ask(url, question))
        except StopIteration as ended:
            return ended.value

    def _ask(self, url: str, question: bytes) -> bytes | None:
        try:
            answer = self._exchange("POST", url, {**self._target.headers, **_JSON}, question)
        except Unavailable:
            return None  # sending the spans tells why
        return answer_of(answer.status_code, answer.content)

    def _exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        try:
            with without_instrumentation():
                return self._client.request(method, url, content=body, headers=dict(headers))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unavailable(
                "unreachable",
                f"{self.shown} cannot be reached ({error or type(error).__name__}): "
                "spans stay in the journal and are sent later",
                retry_is_useless=isinstance(error, httpx.ConnectError | httpx.UnsupportedProtocol),
            ) from error

    def _check(self, status: int, body: bytes, retry_after: str | None) -> None:
        """Raises Unavailable or RequestRejected unless the status is one of success."""
        verdict = verdict_of(status)
        if verdict is Verdict.ACCEPTED:
            return
        text = body[:_MOST_READ].decode("utf-8", "replace")
        reason = shown_reason(text, self._target.headers.values(), _MOST_REASON)
        if verdict is Verdict.REFUSED:
            raise RequestRejected(status, reason, sure=True)
        if status in _DENIED:
            raise Unavailable(
                "denied",
                f"{self.shown} wants another key ({status} {reason}): correct it where export_to is called; "
                "spans stay in the journal until then",
                retry_after=_SLOWLY_SECONDS,
                retry_is_useless=True,
            )
        if verdict is Verdict.MISCONFIGURED:
            raise Unavailable(
                "not there",
                f"{self.shown} does not take spans ({status} {reason}): correct the address where export_to is called; "
                "spans stay in the journal until then",
                retry_after=_SLOWLY_SECONDS,
                retry_is_useless=True,
            )
        raise Unavailable(
            "busy",
            f"{self.shown} cannot take more now ({status} {reason}): spans stay in the journal and are sent later",
            retry_after=asked_delay_s(retry_after),
        )
