from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead.calls.lifecycle import current_span
from tests.support.journal_reader import Recording, start_recording
from tests.support.logged import messages_of


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)
    assert current_span() is None, "the test left a call behind as the current one"


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing went wrong inside Playhead."""
    yield
    assert messages_of(caplog) == []
