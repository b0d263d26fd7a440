"""Every question that can be asked about a run and about all runs, to compare the answers of two stores."""

from collections.abc import Collection
from typing import Any

import httpx

from playhead.wire.operations.declared import PREFIX, all_operations
from playhead.wire.operations.operation import NOTHING, DeclaredOperation, Form

_EVENTS = 3  # of each run, at which questions are asked
_OF_A_RUN = "/runs/{run}"
# Not asked as they are: about two events (below), what a store has besides the record, and formats of another page.
_OTHERWISE = {"/diff", "/notes", "/otlp"}


def across() -> list[str]:
    """Questions about all runs: all that are declared."""
    about = [path for path in _declared() if path.startswith("/analytics/")]
    assert len(about) > 8
    return ["/runs", "/runs?sort=attention", "/runs/overview", *about]


def _declared() -> list[str]:
    return [path for operation in all_operations() if (path := _plain(operation)) is not None]


def _plain(operation: DeclaredOperation) -> str | None:
    """The path of a question in JSON that needs nothing but the run; None: it needs more, or is none."""
    facts = operation.facts
    needed = [each.wire_name for each in operation.parameters if each.default is NOTHING]
    is_plain = facts.method == "GET" and facts.form in (Form.JSON, Form.PAGE) and not facts.needs
    return facts.path if is_plain and needed in ([], ["run"]) else None


def of_a_run() -> list[str]:
    """Questions about a run that need nothing more, below its path: all that are declared."""
    below = [path.removeprefix(_OF_A_RUN) for path in _declared() if path.startswith(_OF_A_RUN)]
    assert len(below) > 15
    return [path for path in below if path not in _OTHERWISE]


async def questions(client: httpx.AsyncClient, run: str) -> list[str]:
    """All questions about a run, at each event that they can be asked of."""
    events = (await client.get(f"{PREFIX}/runs/{run}/events", params={"limit": 1000})).json()["items"]
    assert len(events) > 10
    lists = [*of_a_run(), "/test", "/turns/1", "/turns/1?why=true", "/search?q=e"]
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
