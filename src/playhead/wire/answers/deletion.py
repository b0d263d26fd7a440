"""Answers about deletion."""

from typing import TypedDict


class DeletedRuns(TypedDict):
    """Runs that are gone: the one that was named first, then its forks.  Content that no other run names goes
    `content_after_seconds` later, and up to a day more."""

    deleted: list[str]
    content_after_seconds: float


class Collected(TypedDict):
    """How far the collection of content is: `phase` of what is next (null: it is over), and what it has deleted so
    far."""

    phase: str | None
    contents: int
    thread_nodes: int
