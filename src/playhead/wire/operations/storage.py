"""How much is stored, and deletion: of a run, and of content that no run refers to."""

from datetime import datetime
from typing import Annotated, Final, Literal, TypedDict

from playhead.model.content_kinds import ContentKind
from playhead.wire.operations.bounds import Bounds, Most, RunName
from playhead.wire.operations.operation import ADMIN, READ, delete, get, get_list, post
from playhead.wire.operations.page import Page

# --- answers ---------------------------------------------------------------------------------------------------------


UNKNOWN_KIND: Final = "unknown"
StoredContentKind = Literal[ContentKind, "unknown"]
"""What a content is; `unknown`: what names it has not been looked at yet."""


class Amount(TypedDict):
    """A number, and whether it is `exact` or an estimate.  `value` is null if it is not known (yet).

    `low` and `high`: between these, an estimate from a sample is right in 95 of 100 cases; null for other numbers.
    """

    value: int | None
    exact: bool
    low: int | None
    high: int | None


class StoredKind(TypedDict):
    """What is stored of one kind: rows, bytes of the data and bytes of its indexes."""

    rows: Amount
    bytes: Amount
    index_bytes: Amount


class StorageSizes(TypedDict):
    """Bytes of data and of indexes, together and by kind.

    Kinds: `contents` (with the thread nodes that are packed with them), `thread_nodes`, `spans`, `events`, `runs`,
    `calls` (what is searched and counted across runs), `uses` (which runs had a content), `search`, `scores`,
    `forwarding`, `other`.
    """

    bytes: Amount
    index_bytes: Amount
    kinds: dict[str, StoredKind]


class ContentTotals(TypedDict):
    """Contents together: how many, their `bytes` (not compressed), the bytes that are stored for them (those that are
    packed share the bytes of their pack), and an estimate of their tokens, which is never exact."""

    contents: Amount
    bytes: Amount
    stored_bytes: Amount
    tokens: Amount


class ProjectStorage(StorageSizes):
    """What a project has.  `contents`: how many different ones; `content_bytes`: their size, not compressed.

    `by_kind` counts contents by what they are, `by_tier` by their tier, and `by_age` by the day on which they were
    first stored: `today`, up to `7_days` ago, `30_days`, `90_days`, `1_year`, `older`; `unknown`: an older version
    stored them. Only contents that fit the question are counted in these, and in `selected`, all of them together.

    `inline_bytes`: what they stand for, the size of records that carry their contents themselves: each content that
    model calls were given as often as it was given, all others once for each run.  `sampled_runs` were read for it.
    """

    contents: Amount
    content_bytes: Amount
    selected: ContentTotals
    by_kind: dict[str, ContentTotals]
    by_tier: dict[str, ContentTotals]
    by_age: dict[str, ContentTotals]
    inline_bytes: Amount
    sampled_runs: int


class Storage(TypedDict):
    """How much is stored: of this project, and in the whole database.

    `database` is null for keys of other projects than the first: it is about all of them.
    """

    project: ProjectStorage
    database: StorageSizes | None


class ListedContent(TypedDict):
    """A content, and what it is. `kind`: `unknown` until its run was packed, some minutes after its end. `tokens` is an
    estimate; null: not counted yet. `first_stored` and `last_named` are days (UTC): when it was first stored (null: by
    an older version), and when something that arrived last named it."""

    ref: str
    kind: StoredContentKind
    tier: str
    size: int
    stored_bytes: int
    tokens: int | None
    first_stored: str | None
    last_named: str


class DeletedRuns(TypedDict):
    """Ids of the deleted runs: first the one in the request, then its forks.

    Content that no other run refers to is deleted after `content_after_seconds`, and up to a day later.
    """

    deleted: list[str]
    content_after_seconds: float


class Collected(TypedDict):
    """Progress of the collection of content: the next `phase` (null: complete), and how much was deleted so far."""

    phase: str | None
    contents: int
    thread_nodes: int


# --- operations ------------------------------------------------------------------------------------------------------

LARGEST_SMALL: Final = 32 * 1024
"""Contents up to this size, in bytes, are not listed one by one."""

OfContentKind = Annotated[StoredContentKind | None, Bounds(description="Only contents that are this.")]
OfTier = Annotated[
    Literal["hot", "warm"] | None,
    Bounds(description="Only contents in this tier: `hot` is Postgres, `warm` the object store."),
]
StoredBefore = Annotated[
    str | datetime | None,
    Bounds(
        max_length=50,
        is_time=True,
        description="Only contents that were stored before this day (UTC), e.g. 2026-01-31.",
    ),
]
LargerThan = Annotated[
    int, Bounds(ge=LARGEST_SMALL, le=2**31 - 1, description="Only contents of more than so many bytes.")
]
Forks = Annotated[bool, Bounds(description="Also delete the runs that were forked from it.")]


class StorageOperations:
    """Amounts of stored data, and its deletion."""

    @get("/storage", scope=READ, tag="content")
    def storage(self, *, kind: OfContentKind = None, tier: OfTier = None, before: StoredBefore = None) -> Storage:
        """How much is stored, by kind: contents, their bytes, and the inline bytes that they stand for.

        `kind`, `tier` and `before` select the contents that are counted by kind, tier and age. Each number says
        whether it is exact. Estimates come from Postgres' counters and from samples, so that the question costs the
        same however much is stored.
        """
        ...

    @get_list("/contents", scope=READ, tag="content", page_size=100)
    def large_contents(
        self, *, kind: OfContentKind = None, larger: LargerThan = LARGEST_SMALL, limit: Most = None
    ) -> Page[ListedContent]:
        """Contents of more than 32 KiB, the largest first.

        Smaller ones are packed together, and are not listed: `storage` counts them.
        """
        ...

    @delete(
        "/runs/{run}",
        scope=ADMIN,
        tag="runs",
        also_refuses={409: "The run has forks, which share its record. The message names some of them."},
    )
    def delete_run(self, run: RunName, *, forks: Forks = False) -> DeletedRuns:
        """Delete a run and its record. 409 when it has forks, which share its record, and `forks` is false.

        Spans of the run that arrive later are dropped. Content that no other run refers to is deleted after a grace
        period. `last` is refused, because the last run may have changed since the caller looked.
        """
        ...

    @post("/gc", scope=ADMIN, tag="content")
    def collect_garbage(self) -> Collected:
        """Delete content that no run refers to. One request works for a few seconds at most.

        Repeat it until `phase` is null. The collector also does this by itself after runs were deleted.
        """
        ...
