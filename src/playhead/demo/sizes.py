"""[sizes] → support → show.  Sizes of a record: inline in spans, as sent to the collector, as stored."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

import playhead
from playhead.demo.stage import DemoFailed

_STORED_BYTES = 'playhead_stored_bytes{what="%s"}'


@dataclass(frozen=True, slots=True)
class ModelExchange:
    """The input of a model, and its answer."""

    messages: Sequence[Any]
    tools: Sequence[Any]
    answer: Any

    @property
    def inline_bytes(self) -> int:
        """Size as JSON, as Python's `json` writes it, in bytes."""
        return sum(len(json.dumps(value)) for value in (self.messages, self.tools, self.answer) if value)


@dataclass(frozen=True, slots=True)
class StoredSizes:
    """Bytes in Postgres, with indexes. `content`: contents and threads; `database`: everything."""

    content: int
    database: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in bytes. `inline`: each model call's messages, tools and answer as JSON in its span's attributes, as other
    tools record them.

    `wire`: what was sent instead, compressed, with all other data. `content` and `database`: see `StoredSizes`.
    """

    inline: int
    wire: int
    content: int
    database: int


def sizes_of(calls: Iterable[ModelExchange], url: str, before: StoredSizes | None = None) -> Sizes:
    """Returns the sizes of these calls; the stored sizes are those since `before`. Asks the collector; raises
    DemoFailed."""
    now, before = stored(url), before or StoredSizes(0, 0)
    return Sizes(
        inline=sum(call.inline_bytes for call in calls),
        wire=playhead.counters()["wire_bytes"],
        content=now.content - before.content,
        database=now.database - before.database,
    )


def stored(url: str) -> StoredSizes:
    """Returns how many bytes the collector's Postgres takes now. Raises DemoFailed."""
    metrics = _read_metrics(url)
    return StoredSizes(int(metrics[_STORED_BYTES % "content"]), int(metrics[_STORED_BYTES % "database"]))


def _read_metrics(url: str) -> dict[str, float]:
    answer = httpx.get(f"{url}/metrics", trust_env=False)
    if not answer.is_success:
        raise DemoFailed(f"the collector at {url} does not say how much it stores: {answer.status_code}")
    lines = (line.rpartition(" ") for line in answer.text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}
