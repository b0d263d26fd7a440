from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

import playhead
from playhead.testing import MockModelServer, text
from tests.support.journal_reader import Recording, start_recording


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.otherwise(text("fine, thank you"))
        playhead.instrument("openai")
        yield server
        playhead.uninstrument("openai")


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client
