"""Recording with the SDK of this checkout, recorded runs among other things."""

import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path

import playhead
from benchmarks.recorded_runs import model_calls
from playhead.testing import Trajectory
from tests.support.replayed_runs import NotPlayed, Replayed, record


@contextmanager
def recording(endpoint: str, **settings: object) -> Generator[Path]:
    """The SDK, shipping to this endpoint; gives its journal's folder, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="playhead-bench-") as folder:
        playhead.configure(**{"endpoint": endpoint, "journal_dir": Path(folder), "record": "always", **settings})
        playhead.instrument("openai")
        try:
            yield Path(folder)
        finally:
            playhead.shutdown(60)
            playhead.uninstrument("openai")


def record_all(runs: Sequence[Trajectory]) -> list[Replayed]:
    """Plays the runs with the real client against a mock model server."""
    tried = list(record(runs))
    failed = [each for each in tried if isinstance(each, NotPlayed)]
    assert not failed, f"{failed[0].trajectory.key} {failed[0].why}"
    return [each for each in tried if isinstance(each, Replayed)]


def inline_bytes(runs: Iterable[Trajectory]) -> int:
    """What the same inputs, with tool definitions and answers, take inline: as JSON in the attributes of each call."""
    return sum(call.inline_bytes for call in model_calls(runs))
