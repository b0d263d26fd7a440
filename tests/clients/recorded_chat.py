"""What tests of clients with OpenAI's Chat Completions share: an agent with a tool, answered again from its record, and
the exact requests."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.local.client import JournalClient
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, contains, text, thinking, tool_call, tool_result_received
from tests.support.journal_reader import Journaled, Recording, start_recording

HELLO: list[Any] = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
]
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"b": 1.0,  "a": "\\u00e9"}'}}
HISTORY: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "text", "text": "And this?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "", "name": "look_up"},
    {"role": "assistant", "content": ""},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
]
SAID = thinking("look it up") + text("Let me see.") + tool_call("look_up", {"city": "Rome"}, call_id="t1")

looked_up: list[str] = []


@observe(kind="tool")
def look_up(city: str) -> str:
    looked_up.append(city)
    return f"sunny in {city}"


def recording_of(library: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    """For fixtures: the library is recorded, into a journal of the test's own."""
    looked_up.clear()
    for recording in start_recording(folder / "journal", monkeypatch):
        playhead.instrument(library)
        yield recording
        playhead.uninstrument(library)


def script(server: MockModelServer) -> None:
    """Asks for the tool where the weather is in question, else answers with a text."""
    server.when(contains("weather") & ~tool_result_received("look_up"), SAID)
    server.otherwise(thinking("so") + text("It is sunny, and it will be."))


def again(server: MockModelServer, program: Callable[[], Any]) -> tuple[Any, Any]:
    """What the program gave live, and what it gives from the record; no request is made for the second."""
    with playhead.run("r") as run:
        live = program()
    requests, ran = len(server.requests), list(looked_up)
    assert requests
    with playhead.resume(run.id or "", completed="rerun") as resumed, playhead.run("r"):
        replayed = program()
    assert (len(server.requests), looked_up, resumed.report.live) == (requests, ran, 0)
    return live, replayed


def calls(recording: Recording, kind: str = "llm") -> tuple[Journaled, list[Span]]:
    """The record, and its calls of this kind in the order in which they were made."""
    seen = recording.read()
    found = [span for span in seen.spans if span.attributes[names.KIND] == kind]
    return seen, sorted(found, key=lambda span: span.start_ns)


def assert_streamed_as_whole(whole: Span, streamed: Span) -> None:
    """Of two calls with one answer."""
    assert streamed.attributes[names.REQUEST_STREAM] is True
    assert streamed.attributes[names.TIME_TO_FIRST_CHUNK] > 0
    for name in (names.OUTPUT_MESSAGES_REF, names.FINISH_REASONS, names.REASONING_REF):
        assert streamed.attributes[name] == whole.attributes[name]


def exact_requests(recording: Recording) -> list[str]:
    """The bodies of all recorded model calls, as `playhead context --exact` tells them."""
    playhead.flush()
    with JournalClient(recording.folder, pytest.fail) as client:
        runs = [run["run"] for run in client.runs()]
        told = [
            client.context(run, at=call["seq"], exact=True).get("request")
            for run in runs
            for call in client.llm_calls(run)
        ]
    return sorted(map(as_text, told))


def sent_requests(server: MockModelServer, skip: Sequence[str] = ()) -> list[str]:
    """The bodies that the server received; without those with one of the keys `skip`."""
    return sorted(as_text(request.body) for request in server.requests if not {*skip} & {*request.body})


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart, and a key that is null from one that is not there."""
    return json.dumps(value, sort_keys=True, indent=1)


def weather(ask: Callable[[list[Any]], Any]) -> list[Any]:
    """An agent that asks for the weather and calls the tool.  `ask` returns the message of the answer to messages.
    Returns the messages."""
    messages: list[Any] = [{"role": "user", "content": "How is the weather?"}]
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.tool_calls:
            return messages
        for call in message.tool_calls:
            arguments = call.function.arguments
            result = look_up(**(json.loads(arguments) if isinstance(arguments, str) else arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
