"""The `google-genai` client as frameworks pin it here: an older major version, recorded and answered again."""

from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import types

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.journal_reader import start_recording

server = pytest_plugin.mock_model_server


@pytest.mark.covers("google-genai", "resume", "tools", "streaming")
@pytest.mark.parametrize("stream", [False, True])
def test_it_is_recorded_and_resumed(
    server: MockModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
):
    server.when(~tool_result_received("look"), tool_call("look", {"place": "Bern"}))
    server.otherwise(text("It is sunny in Bern, as ever."))
    looked: list[str] = []

    def look(place: str) -> str:
        """Looks at the weather."""
        looked.append(place)
        return f"sunny in {place}"

    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url))

    def ask() -> Any:
        chat = client.chats.create(model="m", config=types.GenerateContentConfig(tools=[look]))
        if stream:
            return [chunk.text for chunk in chat.send_message_stream("weather?") if chunk.text]
        return chat.send_message("weather?").text

    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("google.genai")
        with playhead.run("r") as run:
            live = ask()
        with playhead.resume(run.id or "", completed="rerun"), playhead.run("r"):
            assert ask() == live
        playhead.uninstrument("google.genai")
        calls = [span for span in recording.read().spans if span.attributes[names.KIND] == "llm"]
        assert [call.attributes[names.FINISH_REASONS] for call in calls] == [["tool_calls"], ["stop"]]
    assert (looked, len(server.requests)) == (["Bern"], 2)
