"""Answers about the instrumentation scopes that sent spans and log events."""

from typing import TypedDict


class ScopeCount(TypedDict):
    """An instrumentation scope, and its number of spans and log events with content that no dialect could read."""

    scope: str
    count: int


class Scopes(TypedDict):
    """Scopes with content that no dialect could read, since the collector started; highest counts first.

    There are at most 51: after the first 50 scopes, all others are counted as `other`.
    """

    not_understood: list[ScopeCount]
