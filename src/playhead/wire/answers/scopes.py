"""Answers about the instrumentation scopes that sent spans and log events."""

from typing import TypedDict


class ScopeCount(TypedDict):
    """An instrumentation scope, and how many of its spans and log events had content that was not understood."""

    scope: str
    count: int


class Scopes(TypedDict):
    """Scopes whose content no dialect understood, since the collector started: most first.

    There are at most 51: beyond 50 names, the others are counted together, as `other`.
    """

    not_understood: list[ScopeCount]
