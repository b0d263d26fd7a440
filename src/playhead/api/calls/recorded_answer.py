"""The recorded answer to a call of a replayed run, after waiting for parallel branches where that is needed."""

import asyncio

from playhead.api.calls.flow import has_event_loop, is_only_task
from playhead.api.calls.span import ObservedSpan
from playhead.api.replay_wait import BranchWait
from playhead.api.replaying import Replay, ReplayAnswer, ResponseRestorer

# Other tasks run in between; few are so far away that it matters, and a run that has diverged can wait.
_POLL_SECONDS = 0.002


async def recorded_answer_async(span: ObservedSpan) -> ReplayAnswer | None:
    """As `recorded_answer`, in a task: other branches go on meanwhile."""
    replay = span.run.replay
    if replay is None or not span.can_be_answered:
        return None
    return replay.answer(span, None, waited=await _wait_for_branches(replay, span))


async def _wait_for_branches(replay: Replay[ObservedSpan], span: ObservedSpan) -> bool:
    """Waits until the answer is decided or the waiting budget is used up. Returns False when waiting is not possible
    here."""
    if not (has_event_loop() and replay.is_undecided(span)):
        return False
    progress = replay.progress
    branch_wait = BranchWait(replay.branch_wait_seconds, progress)
    while not is_only_task() and branch_wait.goes_on(replay.progress):
        await asyncio.sleep(_POLL_SECONDS)
        if replay.progress != progress:  # else the verdict is the same, and many that wait must not keep the loop busy
            progress = replay.progress
            if not replay.is_undecided(span):
                break
    return True


def recorded_answer(span: ObservedSpan, restore: ResponseRestorer | None = None) -> ReplayAnswer | None:
    """The recorded answer to a call that can have one.  Raises RunStopped."""
    replay = span.run.replay
    if replay is None or not span.can_be_answered:
        return None
    return replay.answer(span, restore)
