"""The store's interface for how much is stored: sizes of tables as Postgres knows them, and samples of contents and
runs."""

import datetime
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from playhead.model.content_kinds import ContentKind
from playhead.model.ref import ContentRef
from playhead_collector.store.ports.contents import ContentTier


class TableSize(NamedTuple):
    """A table of the database: estimated number of rows (from Postgres' statistics), bytes of its data and of its
    indexes, and the share of its rows that belongs to one project (None: not known)."""

    name: str
    rows: int
    bytes: int
    index_bytes: int
    share: float | None


class SampledContent(NamedTuple):
    """A content of a sample: its size in bytes before compression, and the bytes that are stored for it (in a pack, its
    share of the pack). `kind` None: not known yet; `tokens` None: not counted yet; `first_stored` None: stored by an
    older version. `stored_until`: a day on which it was stored already."""

    kind: ContentKind | None
    size: int
    stored_bytes: float
    tokens: int | None
    first_stored: datetime.date | None
    stored_until: datetime.date
    tier: ContentTier = "hot"


class ContentSample(NamedTuple):
    """A random sample of contents.

    `rows`: contents that are rows. `is_all`: the sample has all such contents. `packs`: the contents of each sampled
    pack. `are_all_packs`: the sample has all packs.
    """

    rows: Sequence[SampledContent]
    is_all: bool
    packs: Sequence[Sequence[SampledContent]]
    are_all_packs: bool


class LargeContent(NamedTuple):
    """A content of more than 32 KiB. `stored_bytes`: its size compressed; else as in `SampledContent`
    and `contents.ContentFacts`."""

    ref: ContentRef
    kind: ContentKind | None
    size: int
    stored_bytes: int
    tokens: int | None
    first_stored: datetime.date | None
    last_named: datetime.date
    tier: ContentTier = "hot"


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
        """Returns a sample of the project's contents."""
        ...

    async def large_contents(
        self,
        project_id: int,
        kinds: Sequence[ContentKind | None],
        *,
        larger: int,
        limit: int,
        after: tuple[int, ContentRef] | None = None,
    ) -> Sequence[LargeContent]:
        """Returns contents of these kinds (None: not known yet) of more than `larger` bytes, and of more than 32 KiB,
        the largest first. `after`: size and ref of the last one of the previous page."""
        ...

    async def sample_inline(self, project_id: int) -> InlineSample:
        """Returns the inline sizes of a sample of runs. A content counts once for each model call that had it as input,
        and once if there is none."""
        ...
