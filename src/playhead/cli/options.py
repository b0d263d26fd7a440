"""Arguments and options that several commands have."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from playhead.cli.connection import complete_run

_RUN_HELP = "A run's id, any part of it that no other run has, or `last`."
Run = Annotated[str, typer.Argument(help=_RUN_HELP, show_default=False, autocompletion=complete_run)]
At = Annotated[str | None, typer.Option(help="A seq or an event id; default: the last.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Limit = Annotated[int, typer.Option(min=1, help="Show at most so many.")]
Word = Annotated[str | None, typer.Option(show_default=False)]

_AGO = re.compile(r"(\d{1,6})\s*(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment(text: str | None, now: datetime | None = None) -> str | None:
    """A moment as the collector reads it: `90s`, `30m`, `1h`, `2d`, `1w` ago; any other text as it is."""
    ago = _AGO.fullmatch((text or "").strip().lower())
    if ago is None:
        return text
    passed = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    return ((now or datetime.now(UTC)) - passed).isoformat()
