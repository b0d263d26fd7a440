"""How much is stored, and deletion: of a run, and of content that no run refers to."""

from typing import Annotated, TypedDict

from playhead.wire.operations.bounds import Bounds, RunName
from playhead.wire.operations.operation import ADMIN, READ, delete, get, post

# --- answers ---------------------------------------------------------------------------------------------------------


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


class ProjectStorage(StorageSizes):
    """What a project has.  `contents`: how many different ones; `content_bytes`: their size, not compressed.

    `inline_bytes`: what they stand for, the size of records that carry their contents themselves: each content that
    model calls were given as often as it was given, all others once for each run.  `sampled_runs` were read for it.
    """

    contents: Amount
    content_bytes: Amount
    inline_bytes: Amount
    sampled_runs: int


class Storage(TypedDict):
    """How much is stored: of this project, and in the whole database.

    `database` is null for keys of other projects than the first: it is about all of them.
    """

    project: ProjectStorage
    database: StorageSizes | None


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

Forks = Annotated[bool, Bounds(description="Also delete the runs that were forked from it.")]


class StorageOperations:
    """Amounts of stored data, and its deletion."""

    @get("/storage", scope=READ, tag="content")
    def storage(self) -> Storage:
        """How much is stored, by kind: contents, their bytes, and the inline bytes that they stand for.

        Each number says whether it is exact. Estimates come from Postgres' counters and from samples, so that the
        question costs the same however much is stored.
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
