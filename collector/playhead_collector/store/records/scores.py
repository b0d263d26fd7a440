"""[store]: the scores that programs recorded."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from playhead.model.event import ScoreRecorded
from playhead_collector.store.ports.scores import Comparison, ScoreCondition, ScoreFilter, StoredScore
from playhead_collector.store.records.ports import RecordSource
from playhead_collector.store.records.projecting import RecordProjector

_COMPARISONS: Mapping[Comparison, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


class RecordScores:
    """Implements `ports.scores.ScoreReader` over a source of records."""

    def __init__(self, source: RecordSource, projector: RecordProjector) -> None:
        self._source = source
        self._projector = projector

    async def page(
        self, project_id: int, where: ScoreFilter, *, limit: int, before: tuple[int, str, str] | None = None
    ) -> Sequence[StoredScore]:
        matches = [
            score
            for score in self.recorded(where.run)
            if where.name in (None, score.name)
            and where.source in (None, score.source)
            and (where.since_ns is None or score.scored_ns >= where.since_ns)
            and (where.until_ns is None or score.scored_ns <= where.until_ns)
            and (score.is_latest or not where.latest)
            and (before is None or _time_of(score) < before)
        ]
        return sorted(matches, key=_time_of, reverse=True)[:limit]

    async def of_runs(self, project_id: int, runs: Sequence[str]) -> Mapping[str, Sequence[StoredScore]]:
        by_run: dict[str, list[StoredScore]] = {}
        for score in sorted((score for run in runs for score in self.recorded(run)), key=_time_of, reverse=True):
            if score.is_latest and score.span is None:
                by_run.setdefault(score.run, []).append(score)
        return by_run

    def recorded(self, run: str | None = None) -> list[StoredScore]:
        """Returns the scores that programs recorded, of one run or of all."""
        runs = self._source.runs() if run is None else [run]
        projected = [item for item in map(self._projector.projection, runs) if item is not None]
        scores = [
            _score(item.row.run, event)
            for item in projected
            if item.has_scores
            for event in item.events
            if isinstance(event, ScoreRecorded)
        ]
        latest = {(score.run, score.name, score.span): score.id for score in sorted(scores, key=_time_of)}
        return [replace(item, is_latest=latest[item.run, item.name, item.span] == item.id) for item in scores]


def _score(run: str, event: ScoreRecorded) -> StoredScore:
    return StoredScore(
        run=run,
        id=event.id,
        name=event.name,
        value=event.value if isinstance(event.value, bool | str) else float(event.value),
        label=None if isinstance(event.value, str) else event.label,
        span=event.about,
        source=event.source,
        author=None,
        api_key=None,
        comment=event.comment,
        explanation=event.explanation,
        scored_ns=event.time_ns,
        is_latest=False,
    )


def _time_of(score: StoredScore) -> tuple[int, str, str]:
    return score.scored_ns, score.run, score.id


def score_columns(score: StoredScore | None) -> tuple[float | None, str | None]:
    """Returns the number and the label of a score, as in `RunFacts`."""
    if score is None:
        return None, None
    return (None, score.value) if isinstance(score.value, str) else (float(score.value), score.label)


def meets(condition: ScoreCondition, score: StoredScore) -> bool:
    """Returns whether the score is the latest of its whole run with the condition's name, and meets the condition."""
    if not score.is_latest or score.span is not None or score.name != condition.name:
        return False
    number, label = score_columns(score)
    value = condition.value
    if condition.comparison is None or value is None:
        return True
    if isinstance(value, str):
        return label == value
    return number is not None and _COMPARISONS[condition.comparison](number, value)
