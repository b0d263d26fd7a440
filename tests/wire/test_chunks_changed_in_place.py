"""Programs put a streamed answer together in the objects that the stream gave them: what is recorded stays as it came.

Each program here adds the pieces to the first chunk. If that chunk were kept as it is, the record would have every
piece twice, and a resumed run would get it so.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, any_request, pytest_plugin, text, tool_call
from tests.support.journal_reader import Recording, start_recording
from tests.wire.bedrock.boto_client import bedrock_client

server = pytest_plugin.mock_model_server
LONG = "Here is an answer that is long enough for a number of chunks."
ARGUMENTS = {"order": "A1", "note": LONG}


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


def responses(server: MockModelServer) -> list[str]:
    """As OpenAI's own example of streamed function calls."""
    calls: dict[int, Any] = {}
    with openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        for event in client.responses.create(model="m", input="hello", stream=True):
            if event.type == "response.output_item.added":
                calls[event.output_index] = event.item
            elif event.type == "response.function_call_arguments.delta":
                calls[event.output_index].arguments += event.delta
            elif event.type == "response.completed":
                event.response.output.clear()
    return [call.arguments for call in calls.values() if call.type == "function_call"]


def messages(server: MockModelServer) -> list[str]:
    blocks: list[Any] = []
    asked: Any = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}
    with anthropic.Anthropic(base_url=server.url, api_key="none") as client:
        for event in client.messages.create(**asked, stream=True):
            if event.type == "content_block_start":
                blocks.append(event.content_block)
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                blocks[-1].text += event.delta.text
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                blocks[-1].input = f"{blocks[-1].input or ''}{event.delta.partial_json}"
    return [block.text if block.type == "text" else block.input for block in blocks]


def contents(server: MockModelServer) -> list[str]:
    first: Any = None
    with genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url)) as client:
        for chunk in client.models.generate_content_stream(model="gemini-2.5-flash", contents="hello"):
            for candidate in chunk.candidates or ():
                for part in (candidate.content and candidate.content.parts) or ():
                    if first is None:
                        first = part
                    elif part.text:
                        first.text += part.text
    return [first.text]


def converse(server: MockModelServer) -> list[str]:
    first: Any = None
    client: Any = bedrock_client(server)
    asked = {"modelId": "amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": "hello"}]}]}
    for event in client.converse_stream(**asked)["stream"]:
        if delta := event.pop("contentBlockDelta", {}).get("delta"):
            if first is None:
                first = delta
            elif "text" in delta:
                first["text"] += delta["text"]
    client.close()
    return [first["text"]]


@pytest.mark.parametrize("program", [responses, messages, contents, converse])
def test_what_is_recorded_is_what_was_streamed(
    recording: Recording, server: MockModelServer, program: Callable[[MockModelServer], list[str]]
):
    server.when(any_request(), text(LONG) + tool_call("lookup", ARGUMENTS))
    with playhead.run("agent") as run:
        live = program(server)
    assert run.id is not None
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("agent"):
        replayed = program(server)
    assert resumed.report.live == 0
    assert (replayed, len(server.requests)) == (live, 1)
    seen = recording.read()
    [call] = [span for span in seen.spans if names.OUTPUT_MESSAGES_REF in span.attributes]
    parts = [part for said in seen.messages(call.attributes[names.OUTPUT_MESSAGES_REF]) for part in said["parts"]]
    assert [part["content"] for part in parts if part["type"] == "text"] == [LONG]
    assert [part["arguments"] for part in parts if part["type"] == "tool_call"] == [ARGUMENTS]
