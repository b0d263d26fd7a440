"""store → [workers]: scores runs that have ended, in the background.

Sealed runs are queued for the scorers that want them; those of a pass over stored runs come after them. Projects take
turns. Each run is taken with a lease, so that several collectors share the work, and one goes on with what another has
left. A run is scored once for the same record and version: its score has the same id.
"""

import asyncio
import datetime
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic, time_ns
from typing import Final, Protocol, TypeVar

from playhead.model.scored_run import GivenScore
from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.store.ports.scorers import DueScoring, ScorerRow, ScorerStore, ScoringCounts
from playhead_collector.store.ports.scores import SCORER, ScoreToAdd, StoredScore
from playhead_collector.workers.run_scorer import JudgeFailed, RunScores
from playhead_collector.workers.spare_time import DELETED, SpareTimeWorker

log = logging.getLogger(__name__)

T = TypeVar("T")

_NS: Final = 1_000_000_000
_NOTED_AT_A_TIME: Final = 200
_BACKFILLED_AT_A_TIME: Final = 500
# Runs of a pass over stored runs that wait at a time: it goes on when some of them are scored.
_MOST_WAITING: Final = 500
# A judge answers within seconds, in which nothing here works: several are asked at a time.
_SCORED_AT_A_TIME: Final = 4
# One run takes no longer: the process for functions has a limit of its own, and so has the silence of a model.
_MOST_SECONDS: Final = 300.0
_LEASE_NS: Final = 360 * _NS
_ATTEMPTS: Final = 4
_FIRST_RETRY_NS: Final = 60 * _NS
_RETRY_FACTOR: Final = 4
_AGAIN_NS: Final = 30 * _NS
_MAX_ERROR: Final = 1_000


class AddScore(Protocol):
    """Stores a score, once for its id. Returns None if there is no such run. Raises StoreUnavailable."""

    def __call__(self, project_id: int, run: str, score: ScoreToAdd, /) -> Awaitable[StoredScore | None]: ...


class MaskValues(Protocol):
    """Returns texts as the rules of a project let them be stored. Raises StoreUnavailable."""

    def __call__(self, project_id: int, values: Sequence[T], /) -> Awaitable[list[T]]: ...


class AsksScorers(Protocol):
    """Asks a scorer about a run; see `run_scorer.RunScorer`."""

    async def scores(self, scorer: ScorerRow, run: str) -> RunScores:
        """Returns what a scorer says about a run. Raises Refused, JudgeFailed, StoreUnavailable."""
        ...


async def _nothing() -> None:
    return None


async def _as_it_is(_: int, values: Sequence[T]) -> list[T]:
    return [*values]


class ScoringWorker(SpareTimeWorker):
    """Scores runs that have ended."""

    def __init__(
        self,
        store: ScorerStore,
        add_score: AddScore,
        asking: AsksScorers,
        *,
        poll_seconds: float = 1.0,
        is_busy: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = monotonic,
        wall_ns: Callable[[], int] = time_ns,
        close: Callable[[], Awaitable[None]] = _nothing,
        masked: MaskValues = _as_it_is,
    ) -> None:
        """Looks for work every `poll_seconds`, and waits while `is_busy()`. `clock` gives seconds, `wall_ns` ns since
        1970. `close` is called when it has stopped. `masked`: what scorers say may have texts of the run."""
        super().__init__("playhead scorer", "scoring runs", poll_seconds=poll_seconds, is_busy=is_busy, clock=clock)
        self.counts: Counter[str] = Counter()  # scored, failed, retried, not_sampled, over_budget
        self._store = store
        self._add_score = add_score
        self._asking = asking
        self._wall_ns = wall_ns
        self._close = close
        self._masked = masked
        self._last_project = 0

    async def stop(self) -> None:
        await super().stop()
        await self._close()

    async def _work(self) -> bool:
        scorers = {scorer.number: scorer for scorer in await self._store.in_use()}
        if not scorers:
            return False
        noted = await self._store.note_arrived(_NOTED_AT_A_TIME, self._wall_ns())
        if noted is not None:
            self.counts["not_sampled"] += noted.not_sampled
        filled = await self._store.backfill_some(_BACKFILLED_AT_A_TIME, _MOST_WAITING, self._wall_ns())
        return await self._score_some(scorers) or noted is not None or filled

    async def _score_some(self, scorers: Mapping[int, ScorerRow]) -> bool:
        """Scores runs of the next project that has some."""
        for project_id in self._turns({scorer.project_id for scorer in scorers.values()}):
            now = self._wall_ns()
            due = await self._store.take(project_id, _SCORED_AT_A_TIME, now, now + _LEASE_NS)
            if due:
                self._last_project = project_id
                work = (self._score(scorers[each.scorer], each) for each in due if each.scorer in scorers)
                for error in await asyncio.gather(*work, return_exceptions=True):
                    if error is not None:
                        raise error
                return True
        return False

    def _turns(self, projects: set[int]) -> Sequence[int]:
        """The projects in their order, beginning after the one that had the last turn."""
        return sorted(projects, key=lambda project: (project <= self._last_project, project))

    async def _score(self, scorer: ScorerRow, due: DueScoring) -> None:
        now = self._wall_ns()
        if not await self._store.begin(scorer, now):
            await self._refuse(due, now)
            return
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                scores = await self._asking.scores(scorer, due.run)
                await self._keep(scorer, due, scores)
        except StoreUnavailable:
            await self._store.postpone(due, self._wall_ns() + _AGAIN_NS)
        except JudgeFailed as error:
            spent = ScoringCounts(tokens=error.tokens, cost=error.cost or 0.0)
            await self._fail(scorer, due, str(error), spent)
        except Refused as error:
            if error.status == DELETED:
                await self._store.drop(due, ScoringCounts(), self._wall_ns())
            else:
                await self._fail(scorer, due, str(error), ScoringCounts())
        except TimeoutError:
            await self._fail(scorer, due, f"it took longer than {_MOST_SECONDS:g} s", ScoringCounts())
        except Exception as error:
            log.exception("scorer %s failed on run %s; please report this", scorer.name, due.run)
            await self._fail(scorer, due, f"{type(error).__name__}: {error}", ScoringCounts())

    async def _refuse(self, due: DueScoring, now_ns: int) -> None:
        """The budget of the day is used up: stored runs wait for the next day, those that have just ended are left
        out, since there would be more of them every day."""
        if due.backfill:
            await self._store.postpone(due, _next_day_ns(now_ns))
            return
        self.counts["over_budget"] += 1
        await self._store.drop(due, ScoringCounts(over_budget=1), now_ns)

    async def _keep(self, scorer: ScorerRow, due: DueScoring, scores: RunScores) -> None:
        for given in scores.scores:
            score = score_to_add(scorer, given, scores.events)
            value, label, comment = await self._masked(due.project_id, [score.value, score.label, score.comment])
            score = replace(score, value=value if isinstance(score.value, str) else score.value)
            await self._add_score(due.project_id, due.run, replace(score, label=label, comment=comment))
        spent = ScoringCounts(scored=1, tokens=scores.tokens, cost=scores.cost or 0.0)
        await self._store.finish(due, scores.events, spent, self._wall_ns())
        self.counts["scored"] += 1

    async def _fail(self, scorer: ScorerRow, due: DueScoring, error: str, spent: ScoringCounts) -> None:
        """Notes an error: the run is tried again later, and given up after some attempts."""
        now, given_up = self._wall_ns(), due.attempts >= _ATTEMPTS
        retry_ns = None if given_up else now + _FIRST_RETRY_NS * _RETRY_FACTOR ** (due.attempts - 1)
        self.counts["failed" if given_up else "retried"] += 1
        [error] = await self._masked(due.project_id, [error])
        log.warning("scorer %s on run %s: %s", scorer.name, due.run, error)
        counts = replace(spent, failed=int(given_up))
        await self._store.fail(due, error[:_MAX_ERROR], counts, now, retry_ns)


def score_to_add(scorer: ScorerRow, given: GivenScore, events: int) -> ScoreToAdd:
    """Returns a scorer's score as it is stored, for a run with so many events. Pure."""
    return ScoreToAdd(
        scorer.score_id(events, given.name),
        given.name or scorer.definition.score,
        given.value,
        given.label,
        author=scorer.author,
        comment=given.comment,
        source=SCORER,
    )


def _next_day_ns(now_ns: int) -> int:
    day = datetime.datetime.fromtimestamp(now_ns // _NS, datetime.UTC).date() + datetime.timedelta(days=1)
    return int(datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()) * _NS
