"""With `durability=off` nothing is written on the caller's thread, and everything is delivered all the same."""

from pathlib import Path

import playhead
from playhead import observe
from tests.integration.export.fake_collector import FakeCollector


def test_what_is_kept_in_memory_is_delivered_without_being_asked_for(tmp_path: Path):
    with FakeCollector() as collector:
        playhead.configure(
            endpoint=f"http://127.0.0.1:{collector.port}", journal_dir=tmp_path, durability="off", linger_seconds=0.0
        )
        try:
            assert observe(lambda: 1)() == 1
            assert collector.arrived.wait(60)
        finally:
            playhead.shutdown()
