"""One row of the probe."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.peers.recorded import RecordingTool


@dataclass(frozen=True, slots=True)
class Case:
    """A program, and what is expected of it and of its record."""

    title: str
    expected: str
    run: Callable[[RecordingTool], None]
