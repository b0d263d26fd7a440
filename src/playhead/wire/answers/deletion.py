"""Answers about deletion."""

from typing import TypedDict


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
