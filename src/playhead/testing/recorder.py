"""memory journal → [recorder] → recorded_run.  Records the program under test in memory, and returns its runs.

`run_program` and `complete` start a program as it was started when its run was recorded, and run it to its end.
"""

from __future__ import annotations

import asyncio
import inspect
import runpy
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, cast

from playhead.errors import Suspended
from playhead.journal.memory import MemoryJournal
from playhead.model.promises import ANSWERED, APPROVAL, APPROVED, BY_PROGRAM, DENIED, EVENT, EXPIRED, INPUT, INTERRUPT
from playhead.recording import RecordingProcess, load_for_recording, shutdown, start
from playhead.testing.recorded_frames import JournalFrames
from playhead.testing.recorded_promises import AnswerRule, ScriptedPromises
from playhead.testing.recorded_run import RecordedRun
from playhead.wire.operations.promises import Promise

# --- the recorder -----------------------------------------------------------------------------------------------------


class RunRecorder:
    """Records this process in memory, without files and sockets. In pytest: `playhead_recorder`."""

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
        details: object = None,
        by: str | None = None,
        reason: str | None = None,
        times: int | None = None,
    ) -> None:
        """Approves requests from now on: `playhead_recorder.approve("refund")`.

        `what`: a tool, or an action in the program's words; None: any. `details`: only requests with these details (of
        a tool: with these arguments; others may have any value). `times`: how often; None: always. Of several rules
        that fit, the first counts. A request that no rule answers fails the test.
        """
        self._promises.add(AnswerRule([APPROVAL], what, None, details, APPROVED, None, by, reason, times))

    def deny(
        self,
        what: str | None = None,
        *,
        details: object = None,
        by: str | None = None,
        reason: str | None = None,
        times: int | None = None,
    ) -> None:
        """Denies requests from now on. The parameters are those of `approve`."""
        self._promises.add(AnswerRule([APPROVAL], what, None, details, DENIED, None, by, reason, times))

    def answer(
        self,
        what: str | None,
        value: object,
        *,
        key: str | None = None,
        details: object = None,
        by: str | None = None,
        reason: str | None = None,
        times: int | None = None,
    ) -> None:
        """Answers a question from now on, or sends an event: `playhead_recorder.answer("payment", 20, key="A1")`.

        `what`: the question in the program's words, or the event's name; None: any. The other parameters are those of
        `approve`.
        """
        self._promises.add(AnswerRule([INPUT, EVENT], what, key, details, ANSWERED, value, by, reason, times))

    def expire(self, what: str | None = None, *, times: int | None = None) -> None:
        """Lets promises expire at once, from now on: the program gets Unanswered. The parameters are those of
        `approve`."""
        self._promises.add(AnswerRule([APPROVAL, INPUT, EVENT], what, None, None, EXPIRED, None, None, None, times))

    @contextmanager
    def until_it_waits(self) -> Generator[None]:
        """Runs a block until the program waits for an answer that the test does not give.

        If the program then goes on with an answer of its own, its errors are ignored. Fails the test if the program
        never waits.
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
        """Whether one of the promises after the first `before` has no answer, or only one by the program itself."""
        promises = self._promises.listed(answered=True)[before:]
        answers = (promise["answer"] for promise in promises if promise["kind"] != INTERRUPT)
        return any(answer is None or answer["by"] == BY_PROGRAM for answer in answers)

    @property
    def promises(self) -> list[Promise]:
        """The promises of the program so far, in the order in which it opened them, with their answers."""
        return self._promises.listed(answered=True)

    @property
    def unanswered(self) -> list[str]:
        """Messages about promises that the test did not answer, and that make it fail."""
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
    """Records everything in this process in memory, also if the program itself calls `playhead.configure`.

    After the block, recording is as if nothing had been configured. `fail` is called with a message when the program
    would wait for an answer that the test does not give.
    """
    journal, promises = MemoryJournal(), ScriptedPromises(fail)
    with RecordingProcess.mutex:
        shutdown()
        RecordingProcess.in_memory, RecordingProcess.promises_in_memory = journal, promises
        start(load_for_recording())
    try:
        yield RunRecorder(journal, promises)
    finally:
        with RecordingProcess.mutex:
            shutdown()
            RecordingProcess.in_memory = RecordingProcess.promises_in_memory = None


# --- starting a program -----------------------------------------------------------------------------------------------


def run_program(program: str, *arguments: str) -> None:
    """Runs a script, or `-m MODULE`, in this process to its end, with these arguments in `sys.argv`.

    Raises what the program raises, and SystemExit if it exits with a status other than 0.
    """
    module = program.removeprefix("-m ") if program.startswith("-m ") else None
    argv, path = sys.argv, list(sys.path)
    sys.argv = [program if module is None else module, *arguments]
    try:
        if module is None:
            sys.path.insert(0, str(Path(program).resolve().parent))
            runpy.run_path(program, run_name="__main__")
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        sys.argv, sys.path[:] = argv, path


def complete(result: Any) -> Any:
    """Returns the result of a call: awaits a coroutine; reads a generator, also an asynchronous one, into a list."""
    if inspect.isawaitable(result) or isinstance(result, AsyncIterator):
        return asyncio.run(_awaited(result))
    return list(cast("Iterator[Any]", result)) if inspect.isgenerator(result) else result


async def _awaited(result: Any) -> Any:
    if isinstance(result, AsyncIterator):
        return [item async for item in cast("AsyncIterator[Any]", result)]
    return await result
