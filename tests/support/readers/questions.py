"""Every question that can be asked about a run and about all runs, to compare the answers of two stores."""

from collections.abc import Collection
from typing import Any

import httpx

PREFIX = "/api/v1"
_EVENTS = 3  # of each run, at which questions are asked


def across() -> list[str]:
    """Questions about all runs."""
    about = ("statistics", "transitions", "patterns", "compression", "compression-timing", "failures", "contents")
    return ["/runs", "/runs?sort=attention", "/runs/overview", *(f"/analytics/{name}" for name in about)]


async def questions(client: httpx.AsyncClient, run: str) -> list[str]:
    """All questions about a run, at each event that they can be asked of."""
    events = (await client.get(f"{PREFIX}/runs/{run}/events", params={"limit": 1000})).json()["items"]
    assert len(events) > 10
    lists = ("", "/events", "/messages", "/llm-calls", "/tool-calls", "/spans", "/logs", "/decisions")
    lists += ("/attributions", "/compressions", "/tokens", "/waterfall", "/tree", "/suspects", "/scores")
    lists += ("/checkpoints", "/test", "/turns", "/turns/1", "/turns/1?why=true", "/verdict", "/search?q=e")
    found = [f"/runs/{run}{each}" + ("?hydrate=true" if each == "/messages" else "") for each in lists]
    for event in events[:: max(1, len(events) // _EVENTS)]:
        seq = event["seq"]
        found += [f"/runs/{run}/state?at={seq}&hydrate=true", f"/runs/{run}/causes/{seq}"]
        found += [f"/runs/{run}/context?at={seq}", f"/runs/{run}/reasoning/{seq}"]
        found += [f"/runs/{run}/attributions/{seq}", f"/runs/{run}/decisions/{seq}", f"/runs/{run}/compressions/{seq}"]
    found += [f"/runs/{run}/diff?from=1&to={events[-1]['seq']}"]
    found += [f"/runs/{run}/spans/{event['span']}" for event in events[:1] if event["span"] is not None]
    return found


async def answer(client: httpx.AsyncClient, question: str, without: Collection[str] = ()) -> Any:
    """The status and the JSON of the answer, without values under these keys; or its text."""
    response = await client.get(f"{PREFIX}{question}")
    if response.headers["content-type"].startswith("text/x-python"):
        return response.status_code, response.text
    return response.status_code, _comparable(response.json(), without)


def _comparable(value: Any, without: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {key: _comparable(inner, without) for key, inner in value.items() if key not in without}
    return [_comparable(inner, without) for inner in value] if isinstance(value, list) else value
