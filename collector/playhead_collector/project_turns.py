"""Lets projects have their work done in turn, so that a project with much of it does not delay the others.

Storing a request or projecting runs takes the processor and a connection of the database's pool, which other projects
need, too. So while several projects are active, each has one piece of work in progress at a time, and further ones
wait. A project that has had far more of the time than another also waits while something is done for that one, and a
moment longer, since its next request often follows at once. But it does not wait for long: it slows down, and does not
stop.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final

# A project that had something to do so long ago is expected to have more.
_ACTIVE_SECONDS: Final = 10.0
# What a project had of the time counts half as much after so long.
_HALF_LIFE_SECONDS: Final = 10.0
# A project that had so many times the time of another one lets it go first.
_FAR_MORE: Final = 2.0
# The longest that a project lets others go first. Most answers take less.
_PATIENCE_SECONDS: Final = 0.1
# So soon after an answer, the next request of the same client is expected.
_MOMENT_SECONDS: Final = 0.01


@dataclass(slots=True)
class _Share:
    """What a project had of the time, in seconds, at a time."""

    seconds: float = 0.0
    at: float = 0.0

    def of(self, now: float) -> float:
        return self.seconds * 0.5 ** ((now - self.at) / _HALF_LIFE_SECONDS)

    def add(self, seconds: float, now: float) -> None:
        self.seconds, self.at = self.of(now) + seconds, now


@dataclass(slots=True)
class ProjectTurn:
    """A turn of a project, which holds it until the block ends."""

    _turns: "ProjectTurns"
    _project_id: int
    is_held: bool = True

    async def step(self) -> None:
        """Lets other projects go first, between two parts of a piece of work. Nothing of its own project comes before
        the second."""
        if self._turns.are_shared:
            self._turns.give_back(self._project_id)
            self.is_held = False
            await self._turns.take(self._project_id, goes_on=True)
            self.is_held = True


@dataclass(slots=True, eq=False)
class _Waiting:
    """A piece of work that waits. `since`: when it came, or the last one of its project ended, if that was later."""

    turn: asyncio.Future[None]
    since: float


class ProjectTurns:
    """Gives turns to the work of projects. For one event loop."""

    def __init__(
        self,
        at_a_time: int,
        clock: Callable[[], float] = time.monotonic,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        """`at_a_time`: pieces of work in progress if one project is active; if several are, it is one of each. `clock`:
        seconds. `patience_seconds`: the longest that a project lets others go first."""
        self._alone = at_a_time
        self._clock = clock
        self._patience = patience_seconds
        self._active: dict[int, float] = {}  # when each project was active last
        self._shares: dict[int, _Share] = {}
        self._running: Counter[int] = Counter()
        self._began: dict[int, float] = {}  # when the first of the pieces in progress began
        self._ended: dict[int, float] = {}  # when the last piece of work or answer ended
        self._asked: Counter[int] = Counter()
        self._waiting: dict[int, deque[_Waiting]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> int:
        """The pieces of work in progress."""
        return self._running.total()

    @property
    def are_shared(self) -> bool:
        """Whether several projects are active."""
        return len(self._active) > 1

    @asynccontextmanager
    async def of(self, project_id: int) -> AsyncGenerator[ProjectTurn]:
        """Waits for a turn of the project, and holds it for a piece of work."""
        await self.take(project_id)
        turn = ProjectTurn(self, project_id)
        try:
            yield turn
        finally:
            if turn.is_held:
                self.give_back(project_id)

    @contextmanager
    def answering(self, project_id: int) -> Generator[None]:
        """Says that somebody waits for an answer about the project: other projects may let it go first."""
        self._note(project_id)
        self._asked[project_id] += 1
        try:
            yield
        finally:
            _less(self._asked, project_id)
            self._ended[project_id] = self._clock()
            self._grant_all()

    def _note(self, project_id: int) -> None:
        now = self._clock()
        self._active[project_id] = now
        if len(self._active) > 1:
            self._active = {number: at for number, at in self._active.items() if now - at < _ACTIVE_SECONDS}
            self._shares = {number: share for number, share in self._shares.items() if number in self._active}
            self._ended = {number: at for number, at in self._ended.items() if number in self._active}

    async def take(self, project_id: int, *, goes_on: bool = False) -> None:
        """Waits for a turn of the project. `goes_on`: before all others of the project that wait. Use `of`, which gives
        it back."""
        self._note(project_id)
        if project_id not in self._waiting and self._may_begin(project_id, self._clock()):
            self._begin(project_id)
            return
        waiter = _Waiting(asyncio.get_running_loop().create_future(), self._clock())
        queue = self._waiting.setdefault(project_id, deque())
        if goes_on:
            queue.appendleft(waiter)
        else:
            queue.append(waiter)
        try:
            self._grant_all()
            await waiter.turn  # who grants it counts it as running
        except asyncio.CancelledError:
            if waiter.turn.done() and not waiter.turn.cancelled():
                self.give_back(project_id)
            else:
                self._forget(project_id, waiter)
                self._grant_all()
            raise

    def _forget(self, project_id: int, waiter: _Waiting) -> None:
        queue = self._waiting.get(project_id)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._waiting[project_id]

    def _begin(self, project_id: int) -> None:
        self._running[project_id] += 1
        self._began.setdefault(project_id, self._clock())

    def give_back(self, project_id: int) -> None:
        """Ends a turn of the project that `take` gave."""
        _less(self._running, project_id)
        now = self._ended[project_id] = self._clock()
        self._shares.setdefault(project_id, _Share()).add(now - self._began.pop(project_id), now)
        if self._running[project_id]:
            self._began[project_id] = now
        for waiter in self._waiting.get(project_id, ()):
            waiter.since = now
        self._grant_all()

    def _grant_all(self) -> None:
        """Gives turns to all that may begin. Projects that had little of the time come first."""
        now = self._clock()
        due: list[float] = []
        for project_id in sorted(self._waiting, key=lambda number: self._spent(number, now)):
            queue = self._waiting[project_id]
            while queue and self._may_begin(project_id, now, queue[0]):
                self._grant(project_id, queue.popleft())
            if queue:
                due.append(queue[0].since + self._patience)
                due += [at + _MOMENT_SECONDS for number, at in self._ended.items() if number != project_id]
            else:
                del self._waiting[project_id]
        self._look_again(min((at for at in due if at > now), default=None), now)

    def _grant(self, project_id: int, waiter: _Waiting) -> None:
        if not waiter.turn.done():
            self._begin(project_id)
            waiter.turn.set_result(None)

    def _look_again(self, due: float | None, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = asyncio.get_running_loop().call_later(due - now, self._grant_all)

    def _may_begin(self, project_id: int, now: float, waiter: _Waiting | None = None) -> bool:
        if not self.are_shared:
            return self.running < self._alone
        if self._running[project_id]:
            return False
        is_patient = waiter is None or now < waiter.since + self._patience
        return not (is_patient and self._lets_others_go_first(project_id, now))

    def _lets_others_go_first(self, project_id: int, now: float) -> bool:
        spent = self._spent(project_id, now)
        just_now = {number for number, at in self._ended.items() if now - at < _MOMENT_SECONDS}
        others = (self._running.keys() | self._asked.keys() | just_now) - {project_id}
        return any(spent > _FAR_MORE * self._spent(other, now) for other in others)

    def _spent(self, project_id: int, now: float) -> float:
        share, began = self._shares.get(project_id), self._began.get(project_id, now)
        return now - began + (0.0 if share is None else share.of(now))


def _less(counts: Counter[int], project_id: int) -> None:
    counts[project_id] -= 1
    if not counts[project_id]:
        del counts[project_id]
