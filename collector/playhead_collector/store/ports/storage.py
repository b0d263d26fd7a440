"""The store's interface for how much is stored: sizes that Postgres keeps, and samples of what they stand for."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class TableSize(NamedTuple):
    """A table of the database: rows as Postgres counts them while it writes (an estimate), bytes of its data and of its
    indexes, and the share of its rows that one project has (None: not known)."""

    name: str
    rows: int
    bytes: int
    index_bytes: int
    share: float | None


class ContentSample(NamedTuple):
    """Sizes in bytes, not compressed, of some contents that are rows (chosen by their hashes, so at random), whether
    these are all; the same of some packs, as (contents, bytes)."""

    sizes: Sequence[int]
    is_all: bool
    packs: Sequence[tuple[int, int]]
    are_all_packs: bool


class InlineRun(NamedTuple):
    """A run's model calls, and the bytes that its record would take with all contents inline."""

    run: str
    calls: int
    inline_bytes: int


class InlineSample(NamedTuple):
    """Some runs, spread evenly over the ids of all; `is_all`: there are no others."""

    runs: Sequence[InlineRun]
    is_all: bool


class StorageStore(Protocol):
    """Reads a bounded number of rows, however many are stored."""

    async def table_sizes(self, project_id: int) -> Sequence[TableSize]:
        """The tables of the database."""
        ...

    async def sample_contents(self, project_id: int) -> ContentSample:
        """Sizes of contents of a project."""
        ...

    async def sample_inline(self, project_id: int) -> InlineSample:
        """What runs would take inline: each content that a model call was given times the calls, all others once."""
        ...
