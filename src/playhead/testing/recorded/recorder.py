"""memory journal → [recorder] → runs.  Records the program under test in memory, and gives its runs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from playhead.errors import Suspended
from playhead.journal.memory import MemoryJournal
from playhead.model.promises import (
    ANSWERED,
    APPROVAL,
    APPROVED,
    BY_PROGRAM,
    DENIED,
    EVENT,
    EXPIRED,
    INPUT,
    INTERRUPT,
)
from playhead.recording import ProcessState, load_for_recording, shutdown, start
from playhead.testing.recorded.contents import JournalFrames
from playhead.testing.recorded.promises import AnswerRule, ScriptedPromises
from playhead.testing.recorded.run import RecordedRun
from playhead.wire.answers.promises import Promise


class RunRecorder:
    """What is recorded in this process, in memory: no file, no socket.  `playhead_recorder` in pytest."""

    def __init__(self, journal: MemoryJournal, promises: ScriptedPromises) -> None:
        self._journal = journal
        self._promises = promises
        self._frames = JournalFrames()
        self._position = 0

    # --- what the program waits for -----------------------------------------------------------------------------

    def approve(
        self,
        what: str | None = None,
        *,
        details: Any = None,
        by: str | None = None,
        reason: str | None = None,
        times: int | None = None,
    ) -> None:
        """Approves from now on: `playhead_recorder.approve("refund")`.

        `what`: a tool, or an action as the program words it; None: anything.  `details`: only these (of a tool: its
        arguments, of which others may have any value).  `times`: so often; None: always.  What was said first counts.
        A question that nothing answers fails the test.
        """
        self._promises.add(AnswerRule([APPROVAL], what, None, details, APPROVED, None, by, reason, times))

    def deny(
        self,
        what: str | None = None,
        *,
        details: Any = None,
        by: str | None = None,
        reason: str | None = None,
        times: int | None = None,
    ) -> None:
        """Denies from now on.  The rest is as in `approve`."""
        self._promises.add(AnswerRule([APPROVAL], what, None, details, DENIED, None, by, reason, times))

    def answer(
        self,
        what: str | None,
        value: Any,
        *,
        key: str | None = None,
        details: Any = None,
        by: str | None = None,
        reason: str | None = None,
        times: int | None = None,
    ) -> None:
        """Answers a question from now on, or gives an event: `playhead_recorder.answer("payment", 20, key="A1")`.

        `what`: the question as the program asks it, or the event's name; None: any.  The rest is as in `approve`.
        """
        self._promises.add(AnswerRule([INPUT, EVENT], what, key, details, ANSWERED, value, by, reason, times))

    def expire(self, what: str | None = None, *, times: int | None = None) -> None:
        """Lets the time run out for what the program waits for, at once: it gets Unanswered."""
        self._promises.add(AnswerRule([APPROVAL, INPUT, EVENT], what, None, None, EXPIRED, None, None, None, times))

    @contextmanager
    def until_it_waits(self) -> Generator[None]:
        """A block that the program leaves where it waits for somebody whom the test does not answer for.

        What it does after that, where it answers by itself, may fail.  Fails the test if the program never waits.
        """
        __tracebackhide__ = True
        before = len(self._promises.listed(answered=True))
        self._promises.suspends = True
        try:
            with suppress(Suspended):
                yield
        except Exception:
            if not self._has_waited(before):
                raise
        finally:
            self._promises.suspends = False
        if not self._has_waited(before):
            raise AssertionError("the program waited for nobody")

    def _has_waited(self, before: int) -> bool:
        """Whether one of its questions, after so many, was not answered, or not by anybody but the program."""
        asked = self._promises.listed(answered=True)[before:]
        answers = (promise["answer"] for promise in asked if promise["kind"] != INTERRUPT)
        return any(answer is None or answer["by"] == BY_PROGRAM for answer in answers)

    @property
    def promises(self) -> list[Promise]:
        """What the program has waited for so far, in its order, with the answers."""
        return self._promises.listed(answered=True)

    @property
    def unanswered(self) -> list[str]:
        """Why the test was failed: what the program waited for and nobody answered."""
        return self._promises.unanswered

    # --- what it did --------------------------------------------------------------------------------------------

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
def record_in_memory(fail: Callable[[str], NoReturn]) -> Generator[RunRecorder]:
    """Records everything that this process does in memory, also what calls `playhead.configure` itself.

    When it ends, recording is as if nothing had been configured.  `fail` is called with a message where the program
    would wait for somebody.
    """
    journal, promises = MemoryJournal(), ScriptedPromises(fail)
    with ProcessState.mutex:
        shutdown()
        ProcessState.in_memory, ProcessState.promises_in_memory = journal, promises
        start(load_for_recording())
    try:
        yield RunRecorder(journal, promises)
    finally:
        with ProcessState.mutex:
            shutdown()
            ProcessState.in_memory = ProcessState.promises_in_memory = None
