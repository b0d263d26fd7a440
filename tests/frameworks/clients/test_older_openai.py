"""The `openai` client as frameworks pin it here: an older major version, recorded and answered again."""

from pathlib import Path

import openai
import pytest

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.support.journal_reader import start_recording

server = pytest_plugin.mock_model_server


@pytest.mark.covers("openai", "streaming", "resume")
@pytest.mark.parametrize("stream", [False, True])
def test_it_is_recorded_and_resumed(
    server: MockModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
):
    server.otherwise(text("fine, thank you"))
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai")
        with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:

            def ask() -> str:
                answer = client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "how are you?"}], stream=stream
                )
                if not stream:
                    return answer.choices[0].message.content
                return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)

            with playhead.run("r") as run:
                live = ask()
            with playhead.resume(run.id, completed="rerun"), playhead.run("r"):
                assert ask() == live == "fine, thank you"
        playhead.uninstrument("openai")
        [call] = [span for span in recording.read().spans if span.attributes[names.KIND] == "llm"]
        assert call.attributes[names.PROVIDER] == "openai"
    assert len(server.requests) == 1
