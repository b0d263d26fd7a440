"""The store's interface for how much is stored: sizes of tables as Postgres knows them, and samples of contents and
runs."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class TableSize(NamedTuple):
    """A table of the database: estimated number of rows (from Postgres' statistics), bytes of its data and of its
    indexes, and the share of its rows that belongs to one project (None: not known)."""

    name: str
    rows: int
    bytes: int
    index_bytes: int
    share: float | None


class ContentSample(NamedTuple):
    """Sizes of a random sample of contents, in bytes before compression.

    `sizes`: of contents that are rows. `is_all`: the sample has all such contents. `packs`: (contents, bytes) of each
    sampled pack. `are_all_packs`: the sample has all packs.
    """

    sizes: Sequence[int]
    is_all: bool
    packs: Sequence[tuple[int, int]]
    are_all_packs: bool


class InlineRun(NamedTuple):
    """The number of a run's model calls, and the size in bytes that its record would have with all contents inline."""

    run: str
    calls: int
    inline_bytes: int


class InlineSample(NamedTuple):
    """A sample of runs, spread evenly over all run ids. `is_all`: the sample has all runs."""

    runs: Sequence[InlineRun]
    is_all: bool


class StorageReader(Protocol):
    """Measures storage. All methods read a bounded number of rows, however many are stored."""

    async def table_sizes(self, project_id: int) -> Sequence[TableSize]:
        """Returns the sizes of the tables of the database."""
        ...

    async def sample_contents(self, project_id: int) -> ContentSample:
        """Returns the sizes of a sample of the project's contents."""
        ...

    async def sample_inline(self, project_id: int) -> InlineSample:
        """Returns the inline sizes of a sample of runs. A content counts once for each model call that had it as input,
        and once if there is none."""
        ...
