"""Types of path and query parameters that several routes use."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import Depends, Header, Path, Query, Request

from playhead.model.times import parse_time
from playhead_collector.errors import Refused
from playhead_collector.store.ports.run_filter import RunFilter

# Postgres cannot store a NUL character, so no stored value equals a text with one.
NO_NUL = r"^[^\x00]*$"
"""Pattern of texts that can be looked up in the database."""
MOMENT = "A seq, the id of an event or span, `turn:N` (the N-th model call), `first-error` or `last`"
_WORD = Query(max_length=300, pattern=NO_NUL)

Ref = Annotated[
    str, Path(description="`sha256:` and 64 lower-case hex digits; a suffix `:text` or `:bytes` says how to read it.")
]
RunId = Annotated[str, Path(description="A run: its id (32 hex digits), a part of it that is unique, or `last`.")]
At = Annotated[str | None, Query(max_length=300, pattern=NO_NUL, description=f"{MOMENT}; default: the last.")]
TraceId = Annotated[str | None, Query(pattern="^[0-9a-f]{32}$", description="The id of a trace, 32 hex digits.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="Maximum number of items in the answer.")]
Cursor = Annotated[str | None, Query(max_length=300, description="`next_cursor` of the previous page.")]
Hydrate = Annotated[bool, Query(description="Also return the values of the refs.")]
Word = Annotated[str | None, _WORD]
Status = Literal["running", "completed", "failed", "cancelled", "lost"]
Priority = Literal["critical", "normal"]
Time = Annotated[str | None, Query(max_length=50, description="RFC 3339, e.g. 2026-01-31T12:00:00Z, or a date.")]
LastEventId = Annotated[str | None, Header(max_length=100, description="The last `id` that was received.")]
Kinds = Annotated[list[str] | None, Query(description="Kinds of events, repeated or separated by commas.")]


def known_parameters(request: Request) -> None:
    """Raises Refused for query parameters that the route does not have: a misspelt filter would have no effect."""
    sent = request.query_params.keys()
    if not sent:
        return
    accepted = set(_query_names(request.scope["route"].dependant))
    unknown = sorted(sent - accepted)
    if unknown:
        expected = f"known are {', '.join(sorted(accepted))}" if accepted else "this path takes none"
        raise Refused(400, "unknown_parameter", f"there is no parameter {unknown[0][:40]!r} here: {expected}")


def _query_names(dependant: Any) -> Iterator[str]:
    yield from (param.alias for param in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


ONLY_KNOWN = [Depends(known_parameters)]


def read_time(text: str | None) -> int | None:
    """Returns the time in nanoseconds since 1970; None for None. Raises Refused if the text is not a time."""
    try:
        return None if text is None else parse_time(text)
    except ValueError as error:
        raise Refused(400, "bad_time", str(error)) from None


def run_conditions(
    agent: Word = None,
    status: Status | None = None,
    session: Word = None,
    user: Word = None,
    tag: Word = None,
    model: Word = None,
    tool: Word = None,
    text: Word = None,
    since: Time = None,
    until: Time = None,
) -> RunFilter:
    """Returns the filter for lists of runs and for questions about many runs. Raises Refused."""
    return RunFilter(
        agent=agent, status=status, session=session, user=user, tag=tag, model=model, tool=tool, text=text,
        since_ns=read_time(since), until_ns=read_time(until),
    )  # fmt: skip


RunConditions = Annotated[RunFilter, Depends(run_conditions)]


def read_kinds(kinds: list[str] | None) -> frozenset[str]:
    """Returns the event kinds; an empty set means all kinds."""
    return frozenset(word.strip() for kind in kinds or () for word in kind.split(",") if word.strip())


AtEvent = Annotated[str, Path(max_length=300, description=f"{MOMENT}.")]
