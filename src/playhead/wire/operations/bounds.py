"""Bounds of parameters of the API, and the types that several operations share.

A parameter of an operation is declared as `Annotated[TYPE, Bounds(...)]`. From that come its validation over HTTP and
without it, its description in OpenAPI, and the option of a command. Only the standard library is used, because the
SDK's client reads these declarations too.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypedDict, Union, cast, get_args, get_origin

# --- bounds ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of a parameter; None: no bound. `description` is shown in OpenAPI, `help` by a command; one of
    them stands for the other that is not given.

    `min_length` and `max_length` count characters of a text, or items of a list. `name` is the parameter's name on the
    wire, if that is another one. How the client's value is sent: `as_text` as text, whatever it is (seqs, which may
    also be ids); `is_time` as an RFC 3339 text; `as_pairs` a mapping as a list of texts `name=value`. `names_run`: the
    value names a run, or each of its items does. `new` makes the value before the request is sent, if the caller gives
    none, so that a request that is sent again is the same.
    """

    description: str | None = None
    help: str | None = None
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    name: str | None = None
    as_text: bool = False
    is_time: bool = False
    as_pairs: bool = False
    names_run: bool = False
    new: Callable[[], str] | None = None

    def refusal(self, value: object, annotation: object) -> str | None:
        """Returns what is wrong with a value that is sent, in the words of pydantic; None if nothing is.

        `annotation` is the type on the wire (`wire_type`). Values are checked strictly: a text is no number.
        """
        return _refusal(value, annotation, self)


NO_BOUNDS = Bounds()

# --- types on the wire -----------------------------------------------------------------------------------------------


def split(annotation: object) -> tuple[Any, Bounds | None]:
    """Splits `Annotated[TYPE, Bounds(...)]` into the type and the bounds; None: there are none."""
    if get_origin(annotation) is not Annotated:
        return annotation, None
    inner, *metadata = get_args(annotation)
    return inner, next((item for item in metadata if isinstance(item, Bounds)), None)


def wire_type(annotation: object, bounds: Bounds) -> Any:
    """Returns the type of a parameter's value on the wire: lists for sequences, texts for times and moments."""
    members = _members(annotation)
    if bounds.as_text:
        members = [str, *(member for member in members if member is NoneType)]
    elif bounds.is_time:
        members = [member for member in members if member is not datetime]
    elif bounds.as_pairs:
        members = [list[str], *(member for member in members if member is NoneType)]
    return _union([_wire_member(member) for member in members])


def _members(annotation: object) -> list[Any]:
    return list(get_args(annotation)) if get_origin(annotation) in (Union, UnionType) else [annotation]


def _union(members: Sequence[Any]) -> Any:
    return Union[tuple(members)]  # noqa: UP007 - there is no operator for a list of types


def _wire_member(member: object) -> Any:
    origin, inside = get_origin(member), get_args(member)
    if origin is Annotated:
        return member
    if origin in (list, Sequence):
        return list[_wire_member(inside[0])]
    if origin in (dict, Mapping):
        return dict[inside[0], inside[1]]
    return member


def wire_value(value: object, bounds: Bounds) -> Any:
    """Returns a client's value as it is sent."""
    if value is None:
        return bounds.new() if bounds.new is not None else None
    if bounds.as_text:
        return str(value)
    if isinstance(value, datetime):
        return time_text(value)
    if bounds.as_pairs and isinstance(value, Mapping):
        return [f"{name}={text}" for name, text in cast(Mapping[str, str], value).items()]
    return _plain(value)


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(cast(Mapping[Any, Any], value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return [_plain(item) for item in cast(Sequence[Any], value)]
    return value


def time_text(moment: str | datetime | None) -> str | None:
    """Returns a time as text for the API. A text is returned unchanged."""
    return moment.astimezone(UTC).isoformat() if isinstance(moment, datetime) else moment


# --- validation without HTTP -----------------------------------------------------------------------------------------

_INVALID = {
    str: "Input should be a valid string",
    bool: "Input should be a valid boolean",
    int: "Input should be a valid integer",
    float: "Input should be a valid number",
    list: "Input should be a valid list",
    dict: "Input should be a valid dictionary",
}


def _refusal(value: object, annotation: object, bounds: Bounds) -> str | None:
    members = _members(annotation)
    if value is None and NoneType in members:
        return None
    refusals = [_member_refusal(value, member, bounds) for member in members if member is not NoneType]
    return None if None in refusals else refusals[0] if refusals else None


def _member_refusal(value: object, member: object, bounds: Bounds) -> str | None:
    if get_origin(member) is Annotated:
        inner, own = split(member)
        return _refusal(value, inner, own or NO_BOUNDS)
    if get_origin(member) is Literal:
        return None if value in get_args(member) else f"Input should be {_choices(get_args(member))}"
    expected = get_origin(member) or member
    if expected in _INVALID and not _is_a(value, expected):
        return _INVALID[expected]
    if isinstance(value, str):
        return _text_refusal(value, bounds)
    if isinstance(value, list):
        items = cast(list[object], value)
        within = next(filter(None, (_refusal(item, get_args(member)[0], NO_BOUNDS) for item in items)), None)
        return within or _list_refusal(len(items), bounds)
    return _number_refusal(value, bounds) if isinstance(value, int | float) else None


def _is_a(value: object, expected: Any) -> bool:
    if expected in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, int | float) if expected is float else isinstance(value, expected)


def _choices(values: Sequence[object]) -> str:
    *most, last = map(repr, values)
    return f"{', '.join(most)} or {last}" if most else last


def _text_refusal(text: str, bounds: Bounds) -> str | None:
    if bounds.min_length is not None and len(text) < bounds.min_length:
        return f"String should have at least {_count(bounds.min_length, 'character')}"
    if bounds.max_length is not None and len(text) > bounds.max_length:
        return f"String should have at most {_count(bounds.max_length, 'character')}"
    if bounds.pattern is not None and not text_pattern(bounds.pattern).search(text):
        return f"String should match pattern '{bounds.pattern}'"
    return None


def _list_refusal(count: int, bounds: Bounds) -> str | None:
    if bounds.min_length is not None and count < bounds.min_length:
        return f"List should have at least {_count(bounds.min_length, 'item')} after validation, not {count}"
    if bounds.max_length is not None and count > bounds.max_length:
        return f"List should have at most {_count(bounds.max_length, 'item')} after validation, not {count}"
    return None


def _number_refusal(value: float, bounds: Bounds) -> str | None:
    if bounds.ge is not None and not value >= bounds.ge:
        return f"Input should be greater than or equal to {bounds.ge}"
    if bounds.gt is not None and not value > bounds.gt:
        return f"Input should be greater than {bounds.gt}"
    if bounds.le is not None and not value <= bounds.le:
        return f"Input should be less than or equal to {bounds.le}"
    return None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@cache
def text_pattern(pattern: str) -> re.Pattern[str]:
    """Returns the pattern of a text's bounds, as pydantic reads it."""
    # `$` of Python also matches before a last newline; that of pydantic (Rust) does not.
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


# --- parameters that several operations have -------------------------------------------------------------------------

# Postgres cannot store a NUL character, so no stored value equals a text with one.
NO_NUL = r"^[^\x00]*$"
"""Pattern of texts that can be looked up in the database."""
NOT_EMPTY = r"^[^\x00]+$"
"""The same, of at least one character."""
MOMENT = "A seq, the id of an event or span, `turn:N` (the N-th model call), `first-error` or `last`"
RUN_ID = "^[0-9a-f]{32}$"
"""Pattern of a whole run id (and of a promise's)."""

RunName = Annotated[
    str,
    Bounds(
        description="A run: its id (32 hex digits), a part of it that is unique, or `last`.",
        help="A run's id, any part of it that no other run has, or `last`.",
        names_run=True,
    ),
]
Ref = Annotated[
    str,
    Bounds(
        description="`sha256:` and 64 lower-case hex digits; a suffix `:text` or `:bytes` says how to read it.",
        help="A ref: sha256: and 64 hex digits.",
    ),
]
Refs = Annotated[Sequence[str], Bounds(max_length=1_000, description="Refs (`sha256:...`), at most 1,000.")]
At = Annotated[
    int | str | None,
    Bounds(max_length=300, pattern=NO_NUL, as_text=True, description=f"{MOMENT}; default: the last."),
]
AtEvent = Annotated[int | str, Bounds(max_length=300, as_text=True, name="seq", description=f"{MOMENT}.")]
"""An event in the path, where it is named `seq`."""
Hydrate = Annotated[bool, Bounds(description="Also return the values of the refs.")]
PAGE_LIMIT = Bounds(ge=1, le=1_000, description="Maximum number of items in the answer.")
"""Bounds of the size of a page over HTTP."""
Limit = Annotated[int, PAGE_LIMIT]
"""Number of items in an answer that is no list of pages."""
Most = Annotated[int | None, Bounds(help="How many, at most.")]
"""`limit` of lists: the most items in all, None for all. Over HTTP it is the size of a page."""
Cursor = Annotated[str | None, Bounds(max_length=300, description="`next_cursor` of the previous page.")]
_TIME = "RFC 3339, e.g. 2026-01-31T12:00:00Z, or a date."
Time = Annotated[str | datetime | None, Bounds(max_length=50, is_time=True, description=_TIME)]
Since = Annotated[
    str | datetime | None,
    Bounds(max_length=50, is_time=True, description=_TIME, help="Begun at or after this time, e.g. 2026-01-31"),
]
Until = Annotated[
    str | datetime | None,
    Bounds(max_length=50, is_time=True, description=_TIME, help="Begun at or before this time"),
]
TraceId = Annotated[str | None, Bounds(pattern="^[0-9a-f]{32}$", description="The id of a trace, 32 hex digits.")]
ScoreTest = Annotated[
    str | None, Bounds(max_length=500, pattern=NOT_EMPTY, description="NAME, NAME=VALUE or NAME>=NUMBER.")
]
Preview = Annotated[
    int, Bounds(ge=0, le=10_000, description="Length of the preview of each value, in characters; 0: none.")
]
Kinds = Annotated[
    Sequence[str], Bounds(description="Kinds of events, repeated or separated by commas.", help="Only this kind.")
]
Priority = Annotated[Literal["critical", "normal"] | None, Bounds(description="Only events of this priority.")]
Status = Literal["running", "completed", "failed", "cancelled", "lost"]


class RunConditions(TypedDict, total=False):
    """Conditions for lists of runs and for questions about many runs; all must hold, and None means any."""

    agent: Annotated[str | None, Bounds(max_length=300, pattern=NO_NUL, help="Only runs with an agent of this name.")]
    status: Annotated[Status | None, Bounds(help="Only runs that are so now.")]
    session: Annotated[str | None, Bounds(max_length=300, pattern=NO_NUL, help="Only runs of this session.")]
    user: Annotated[str | None, Bounds(max_length=300, pattern=NO_NUL, help="Only runs for this user.")]
    tag: Annotated[str | None, Bounds(max_length=300, pattern=NO_NUL, help="Only runs with this tag.")]
    model: Annotated[str | None, Bounds(max_length=300, pattern=NO_NUL, help="Only runs that called this model.")]
    tool: Annotated[str | None, Bounds(max_length=300, pattern=NO_NUL, help="Only runs that called this tool.")]
    text: Annotated[
        str | None,
        Bounds(
            max_length=300,
            pattern=NO_NUL,
            description="Only runs with this text in their name, session, user, agents or tags.",
            help="In name, session, user, agents or tags.",
        ),
    ]
    since: Since
    until: Until
