"""Arguments and options of several commands."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, Literal, TypeVar

import typer

from playhead.cli.connection import complete_run
from playhead.errors import SettingInvalid

_RUN_HELP = "A run's id, any part of it that no other run has, or `last`."
Run = Annotated[str, typer.Argument(help=_RUN_HELP, show_default=False, autocompletion=complete_run)]
MOMENT = "A seq, the id of an event or span, turn:N (the N-th model call), first-error or last"
At = Annotated[str | None, typer.Option(help=f"{MOMENT}; default: the last.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Limit = Annotated[int, typer.Option(min=1, help="Show at most so many.")]

T = TypeVar("T")

# Conditions for runs.
Status = Literal["running", "completed", "failed", "cancelled", "lost"]
OfAgent = Annotated[str | None, typer.Option(help="Only runs with an agent of this name.", show_default=False)]
OfStatus = Annotated[Status | None, typer.Option(help="Only runs that are so now.", show_default=False)]
OfSession = Annotated[str | None, typer.Option(help="Only runs of this session.", show_default=False)]
OfUser = Annotated[str | None, typer.Option(help="Only runs for this user.", show_default=False)]
OfTag = Annotated[str | None, typer.Option(help="Only runs with this tag.", show_default=False)]
OfModel = Annotated[str | None, typer.Option(help="Only runs that called this model.", show_default=False)]
OfTool = Annotated[str | None, typer.Option(help="Only runs that called this tool.", show_default=False)]

Since = Annotated[str | None, typer.Option(help="Begun at or after: 1h (ago), 2d, 2026-01-31.", show_default=False)]
Until = Annotated[str | None, typer.Option(help="Begun at or before.", show_default=False)]

_AGO = re.compile(r"(\d{1,6})\s*(s|m|h|d|w)")
_DATE = re.compile(r"\d{4}-")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_time_option(text: str | None, now: datetime | None = None) -> str | None:
    """Returns a time for the API. `90s`, `30m`, `1h`, `2d` and `1w` are times ago; a text that begins like a date is
    returned unchanged.

    Raises SettingInvalid for any other text.
    """
    ago = _AGO.fullmatch((text or "").strip().lower())
    if ago is None:
        if text is not None and not _DATE.match(text.strip()):
            raise SettingInvalid(
                f"{text[:60]!r} is not a time: write how long ago, in s, m, h, d or w (90s, 30m, 1h, 2d, 1w), or a "
                "time such as 2026-01-31 or 2026-01-31T12:00"
            )
        return text
    passed = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    return ((now or datetime.now(UTC)) - passed).isoformat()


def first_rows(ctx: typer.Context, noun: str, items: Iterable[T], limit: int) -> list[T]:
    """Returns the first `limit` items. If there are more, stderr says so when the command ends: request one item more
    than `limit`."""
    rows = list(islice(items, limit + 1))
    note_if_more(ctx, noun, limit, is_more=len(rows) > limit)
    return rows[:limit]


def note_if_more(ctx: typer.Context, noun: str, limit: int, *, is_more: bool) -> None:
    """Prints on stderr, when the command ends, that there are more items than were shown, if `is_more` is set."""
    if is_more:
        text = f"there are more {noun} than these {limit:,}: ask with a larger --limit"
        ctx.call_on_close(lambda: typer.echo(text, err=True))
