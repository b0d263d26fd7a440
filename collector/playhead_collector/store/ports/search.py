"""The store's interface for searching across runs: an index of sealed runs, which is built in the background."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from playhead.model.ref import ContentRef


class UnindexedRun(NamedTuple):
    """A sealed run that is not in the index."""

    project_id: int
    run: str


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A run in the index.

    `terms`: numbers by which the run is found. `seen`: the contents whose text is searched, with the seq at which each
    entered the run. `body`: JSON of the caller. `returned_errors`: whether the result reports an error, of the tool
    calls whose result is known, by the seq of their start.
    """

    run: str
    started_ns: int
    terms: Sequence[int]
    seen: Mapping[ContentRef, int]
    body: bytes
    returned_errors: Mapping[int, bool]


class SearchedText(NamedTuple):
    """The text of a content, as the numbers by which it is found. `role`: the role of a message, else None."""

    ref: ContentRef
    role: str | None
    terms: Set[int]


class FoundRun(NamedTuple):
    """A run that matches a search, with the JSON `body` that it was indexed with."""

    run: str
    started_ns: int
    body: bytes


class RunThatSaw(NamedTuple):
    """A run that had a content, and the seq at which the content entered it."""

    run: str
    started_ns: int
    seq: int


class TextHit(NamedTuple):
    """A content that a search finds. `prefix`: the first bytes of its ref; `ref` is None if it is not stored any more.
    `since_ns`: the start of the first run that was indexed with it."""

    prefix: bytes
    ref: ContentRef | None
    since_ns: int
    role: str | None


@dataclass(frozen=True, slots=True)
class RunBounds:
    """Limits of a search. Times are starts of runs; for texts, the start of the first run that had the text.

    `before`: (time, and run or prefix of a content in hex) of the last item of the previous page; items are sorted
    newest first.
    """

    since_ns: int | None = None
    until_ns: int | None = None
    before: tuple[int, str] | None = None


class SearchIndex(Protocol):
    """Stores the search index, and searches in it. All methods raise StoreUnavailable."""

    async def is_off(self, project_id: int) -> bool:
        """Returns whether the texts and decisions of a project are not indexed, because it is encrypted."""
        ...

    async def prepare(self, project_id: int, language: str) -> bool:
        """Empties the index if it was built with another text search configuration. Returns False, and changes nothing,
        if Postgres has no configuration with this name."""
        ...

    async def unindexed_runs(self, limit: int) -> Sequence[UnindexedRun]:
        """Returns sealed runs that are not in the index, at most `limit`."""
        ...

    async def count_unindexed(self, project_id: int, limit: int) -> int:
        """Returns how many sealed runs of a project are not in the index. Counts at most `limit`."""
        ...

    async def index_run(self, project_id: int, run: IndexedRun, texts: Sequence[SearchedText]) -> bool:
        """Adds a run, and those of its texts that are not in the index, and stores the outcomes of its tool calls in
        their rows, in one transaction. `texts`: of all contents that the run has seen. Contents that it had when it was
        indexed before, and that no run has now, leave the index. Returns False, and changes nothing, if the run is no
        longer stored as sealed."""
        ...

    async def leave_unindexed(self, project_id: int, run: str) -> None:
        """Removes a run from the list of runs to index, until the run gets new data."""
        ...

    async def newest_indexed(
        self, project_id: int, terms: Sequence[int], where: RunBounds, *, looked: int, limit: int
    ) -> Sequence[FoundRun]:
        """Returns at most `limit` runs that have all these terms, newest first. Looks only at the newest `looked`
        runs."""
        ...

    async def indexed_with(
        self, project_id: int, terms: Sequence[int], where: RunBounds, *, limit: int
    ) -> Sequence[FoundRun]:
        """Returns at most `limit` runs that have all these terms, newest first. Faster than `newest_indexed` when few
        runs match."""
        ...

    async def runs_that_saw(
        self, project_id: int, refs: Sequence[ContentRef], limit: int
    ) -> Mapping[ContentRef, Sequence[RunThatSaw]]:
        """Returns for each content at most `limit` indexed runs that had it, in any order."""
        ...

    async def lexemes(self, language: str, words: Collection[str]) -> Mapping[str, str]:
        """Returns the lexemes of words in a language (a text search configuration of Postgres), of those words that
        have another one than themselves. It is empty for words that the language leaves out."""
        ...

    async def texts_with(
        self, project_id: int, wanted: Sequence[Set[int]], where: RunBounds, role: str | None, *, limit: int
    ) -> Sequence[TextHit]:
        """Returns at most `limit` contents that have all terms of one of the sets, newest first. `role`: only messages
        of this role."""
        ...

    async def searched_text(self, project_id: int, ref: ContentRef) -> TextHit | None:
        """Returns the index entry of this content; None if its text is not in the index."""
        ...
