"""One program on an old version of a client: recorded, resumed, and forked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.span import STATUS_ERROR, Span
from playhead.testing import MockModelServer
from tests.support.journal_reader import Journaled, Recording

looked_up: list[str] = []


@observe(kind="tool")
def look_up(city: str) -> str:
    """Says how the weather is in a city.

    Args:
        city: the city's name.
    """
    looked_up.append(city)
    return f"sunny in {city}"


@dataclass
class Done:
    """What the program said live, what it said in a fork, and its record."""

    live: list[Any]
    forked: list[Any]
    seen: Journaled
    run_id: str

    def calls(self, kind: str = "llm") -> list[Span]:
        """The calls of the first run, in the order in which they were made."""
        found = [s for s in self.seen.spans if s.attributes[names.KIND] == kind]
        return sorted(found, key=lambda span: span.attributes[names.CALL_ORDER])


def run_resume_and_fork(program: Callable[[], list[Any]], recording: Recording, server: MockModelServer) -> Done:
    """Live, from the record without a request, and with another first answer."""
    looked_up.clear()
    with playhead.run("r") as run:
        live = program()
    assert run.id is not None
    seen, asked = recording.read(), len(server.requests)
    with playhead.resume(run.id, completed="rerun") as rewound, playhead.run("r"):
        assert program() == live
    assert (len(server.requests), looked_up, rewound.report.live) == (asked, ["Rome"], 0)
    first = next(span for span in seen.spans if span.attributes[names.KIND] == "llm")
    with playhead.fork(run.id, at=first.attributes[names.OPERATION], outcome="Otherwise."), playhead.run("r"):
        forked = program()
    assert (forked[0], len(forked)) == ("Otherwise.", len(live))
    return Done(live, forked, seen, run.id)


def assert_calls_are_recorded(done: Done, *, provider: str, failed: int) -> None:
    """Messages, usage, the tool under the id that the model gave its call, and the errors: `failed` calls."""
    calls = done.calls()
    for span in calls:
        assert span.attributes[names.PROVIDER] == provider
        assert names.INPUT_MESSAGES_REF in span.attributes
    answered = [span for span in calls if span.status != STATUS_ERROR]
    assert len(calls) - len(answered) == failed
    for span in answered:
        assert (span.attributes[names.INPUT_TOKENS], span.attributes[names.OUTPUT_TOKENS]) > (0, 0)
        assert names.UNRESTORABLE not in span.attributes
    said = [done.seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF]) for span in answered]
    parts = [part for messages in said for message in messages for part in message["parts"]]
    [asked] = [part for part in parts if part["type"] == "tool_call"]
    assert (asked["name"], asked["arguments"]) == ("look_up", {"city": "Rome"})
    [ran] = done.calls("tool")
    assert ran.attributes.get(names.TOOL_CALL_ID) == asked["id"]
    assert any(span.attributes.get(names.REQUEST_STREAM) for span in answered)
