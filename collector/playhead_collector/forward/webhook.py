"""store → [webhook] → a receiver.  Announces open promises by webhook, in the form of Standard Webhooks 1.0.0.

One promise is sent after the other; pauses grow while the receiver fails. The signature is HMAC-SHA256 of
`{webhook-id}.{webhook-timestamp}.{body}`; neither the id nor the timestamp has a dot.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

import httpx

from playhead.model.times import rfc3339
from playhead.outbound.answers import Verdict, verdict_of
from playhead.wire.loopback import is_loopback
from playhead_collector.background import BackgroundLoop
from playhead_collector.errors import BadSetting, StoreUnavailable
from playhead_collector.forward.attempts import Answer, backoff_s, retry_after
from playhead_collector.json_bytes import json_bytes
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.promises import Announcement, PostgresPromises

log = logging.getLogger(__name__)

_NS = 1_000_000_000
# Soon enough for people, and cheap: a look-up in an index of the waiting promises.
_POLL_S = 1.0
_STORE_PAUSE_S, _ERROR_PAUSE_S = 5.0, 30.0
# Time that the lease of a promise exceeds the attempt, for the store's work before and after it.
_LEASE_MARGIN_S = 60.0
# Promises that one line of the log names.
_NAMED = 5


class PromiseAnnouncer:
    """Announces open promises of all projects to one URL, in the background. Follows no redirects."""

    def __init__(
        self,
        promises: PostgresPromises,
        url: str,
        key: bytes,
        *,
        public_url: str,
        timeout_s: float,
        max_age_s: float,
        clock: Callable[[], int],
    ) -> None:
        """`key` signs the requests; `public_url` is this collector's URL for people; `clock` gives ns since 1970."""
        self.counts: Counter[str] = Counter()  # sent, failed, given_up
        self._promises = promises
        self._url, self._key, self._public_url = url, key, public_url
        self._timeout_s, self._max_age_s = timeout_s, max_age_s
        self._clock = clock
        self._failures, self._paused_until_ns = 0, 0
        # Neither the URL's path nor the receiver's answer is logged: both may contain a key.
        self._host = urlsplit(url).hostname or ""
        # A proxy for the Internet does not reach this machine.
        outside = not is_loopback(url)
        self._client = httpx.AsyncClient(timeout=timeout_s, follow_redirects=False, trust_env=outside)
        self._loop = BackgroundLoop(self._work_on, "playhead promise webhook")

    def start(self) -> None:
        """Starts to announce in the background."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. An attempt in progress is abandoned, and made again later."""
        await self._loop.stop()
        await self._client.aclose()

    async def run_once(self) -> float:
        """Announces the promises that are due. Returns the seconds until the next call. Raises StoreUnavailable."""
        await self._drop_old()
        while (now := self._clock()) >= self._paused_until_ns:
            until = now + int((self._timeout_s + _LEASE_MARGIN_S) * _NS)
            announcement = await self._promises.take_announcement(now, until, self._max_age_s)
            if announcement is None:
                return _POLL_S
            answer = await self._send(announcement)
            # Shielded: a delivered announcement must be noted even when the collector stops now.
            await asyncio.shield(self._settle(announcement, answer))
        return (self._paused_until_ns - now) / _NS

    async def _drop_old(self) -> None:
        """Counts and logs promises that became too old, or passed their deadline, before they were announced."""
        while dropped := await self._promises.drop_announcements(self._clock(), self._max_age_s):
            self.counts["given_up"] += len(dropped)
            log.warning(
                "promises that are not announced any more, being too old or past their deadline: %d (%s%s)",
                len(dropped), ", ".join(dropped[:_NAMED]), ", ..." if len(dropped) > _NAMED else "",
            )  # fmt: skip

    async def _send(self, announcement: Announcement) -> Answer:
        body = body_of(announcement, self._public_url)
        headers = signed_headers(announcement.promise.id, body, self._key, self._clock() // _NS)
        try:
            # httpx limits only each step. The body of the answer is not needed.
            async with asyncio.timeout(self._timeout_s):
                async with self._client.stream("POST", self._url, content=body, headers=headers) as response:
                    wait_s = retry_after(response.headers.get("retry-after"), self._clock() / _NS)
                    return Answer(verdict_of(response.status_code), f"answered {response.status_code}", wait_s)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
            return Answer(Verdict.UNAVAILABLE, f"cannot be reached ({type(error).__name__})")

    async def _settle(self, announcement: Announcement, answer: Answer) -> None:
        promise = announcement.promise
        if answer.verdict is Verdict.ACCEPTED:
            self.counts["sent"] += 1
            self._failures = 0
            await self._promises.settle_announcement(announcement.project_id, promise.id, None)
            return
        self.counts["failed"] += 1
        pause = backoff_s(announcement.attempt, answer)
        if answer.verdict is not Verdict.REFUSED:  # a refusal concerns this promise only
            self._failures += 1
            pause = backoff_s(self._failures, answer)
            self._paused_until_ns = self._clock() + int(pause * _NS)
        due = self._clock() + int(pause * _NS)
        if due >= promise.created_ns + int(self._max_age_s * _NS):
            self.counts["given_up"] += 1
            log.warning("promise %s is not announced any more: %s %s", promise.id, self._host, answer.reason)
            await self._promises.settle_announcement(announcement.project_id, promise.id, None)
            return
        if announcement.attempt == 1:
            log.warning("promise webhook: %s %s; trying again in %.0f s", self._host, answer.reason, pause)
        await self._promises.settle_announcement(announcement.project_id, promise.id, due)

    async def _work_on(self) -> None:
        while True:
            try:
                wait_s = await self.run_once()
            except StoreUnavailable:
                wait_s = _STORE_PAUSE_S
            except Exception:  # an error must not end the announcing of all later promises
                log.exception("announcing promises failed; going on in %.0f s", _ERROR_PAUSE_S)
                wait_s = _ERROR_PAUSE_S
            await asyncio.sleep(wait_s)


def check_webhook(settings: CollectorSettings) -> None:
    """Raises BadSetting for a webhook without a key, or a key without a webhook."""
    if (settings.promise_webhook is None) != (settings.promise_webhook_secret is None):
        raise BadSetting("PLAYHEAD_PROMISE_WEBHOOK and PLAYHEAD_PROMISE_WEBHOOK_SECRET belong together: set both")


def announcer_of(
    settings: CollectorSettings, promises: PostgresPromises, clock: Callable[[], int]
) -> PromiseAnnouncer | None:
    """Returns the announcer for these settings; None without a webhook. Raises BadSetting."""
    check_webhook(settings)
    url, key = settings.promise_webhook, settings.promise_webhook_secret
    if url is None or key is None:
        return None
    return PromiseAnnouncer(
        promises,
        url,
        key,
        public_url=settings.public_url or f"http://{settings.host}:{settings.port}",
        timeout_s=settings.promise_webhook_seconds,
        max_age_s=settings.promise_webhook_max_age_seconds,
        clock=clock,
    )


def observe_announcer(
    gauge: Callable[[str, str, Callable[[], float]], None], announcer: PromiseAnnouncer | None
) -> None:
    """Registers the announcer's counters as metrics by calling `gauge(name, help, read)`. Does nothing for None."""
    if announcer is None:
        return
    for outcome in ("sent", "failed", "given_up"):
        count = partial(announcer.counts.__getitem__, outcome)
        gauge(f"promise_webhooks_{outcome}", f"Announcements of promises: {outcome.replace('_', ' ')}", count)


# --- the message, pure -----------------------------------------------------------------------------------------------

OPENED = "promise.opened"


def body_of(announcement: Announcement, public_url: str) -> bytes:
    """Returns the body as JSON. It leaves out the details: readers who may see them read the promise, with a key of its
    project."""
    promise = announcement.promise
    body, link = promise.body, f"{public_url.rstrip('/')}/api/v1/promises/{promise.id}"
    data = {
        "id": promise.id,
        "project": announcement.project,
        "run": promise.run,
        "kind": promise.kind,
        "prompt": body["action"],
        "name": body["name"],
        "key": body["key"] if promise.kind == "event" else None,
        "risk": body["risk"],
        "deadline": None if promise.deadline_ns is None else rfc3339(promise.deadline_ns),
        "answer_url": link,
    }
    return json_bytes({"type": OPENED, "timestamp": rfc3339(promise.created_ns), "data": data})


def signed_headers(promise: str, body: bytes, key: bytes, now_s: int) -> Mapping[str, str]:
    """Returns the headers of an attempt at `now_s` (seconds since 1970). The id is the same in each attempt."""
    number = f"opened_{promise}"
    digest = hmac.new(key, b"%b.%d.%b" % (number.encode(), now_s, body), hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": number,
        "webhook-timestamp": str(now_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
