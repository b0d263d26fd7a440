"""Finds the recorded answer to a call of a resumed or forked run, after waiting for parallel branches where needed."""

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from playhead.api.calls.flow import has_event_loop, in_event_loop, is_only_task
from playhead.api.calls.span import ObservedSpan
from playhead.api.replay_wait import BranchWait
from playhead.api.replaying import AnswerTurn, Replay, ReplayAnswer, ResponseRestorer
from playhead.api.run import NextRun

if TYPE_CHECKING:
    import asyncio

# Other tasks run between two polls. Few calls have to wait, and a run that has diverged may take this long.
_POLL_SECONDS = 0.002
_CHECK_SECONDS = 0.02
# Share of the branch wait that one turn may take. A changed program may make the awaited call only after this one, and
# other branches are waiting for a match meanwhile.
_SHARE_FOR_A_TURN = 0.25


async def recorded_answer_async(span: ObservedSpan) -> ReplayAnswer | None:
    """The same as `recorded_answer`, for a task: waits without blocking other tasks."""
    replay = span.run.replay
    if replay is None or not span.can_be_answered:
        return None if span.run.earlier is None else _earlier_answer(span, span.run.earlier)
    answer = replay.answer(span, None, waited=await _wait_for_branches(replay, span))
    if answer is not None:
        await wait_for_turn(span, answer)
    return answer


async def wait_for_turn(span: ObservedSpan, answer: ReplayAnswer) -> None:
    """Waits until the answer may be returned, i.e. until the answers of parallel calls that ended earlier in the record
    have been returned. For any call that is awaited."""
    turn, replay = answer.turn, span.run.replay
    if turn is None or turn.is_due() or replay is None or not has_event_loop():
        return
    import asyncio  # noqa: PLC0415 - see `asyncio_here`

    loop, due = asyncio.get_running_loop(), asyncio.Event()
    turn.when_due(lambda: _tell(loop, due))
    branch_wait = BranchWait(replay.branch_wait_seconds * _SHARE_FOR_A_TURN, replay.progress)
    while not turn.is_due():
        if is_only_task() or not branch_wait.goes_on(replay.progress):
            turn.give_up()
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await due.wait()


def _tell(loop: "asyncio.AbstractEventLoop", due: "asyncio.Event") -> None:
    with suppress(RuntimeError):  # the loop was closed, so no task waits there
        loop.call_soon_threadsafe(due.set)


async def _wait_for_branches(replay: Replay[ObservedSpan], span: ObservedSpan) -> bool:
    """Waits until the answer is decided or the waiting budget is used up. Returns False when waiting is not possible
    here."""
    if not (has_event_loop() and replay.is_undecided(span)):
        return False
    import asyncio  # noqa: PLC0415 - see `asyncio_here`

    progress = replay.progress
    branch_wait = BranchWait(replay.branch_wait_seconds, progress)
    while not is_only_task() and branch_wait.goes_on(replay.progress):
        await asyncio.sleep(_POLL_SECONDS)
        if replay.progress != progress:  # else nothing has changed; asking again would keep the loop busy
            progress = replay.progress
            if not replay.is_undecided(span):
                break
    return True


def recorded_answer(span: ObservedSpan, restore: ResponseRestorer | None = None) -> ReplayAnswer | None:
    """Returns the recorded answer to a call. None: the call has to be executed. Without an event loop, first waits
    until parallel calls that ended earlier in the record have had their answers. Raises RunStopped."""
    replay = span.run.replay
    if replay is None or not span.can_be_answered:
        return None if span.run.earlier is None else _earlier_answer(span, span.run.earlier)
    answer = replay.answer(span, restore)
    if answer is not None and answer.turn is not None and not in_event_loop():
        _wait_in_thread(replay, answer.turn)
    return answer


def _wait_in_thread(replay: Replay[ObservedSpan], turn: AnswerTurn) -> None:
    """Blocks until the answer may be returned. If a pool has fewer workers than in the recording, the call that has to
    come first may be queued behind this thread: then nothing makes progress, and the run stops waiting for turns."""
    if not turn.is_due():
        due = threading.Event()
        turn.when_due(due.set)
        branch_wait = BranchWait(replay.branch_wait_seconds * _SHARE_FOR_A_TURN, replay.progress)
        while not due.wait(_CHECK_SECONDS):
            if not branch_wait.goes_on(replay.progress):
                turn.give_up()
    if (rest := turn.rest_seconds()) > 0:
        time.sleep(rest)


def _earlier_answer(span: ObservedSpan, earlier: NextRun) -> ReplayAnswer | None:
    """Returns the answer that the record of the run to be resumed has for a call of a later run, which began in the
    same block or process; None: execute the call."""
    if earlier.run.replay is None or not span.run.recorded:
        return None
    return earlier.run.replay.answer_in_later_run(span)
