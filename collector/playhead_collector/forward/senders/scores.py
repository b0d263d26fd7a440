"""worker → [scores] → a destination.  Sends scores as JSON, one in each request."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx
import orjson

from playhead_collector.forward.attempts import Answer, Verdict
from playhead_collector.forward.scoring import OutboundScore
from playhead_collector.forward.senders import HttpTarget
from playhead_collector.forward.senders.http import HttpSender

_JSON = {"content-type": "application/json"}


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
        answer = await self._sender.post("logs", orjson.dumps(self._body_of(score)), _JSON)
        # Phoenix answers 404 if it does not know the span (yet). A 404 for another reason also concerns only scores.
        is_unknown = answer.verdict is Verdict.MISCONFIGURED and answer.reason.startswith("answered 404")
        return replace(answer, verdict=Verdict.REFUSED) if is_unknown else answer

    async def close(self) -> None:
        """Closes connections."""
        await self._sender.close()
