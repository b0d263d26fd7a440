from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journal_reader import Recording, start_recording


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)
