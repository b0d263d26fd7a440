from collections.abc import Iterator
from pathlib import Path

import pytest

import playhead
from playhead.testing import MockModelServer, contains, pytest_plugin, rate_limit, text, tool_call, tool_result_received
from tests.support.journal_reader import Recording, start_recording

mock_model_server = pytest_plugin.mock_model_server
LONG = "An answer that is long enough for a number of chunks, so that there is a stream."


@pytest.fixture
def server(mock_model_server: MockModelServer) -> MockModelServer:
    """Asks for a tool where the weather is in question, refuses what says "fail", and else gives a long answer."""
    mock_model_server.when(contains("fail"), rate_limit(0))
    weather = contains("weather") & ~tool_result_received("look_up")
    mock_model_server.when(weather, tool_call("look_up", {"city": "Rome"}))
    mock_model_server.when(contains("number"), text('{"n": 7}'))
    mock_model_server.otherwise(text(LONG))
    return mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()
