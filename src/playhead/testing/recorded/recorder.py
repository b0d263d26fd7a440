"""memory journal → [recorder] → runs.  Records the program under test in memory, and gives its runs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from playhead.journal.memory import MemoryJournal
from playhead.recording import ProcessState, load_for_recording, shutdown, start
from playhead.testing.recorded.contents import JournalFrames
from playhead.testing.recorded.run import RecordedRun


class RunRecorder:
    """What is recorded in this process, in memory: no file, no socket.  `playhead_recorder` in pytest."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self._frames = JournalFrames()
        self._position = 0

    @property
    def runs(self) -> list[RecordedRun]:
        """All runs so far, in the order in which they began; also those that have not ended."""
        data, self._position = self._journal.appended_since(self._position)
        self._frames.read(data)
        return [RecordedRun(run, self._frames) for run in self._frames.run_ids]

    @property
    def last(self) -> RecordedRun:
        """The run that began last.  Raises AssertionError if nothing was recorded."""
        runs = self.runs
        if not runs:
            raise AssertionError(
                "nothing was recorded: the program under test made no observed call; put @observe on its agent, or "
                "call playhead.instrument() for its model client"
            )
        return runs[-1]


@contextmanager
def record_in_memory() -> Generator[RunRecorder]:
    """Records everything that this process does in memory, also what calls `playhead.configure` itself.

    When it ends, recording is as if nothing had been configured.
    """
    journal = MemoryJournal()
    with ProcessState.mutex:
        shutdown()
        ProcessState.in_memory = journal
        start(load_for_recording())
    try:
        yield RunRecorder(journal)
    finally:
        with ProcessState.mutex:
            shutdown()
            ProcessState.in_memory = None
