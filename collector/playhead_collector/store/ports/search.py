"""The store's interface for searching across runs: an index of sealed runs, made in the background."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from playhead.model.ref import ContentRef


class UnindexedRun(NamedTuple):
    """A sealed run that the index does not have."""

    project_id: int
    run: str


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """A run in the index. `terms`: numbers under which it is found; `seen`: the contents whose text is searched;
    `body`: JSON of the caller's; `returned_errors`: of the tool calls whose result is known, by the seq of their start,
    whether the result reports an error."""

    run: str
    started_ns: int
    terms: Sequence[int]
    seen: Sequence[ContentRef]
    body: bytes
    returned_errors: Mapping[int, bool]


class SearchedText(NamedTuple):
    """The text of a content; `role` of a message, else None."""

    ref: ContentRef
    role: str | None
    text: str


class FoundRun(NamedTuple):
    """A run that was found, with the JSON that it was indexed with."""

    run: str
    started_ns: int
    body: bytes


class TextHit(NamedTuple):
    """A content whose text was found; `since_ns`: when the first run began that was indexed with it."""

    ref: ContentRef
    since_ns: int
    role: str | None


@dataclass(frozen=True, slots=True)
class RunBounds:
    """Limits of a search among runs, or among texts by the run that had them first: times are those at which runs
    began. `before`: behind this item of the previous page, newest first: its time, and its run or ref."""

    since_ns: int | None = None
    until_ns: int | None = None
    before: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class WordQuery:
    """Words to look for, in the form of web search engines: `"a phrase"`, `or`, `-not`. `language` is the name of a
    text search configuration; `role`: only messages of this role."""

    text: str
    language: str
    role: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedWords:
    """A `WordQuery` as the store evaluates it: `words` is in the store's own syntax."""

    words: str
    language: str
    role: str | None = None


class SearchStore(Protocol):
    """Keeps the index, and finds what is in it. All methods raise StoreUnavailable."""

    async def prepare_search(self, project_id: int, language: str) -> bool:
        """Empties the index if it was made with another text search configuration. Returns False if Postgres has no
        configuration of this name: then nothing was done."""
        ...

    async def unindexed_runs(self, limit: int) -> Sequence[UnindexedRun]:
        """Sealed runs that the index does not have."""
        ...

    async def count_unindexed(self, project_id: int, limit: int) -> int:
        """The number of sealed runs of a project that the index does not have, at most `limit`."""
        ...

    async def indexed_texts(self, project_id: int, refs: Sequence[ContentRef]) -> AbstractSet[ContentRef]:
        """Those of these refs whose text is in the index."""
        ...

    async def index_run(self, project_id: int, run: IndexedRun, texts: Sequence[SearchedText], language: str) -> bool:
        """Puts a run and texts into the index, and the outcomes of its tool calls into their rows, in one transaction.
        Returns False if the run is not stored as sealed any more: then nothing was done."""
        ...

    async def leave_unindexed(self, project_id: int, run: str) -> None:
        """Takes a run from the list of runs that are not in the index, until it gets new data."""
        ...

    async def newest_indexed(
        self, project_id: int, terms: Sequence[int], where: RunBounds, *, looked: int, limit: int
    ) -> Sequence[FoundRun]:
        """At most `limit` runs that have all these terms, newest first, among the newest `looked` runs."""
        ...

    async def indexed_with(
        self, project_id: int, terms: Sequence[int], where: RunBounds, *, limit: int
    ) -> Sequence[FoundRun]:
        """At most `limit` runs that have all these terms, newest first: faster than `newest_indexed` where few do."""
        ...

    async def runs_that_saw(
        self, project_id: int, refs: Sequence[ContentRef], limit: int
    ) -> Mapping[ContentRef, Sequence[FoundRun]]:
        """For each content, at most `limit` indexed runs that it was a part of, in any order. Very rarely, a run has
        another content with the same short hash: its body says."""
        ...

    async def parsed_words(self, query: WordQuery) -> ParsedWords | None:
        """The query, parsed; None if it has no word that a text must have to be found.

        Raises Refused (400) if it is too complex to be parsed.
        """
        ...

    async def newest_texts(
        self, project_id: int, query: ParsedWords, where: RunBounds, *, looked: int, limit: int
    ) -> Sequence[TextHit]:
        """At most `limit` contents with these words, newest first, among the newest `looked`."""
        ...

    async def texts_with(
        self, project_id: int, query: ParsedWords, where: RunBounds, *, limit: int
    ) -> Sequence[TextHit]:
        """At most `limit` contents with these words, newest first: faster than `newest_texts` where few have them."""
        ...

    async def searched_text(self, project_id: int, ref: ContentRef) -> TextHit | None:
        """This content, if its text is in the index."""
        ...

    async def marked_words(self, query: ParsedWords, texts: Sequence[str], begin: str, end: str) -> Sequence[str]:
        """The texts with `begin` and `end` around each of the words. Both are single characters that no text has."""
        ...
