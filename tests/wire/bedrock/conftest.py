from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.testing import MockModelServer
from tests.support.journal_reader import Recording, start_recording
from tests.wire.bedrock.boto_client import bedrock_client


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    playhead.instrument("botocore")
    yield from start_recording(tmp_path / "journal", monkeypatch)
    playhead.uninstrument("botocore")


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        yield server


@pytest.fixture
def client(server: MockModelServer) -> Iterator[Any]:
    client = bedrock_client(server)
    yield client
    client.close()
