"""[sizes] → scenes.  How many bytes the same record takes: inline in spans, on the wire, in Postgres."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

import playhead
from playhead.demo.stage import DemoFailed

_STORED = 'playhead_stored_bytes{what="%s"}'


@dataclass(frozen=True, slots=True)
class StoredSizes:
    """What Postgres takes, with indexes: contents and threads, and all of it."""

    content: int
    database: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """`inline`: each model call's messages, tools and answer as JSON in its span's attributes, as others record them.

    `wire` is what was sent instead: compressed, and with everything around it.
    """

    inline: int
    wire: int
    content: int
    database: int


def sizes_of(calls: Iterable["ModelExchange"], url: str, before: StoredSizes | None = None) -> Sizes:
    """What these calls took, of which `before` was there already.  Asks the collector; raises DemoFailed."""
    now, before = stored(url), before or StoredSizes(0, 0)
    return Sizes(
        inline=sum(call.inline_bytes for call in calls),
        wire=playhead.counters()["wire_bytes"],
        content=now.content - before.content,
        database=now.database - before.database,
    )


def stored(url: str) -> StoredSizes:
    """What the collector's Postgres takes now.  Raises DemoFailed."""
    metrics = _metrics(url)
    return StoredSizes(int(metrics[_STORED % "content"]), int(metrics[_STORED % "database"]))


@dataclass(frozen=True, slots=True)
class ModelExchange:
    """What a model was given, and what it said."""

    messages: Sequence[Any]
    tools: Sequence[Any]
    answer: Any

    @property
    def inline_bytes(self) -> int:
        """As JSON, the way Python writes it."""
        return sum(len(json.dumps(value)) for value in (self.messages, self.tools, self.answer) if value)


def _metrics(url: str) -> dict[str, float]:
    answer = httpx.get(f"{url}/metrics", trust_env=False)
    if not answer.is_success:
        raise DemoFailed(f"the collector at {url} does not say how much it stores: {answer.status_code}")
    lines = (line.rpartition(" ") for line in answer.text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}
