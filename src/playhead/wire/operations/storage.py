"""Answers about how much is stored, and about what was deleted."""

from typing import TypedDict


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
    """How much is stored: of this project, and in the whole database."""

    project: ProjectStorage
    database: StorageSizes


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
