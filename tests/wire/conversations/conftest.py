from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.conversations import keeping
from playhead_collector.process import CollectorProcess
from tests.integration.export.fake_collector import closed_port
from tests.support import patience

Machine = Callable[..., None]


@pytest.fixture
def machine(collector: CollectorProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Makes this process a program of the named machine: with a journal of its own. `reaches`: whether it can reach the
    collector."""

    monkeypatch.setattr(keeping, "REQUEST_SECONDS", patience.SECONDS)
    with closed_port() as closed:

        def become(name: str = "one", *, reaches: bool = True, **options: Any) -> None:
            endpoint = collector.url if reaches else f"http://127.0.0.1:{closed}"
            playhead.configure(**{"endpoint": endpoint, "journal_dir": tmp_path / name, **options})

        become()
        yield become
        playhead.shutdown()
