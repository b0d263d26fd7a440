"""Finds the recorded answer to a call of a resumed or forked run, after waiting for parallel branches where needed.

`BranchTimeout` limits how long a call waits before it is matched with the record.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from playhead.calls.flow import has_event_loop, in_event_loop, is_only_task
from playhead.calls.replay import AnswerSlot, Replay, ReplayAnswer, ResponseRestorer
from playhead.calls.run import NextRun
from playhead.calls.span import ObservedSpan

if TYPE_CHECKING:
    import asyncio


# Other tasks run between two polls. Few calls have to wait, and a run that has diverged may take this long.
_POLL_SECONDS = 0.002
_CHECK_SECONDS = 0.02
# Share of the branch wait that one turn may take. A changed program may make the awaited call only after this one, and
# other branches are waiting for a match meanwhile.
_SHARE_FOR_A_TURN = 0.25


def recorded_answer(span: ObservedSpan, restore: ResponseRestorer | None = None) -> ReplayAnswer | None:
    """Returns the recorded answer to a call. None: the call has to be executed. Without an event loop, first waits
    until parallel calls that ended earlier in the record have had their answers. Raises RunStopped."""
    replay = span.run.replay
    if replay is None or not span.can_be_answered_from_record:
        return None if span.run.earlier is None else _earlier_answer(span, span.run.earlier)
    answer = replay.answer(span, restore)
    if answer is not None and answer.slot is not None and not in_event_loop():
        _wait_in_thread(replay, answer.slot)
    return answer


async def recorded_answer_async(span: ObservedSpan) -> ReplayAnswer | None:
    """The same as `recorded_answer`, for a task: waits without blocking other tasks."""
    replay = span.run.replay
    if replay is None or not span.can_be_answered_from_record:
        return None if span.run.earlier is None else _earlier_answer(span, span.run.earlier)
    answer = replay.answer(span, None, waited=await _wait_for_branches(replay, span))
    if answer is not None:
        await wait_for_slot(span, answer)
    return answer


async def wait_for_slot(span: ObservedSpan, answer: ReplayAnswer) -> None:
    """Waits until the answer may be returned, i.e. until the answers of parallel calls that ended earlier in the record
    have been returned. For any call that is awaited."""
    turn, replay = answer.slot, span.run.replay
    if turn is None or turn.is_due() or replay is None or not has_event_loop():
        return
    import asyncio  # noqa: PLC0415 - see `asyncio_here`

    loop, due = asyncio.get_running_loop(), asyncio.Event()
    turn.on_due(lambda: _set_in_loop(loop, due))
    branch_wait = BranchTimeout(replay.branch_wait_seconds * _SHARE_FOR_A_TURN, replay.progress)
    while not turn.is_due():
        if is_only_task() or not branch_wait.may_continue(replay.progress):
            turn.abandon()
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await due.wait()


def _set_in_loop(loop: "asyncio.AbstractEventLoop", due: "asyncio.Event") -> None:
    with suppress(RuntimeError):  # the loop was closed, so no task waits there
        loop.call_soon_threadsafe(due.set)


async def _wait_for_branches(replay: Replay[ObservedSpan], span: ObservedSpan) -> bool:
    """Waits until the answer is decided or the waiting budget is used up. Returns False when waiting is not possible
    here."""
    if not (has_event_loop() and replay.is_undecided(span)):
        return False
    import asyncio  # noqa: PLC0415 - see `asyncio_here`

    progress = replay.progress
    branch_wait = BranchTimeout(replay.branch_wait_seconds, progress)
    while not is_only_task() and branch_wait.may_continue(replay.progress):
        await asyncio.sleep(_POLL_SECONDS)
        if replay.progress != progress:  # else nothing has changed; asking again would keep the loop busy
            progress = replay.progress
            if not replay.is_undecided(span):
                break
    return True


def _wait_in_thread(replay: Replay[ObservedSpan], slot: AnswerSlot) -> None:
    """Blocks until the answer may be returned. If a pool has fewer workers than in the recording, the call that has to
    come first may be queued behind this thread: then nothing makes progress, and the run stops waiting for turns."""
    if not slot.is_due():
        due = threading.Event()
        slot.on_due(due.set)
        branch_wait = BranchTimeout(replay.branch_wait_seconds * _SHARE_FOR_A_TURN, replay.progress)
        while not due.wait(_CHECK_SECONDS):
            if not branch_wait.may_continue(replay.progress):
                slot.abandon()
    if (rest := slot.rest_seconds()) > 0:
        time.sleep(rest)


def _earlier_answer(span: ObservedSpan, earlier: NextRun) -> ReplayAnswer | None:
    """Returns the answer that the record of the run to be resumed has for a call of a later run, which began in the
    same block or process; None: execute the call."""
    if earlier.run.replay is None or not span.run.recorded:
        return None
    return earlier.run.replay.answer_in_later_run(span)


# --- how long to wait -------------------------------------------------------------------------------------------------

# If the process is stopped or gets no CPU for a second, the other branches could not use that second either.
_MAX_COUNTED_PER_CHECK_SECONDS = 0.02
# Branches that make progress without end must not keep a changed call waiting for ever.
_MAX_WAIT_FACTOR = 10


class BranchTimeout:
    """Waiting budget: ends when other branches have made no progress for `seconds`, at the latest after ten times
    that."""

    def __init__(self, seconds: float, progress: int, now: Callable[[], float] = time.monotonic):
        """`progress`: a number that changes whenever another branch has done something."""
        self._seconds = seconds
        self._progress = progress
        self._now = now
        self._looked = now()
        self._idle = self._waited = 0.0

    def may_continue(self, progress: int) -> bool:
        """Whether to keep waiting. Call it every few milliseconds."""
        now = self._now()
        passed, self._looked = min(now - self._looked, _MAX_COUNTED_PER_CHECK_SECONDS), now
        self._idle = passed if progress != self._progress else self._idle + passed
        self._progress = progress
        self._waited += passed
        return self._idle < self._seconds and self._waited < self._seconds * _MAX_WAIT_FACTOR
