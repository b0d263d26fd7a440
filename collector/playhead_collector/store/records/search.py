"""[store]: the search index over recorded runs, in memory: what is found is what the index of a collector finds.

It is filled by who searches. There is nothing to be saved here, so each content has its own terms, and is looked at.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set

from playhead.model.ref import ContentRef
from playhead_collector.store.ports.search import (
    FoundRun,
    IndexedRun,
    RunBounds,
    RunThatSaw,
    SearchedText,
    TextHit,
    UnindexedRun,
)

_PROJECT = 1
_PREFIX_BYTES = 8
_END_OF_TIME, _LAST = 2**63, "~"


class RecordSearch:
    """Implements `ports.search.SearchIndex` in memory. All runs are searched, also those that go on."""

    def __init__(self, versions: Callable[[], Mapping[str, str]]) -> None:
        """`versions`: returns all runs, each with a text that changes whenever more of it is recorded."""
        self._versions = versions
        self._done: dict[str, str] = {}  # the version of each run that was indexed, or cannot be
        self._runs: dict[str, IndexedRun] = {}
        self._texts: dict[ContentRef, SearchedText] = {}

    async def is_off(self, project_id: int) -> bool:
        return False

    async def prepare(self, project_id: int, language: str) -> bool:
        return True

    async def unindexed_runs(self, limit: int) -> Sequence[UnindexedRun]:
        due = [run for run, version in self._versions().items() if self._done.get(run) != version]
        return [UnindexedRun(_PROJECT, run) for run in due[:limit]]

    async def count_unindexed(self, project_id: int, limit: int) -> int:
        return len(await self.unindexed_runs(limit))

    async def index_run(self, project_id: int, run: IndexedRun, texts: Sequence[SearchedText]) -> bool:
        self._runs[run.run] = run
        self._texts |= {text.ref: text for text in texts}
        await self.leave_unindexed(project_id, run.run)
        return True

    async def leave_unindexed(self, project_id: int, run: str) -> None:
        self._done[run] = self._versions().get(run, "")

    async def newest_indexed(
        self, project_id: int, terms: Sequence[int], where: RunBounds, *, looked: int, limit: int
    ) -> Sequence[FoundRun]:
        return await self.indexed_with(project_id, terms, where, limit=limit)

    async def indexed_with(
        self, project_id: int, terms: Sequence[int], where: RunBounds, *, limit: int
    ) -> Sequence[FoundRun]:
        found = {(run.started_ns, run.run): run for run in self._runs.values() if set(terms).issubset(run.terms)}
        places = _newest(found, where)[:limit]
        return [FoundRun(found[place].run, found[place].started_ns, found[place].body) for place in places]

    async def runs_that_saw(
        self, project_id: int, refs: Sequence[ContentRef], limit: int
    ) -> Mapping[ContentRef, Sequence[RunThatSaw]]:
        return {ref: list(self._saw(ref))[:limit] for ref in refs}

    def _saw(self, ref: ContentRef) -> Iterable[RunThatSaw]:
        return (RunThatSaw(run.run, run.started_ns, run.seen[ref]) for run in self._runs.values() if ref in run.seen)

    async def lexemes(self, language: str, words: Collection[str]) -> Mapping[str, str]:
        return {}

    async def texts_with(
        self, project_id: int, wanted: Sequence[Set[int]], where: RunBounds, role: str | None, *, limit: int
    ) -> Sequence[TextHit]:
        hits = (
            self._hit(text)
            for text in self._texts.values()
            if any(terms <= text.terms for terms in wanted) and (role is None or text.role == role)
        )
        found = {(hit.since_ns, hit.prefix.hex()): hit for hit in hits if hit is not None}
        return [found[place] for place in _newest(found, where)[:limit]]

    async def searched_text(self, project_id: int, ref: ContentRef) -> TextHit | None:
        text = self._texts.get(ref)
        return None if text is None else self._hit(text)

    def _hit(self, text: SearchedText) -> TextHit | None:
        starts = [run.started_ns for run in self._saw(text.ref)]
        return TextHit(text.ref.digest[:_PREFIX_BYTES], text.ref, min(starts), text.role) if starts else None


def _newest(places: Collection[tuple[int, str]], where: RunBounds) -> list[tuple[int, str]]:
    """Returns the places (a time and a name) that are within the bounds, newest first."""
    before = where.before or (_END_OF_TIME, _LAST)
    since = -_END_OF_TIME if where.since_ns is None else where.since_ns
    until = _END_OF_TIME if where.until_ns is None else where.until_ns
    return sorted((place for place in places if since <= place[0] <= until and place < before), reverse=True)
