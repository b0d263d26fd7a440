"""What if the model had been told something else?  Forks whose messages a person has edited, with the real client."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.errors import ReplayDiverged, ReplayError
from playhead.model import names
from playhead.replaying.record import read_local
from playhead.replaying.recorded_calls import RecordedCall, recorded_calls
from playhead.testing import MockModelServer, text
from tests.support.journal_reader import Recording, start_recording

KIND, BRIEF = "Be kind.", "Be brief."


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.otherwise(text("fine"))
        playhead.instrument("openai")
        yield server
        playhead.uninstrument("openai")


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


class Asked:
    """The texts of each request to the model since the last time."""

    def __init__(self, server: MockModelServer):
        self._server = server
        self._before = 0

    def __call__(self) -> list[list[str]]:
        new = self._server.requests[self._before :]
        self._before += len(new)
        return [[message["content"] for message in request.messages] for request in new]


@pytest.fixture
def asked(server: MockModelServer) -> Asked:
    return Asked(server)


@observe(kind="tool")
def look_up(order: str) -> str:
    return f"{order} is late"


def agent(client: openai.OpenAI, calls: int = 3, *, streamed: bool = False) -> list[Any]:
    """Asks, calls a tool, asks, ..., with a helper that has a prompt of its own; returns its own messages."""
    messages: list[Any] = [{"role": "system", "content": KIND}, {"role": "user", "content": "go"}]
    for number in range(calls):
        answer: Any = client.chat.completions.create(model="m", messages=messages, stream=streamed)
        said = "".join(c.choices[0].delta.content or "" for c in answer) if streamed else answer.choices[0].message
        messages.append({"role": "assistant", "content": said} if streamed else said)
        messages.append({"role": "user", "content": look_up(f"A{number}")})
    helper: list[Any] = [{"role": "system", "content": "You check."}, {"role": "user", "content": "check"}]
    client.chat.completions.create(model="m", messages=helper)
    return messages


def run(client: openai.OpenAI, *, is_cut_off: bool = False, **how: Any) -> tuple[str, list[Any]]:
    messages: list[Any] = []
    with contextlib.suppress(ConnectionError), playhead.run("shop") as run:
        messages = agent(client, **how)
        if is_cut_off:
            raise ConnectionError
    assert run.id is not None
    return run.id, messages


def model_calls(recording: Recording, run_id: str) -> list[RecordedCall]:
    playhead.flush(0)
    record = read_local(recording.folder, run_id)
    assert record is not None
    return [call for call in recorded_calls(record.spans) if call.kind == "llm"]


def seen(recording: Recording, call: RecordedCall, name: str) -> list[str]:
    messages = recording.read().messages(call.span.attributes[name])
    return ["".join(part["content"] for part in message["parts"]) for message in messages]


@pytest.mark.covers("openai", "fork")
def test_an_edited_system_prompt_holds_for_the_rest_of_the_run_and_for_nobody_else(
    recording: Recording, client: openai.OpenAI, asked: Asked
):
    parent, whole = run(client)
    asked()
    with playhead.fork(parent, at="chat#2", outcome={"system": BRIEF}) as fork:
        _, messages = run(client)
    prompts = [request[0] for request in asked()]
    assert prompts == [BRIEF, BRIEF, "You check."]
    assert messages[0]["content"] == KIND, "the program's own list is as it was"
    assert len(messages) == len(whole)
    assert fork.report.answered == 2, "the first call of the model and of the tool"
    second, third, helper = model_calls(recording, fork.id)
    assert seen(recording, second, names.INPUT_MESSAGES_REF)[:2] == [BRIEF, "go"]
    assert seen(recording, second, names.ASKED_MESSAGES_REF)[:2] == [KIND, "go"]
    assert seen(recording, third, names.INPUT_MESSAGES_REF)[0] == BRIEF
    assert names.EDIT_REF not in helper.span.attributes
    assert seen(recording, helper, names.INPUT_MESSAGES_REF)[0] == "You check."


def test_the_parent_s_own_calls_are_as_they_were(recording: Recording, client: openai.OpenAI, asked: Asked):
    parent, _ = run(client)
    before = model_calls(recording, parent)
    with playhead.fork(
        parent, at="chat", outcome={"messages": {"1": "stop", "append": {"role": "user", "content": "!"}}}
    ):
        run(client, calls=1)
    assert model_calls(recording, parent) == before
    assert asked()[4] == [KIND, "stop", "!"]


def test_a_fork_with_an_edit_can_be_resumed_to_its_own_answers(client: openai.OpenAI, asked: Asked):
    parent, _ = run(client)
    with playhead.fork(parent, at="chat#2", outcome={"system": BRIEF}) as fork:
        run(client)
    asked()
    with playhead.resume(fork.id, on_divergence="raise") as again:
        run(client)
    assert asked() == []
    assert again.report.live == 0
    # Where the program goes on otherwise than the fork did, the prompt still is the edited one.
    with playhead.fork(parent, at="chat#2", outcome={"system": BRIEF}) as fork:
        run(client, is_cut_off=True)
    asked()
    with playhead.resume(fork.id, on_divergence="live"):
        run(client, calls=4)
    assert [request[0] for request in asked()] == [BRIEF, "You check."]


def test_a_fork_of_a_fork_edits_what_the_model_saw(client: openai.OpenAI, asked: Asked):
    parent, _ = run(client)
    with playhead.fork(parent, at="chat", outcome={"system": BRIEF}) as fork:
        run(client)
    asked()
    with playhead.fork(fork.id, at="chat#2", outcome={"messages": {"1": "hurry"}}):
        run(client)
    assert [request[:2] for request in asked()] == [[BRIEF, "hurry"], [BRIEF, "hurry"], ["You check.", "check"]]


def test_a_stream_is_edited_too(client: openai.OpenAI, asked: Asked):
    parent, _ = run(client, streamed=True)
    asked()
    with playhead.fork(parent, at="chat", outcome={"system": BRIEF}):
        _, messages = run(client, streamed=True)
    assert [request[0] for request in asked()] == [BRIEF, BRIEF, BRIEF, "You check."]
    assert messages[2]["content"] == "fine"


def test_an_asynchronous_call_is_edited_too(server: MockModelServer, asked: Asked):
    async def program() -> str:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
            with playhead.run("p") as run:
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "go"}])
        assert run.id is not None
        return run.id

    parent = asyncio.run(program())
    with playhead.fork(parent, at="chat", outcome={"system": BRIEF}):
        asyncio.run(program())
    assert asked() == [["go"], [BRIEF, "go"]]


def test_an_edit_that_cannot_be_is_an_error_before_anything_runs(client: openai.OpenAI, asked: Asked):
    parent, _ = run(client)
    asked()
    with pytest.raises(ReplayError, match="has 2 messages, the first at 0: there is none at 9"):
        playhead.fork(parent, at="chat", outcome={"messages": {"9": "?"}}).__enter__()
    with pytest.raises(ReplayError, match="a message is a text, or an object"):
        playhead.fork(parent, at="chat", outcome={"message": 5}).__enter__()
    assert asked() == []


def test_a_resumed_run_may_ask_otherwise_too(client: openai.OpenAI, asked: Asked):
    parent, _ = run(client, is_cut_off=True)
    asked()
    with playhead.resume(parent, outcomes={"chat#3": {"system": BRIEF}}):
        run(client)
    assert [request[0] for request in asked()] == [BRIEF], "what comes after has its recorded answer"


def respond(client: openai.OpenAI, server: MockModelServer, *, kept: bool = False) -> tuple[str, list[Any]]:
    """A run of Responses; `kept`: the server keeps the conversation.  Prompt and first item of what was asked."""
    before = len(server.requests)
    with playhead.run("p") as run:
        items: list[Any] = [{"role": "user", "content": "go"}]
        first = client.responses.create(model="m", instructions=KIND, input=items)
        more: list[Any] = [{"role": "user", "content": look_up("A1")}]
        if kept:
            client.responses.create(model="m", instructions=KIND, input=more, previous_response_id=first.id)
        else:
            longer: Any = [*items, *first.output, *more]
            client.responses.create(model="m", instructions=KIND, input=longer)
    assert run.id is not None
    bodies: list[Any] = [request.body for request in server.requests[before:]]
    return run.id, [(body["instructions"], body["input"][0]["content"]) for body in bodies]


def test_responses_get_another_prompt_and_other_items(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    parent, asked = respond(client, server)
    assert asked == [(KIND, "go"), (KIND, "go")]
    with playhead.fork(parent, at="chat", outcome={"system": BRIEF, "messages": {"0": "stop"}}) as fork:
        _, asked = respond(client, server)
    assert asked == [(BRIEF, "stop"), (BRIEF, "stop")]
    first, _ = model_calls(recording, fork.id)
    assert seen(recording, first, names.INPUT_MESSAGES_REF) == ["stop"]
    assert seen(recording, first, names.ASKED_MESSAGES_REF) == ["go"]
    with playhead.resume(fork.id, on_divergence="raise") as again:
        assert respond(client, server)[1] == []
    assert again.report.live == 0


def test_of_a_conversation_that_the_server_keeps_only_the_prompt_can_be_edited(
    client: openai.OpenAI, server: MockModelServer
):
    parent, _ = respond(client, server, kept=True)
    with playhead.fork(parent, at="chat", outcome={"system": BRIEF}):
        assert [prompt for prompt, _ in respond(client, server, kept=True)[1]] == [BRIEF, BRIEF]
    fork = playhead.fork(parent, at="chat#2", outcome={"messages": {"0": "stop"}})
    with fork, pytest.raises(ReplayDiverged, match="the server keeps its conversation"):
        respond(client, server, kept=True)


PROGRAM = """
import openai
import playhead

playhead.instrument("openai")
with openai.OpenAI() as client, playhead.run("p") as run:
    print(run.id, flush=True)
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "go"}]
    for _ in range(2):
        answer = client.chat.completions.create(model="m", messages=messages)
        messages.append({"role": "assistant", "content": answer.choices[0].message.content})
print("done")
"""


def test_the_command_forks_with_another_system_prompt(tmp_path: Path, server: MockModelServer, asked: Asked):
    (tmp_path / "agent.py").write_text(PROGRAM)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_", "OPENAI_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "j")}
    kept |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}

    def shell(*command: str) -> str:
        done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    program = [sys.executable, str(tmp_path / "agent.py")]
    run_id = shell(*program).split()[0]
    asked()
    command = [sys.executable, "-c", "from playhead.cli import main; main()", "fork", run_id, "--at", "chat"]
    assert shell(*command, "--outcome", json.dumps({"system": BRIEF}), "--", *program).endswith("done\n")
    assert asked() == [[BRIEF, "go"], [BRIEF, "go", "fine"]]
