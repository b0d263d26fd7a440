"""Answers about decisions and texts that were searched for across runs."""

from typing import TypedDict


class FoundValue(TypedDict):
    """An argument of a tool call.  `path` is like `flights[0].date`; `value` is a text, of a long one its first 200
    characters.  `source` and `suspect` are those of attributions (`ValueOrigin`), null where the value was not traced.
    """

    path: str
    value: str
    source: str | None
    suspect: bool | None


class FoundDecision(TypedDict):
    """A decision that was found.

    `kind` is tool_call, tool_request (asked for by a model; its execution was not recorded), answer, handoff, branch,
    approval or stop.  `attribution` says why a tool was called (`Attribution.kind`).  `result` of a tool call is ok,
    error (it raised, or its result reports an error), empty, cancelled, open or unknown (not recorded).  `after` is the
    result of the tool call of the same agent that had ended last, `first` if there was none.  `chosen` is what was
    decided where that is no tool.
    """

    run: str
    seq: int
    kind: str
    time: str
    agent: str | None
    tool: str | None
    values: list[FoundValue]
    attribution: str | None
    result: str | None
    after: str | None
    chosen: str | None
    run_status: str


class TextQuote(TypedDict):
    """A place in a text.  `offset` and `length` count characters in the text of a part; for a part that is not text, in
    its canonical JSON.  `quote` is the text with some words before and after it."""

    part: int
    offset: int
    length: int
    quote: str


class SeenIn(TypedDict):
    """A run that a content was a part of, and the seq of the event with which it entered."""

    run: str
    seq: int


class FoundText(TypedDict):
    """A content that was found.  `role` is that of a message.  `since` is when the first run began that was indexed
    with it.  `quotes`: where the words stand.  `seen`: up to 5 runs (if asked for by ref: up to `limit`), newest first;
    `more_runs`: there are others."""

    ref: str
    role: str | None
    since: str
    quotes: list[TextQuote]
    seen: list[SeenIn]
    more_runs: bool


class DecisionsFound(TypedDict):
    """A page of decisions that were found.  Send `next_cursor` as `cursor` to get the next page; null: this is the last
    page.  A page may have fewer items than `limit`, even none, although more follow.

    `unindexed`: number of sealed runs that the index does not have yet and that were not searched, at most 1000.  Runs
    that are not sealed are not searched.
    """

    items: list[FoundDecision]
    next_cursor: str | None
    unindexed: int


class TextsFound(TypedDict):
    """A page of contents that were found; the rest is as in `DecisionsFound`."""

    items: list[FoundText]
    next_cursor: str | None
    unindexed: int
