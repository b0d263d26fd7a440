"""The recorded runs, where there are any, and recording them anew with the SDK of this checkout."""

import os
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import playhead
from playhead.demo.replay import Replayed
from playhead.demo.trajectories import NotPlayed, model_calls, record
from playhead.testing import Trajectories, Trajectory

FOLDER = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", "../shared/data"))


@cache
def recorded_runs() -> tuple[Trajectory, ...]:
    """All of them; none where the folder is not there."""
    return tuple(Trajectories.load(FOLDER)) if FOLDER.is_dir() else ()


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
