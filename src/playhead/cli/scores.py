"""`playhead score` and `playhead scores`: scores of runs."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import ask, complete_run
from playhead.cli.options import MOMENT, Json, Limit, Run, Since, first_rows, parse_time_option
from playhead.wire.operations.scores import RecordedScore


def score(
    ctx: typer.Context,
    run: Run,
    name: Annotated[str, typer.Argument(help="What is scored, e.g. resolved.", show_default=False)],
    value: Annotated[
        str, typer.Argument(help="A number, true or false, or the name of a category.", show_default=False)
    ],
    at: Annotated[str | None, typer.Option(help=f"Score a call: {MOMENT}.", show_default=False)] = None,
    comment: Annotated[str | None, typer.Option(help="Why.", show_default=False)] = None,
    author: Annotated[str | None, typer.Option(help="Who says so.", show_default=False)] = None,
    text: Annotated[bool, typer.Option("--text", help="Take the value as a category, whatever it looks like.")] = False,
    json: Json = False,
) -> None:
    """Score a run.  A later score of the same name replaces it; both are kept."""
    read = value if text else value_of(value)
    with ask(ctx) as client:
        answer = client.score(run, name, read, at=at, comment=comment, author=author)
    output.answer_as(json, answer, lambda score: output.facts({**score}))


def scores(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(help="Only scores of this run.", show_default=False, autocompletion=complete_run),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Only scores of this name.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also scores that a later one replaces.")] = False,
    since: Since = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List scores, newest first."""
    with ask(ctx) as client:
        listing = client.scores(run, name=name, latest=not everything, since=parse_time_option(since), limit=limit + 1)
        rows = first_rows(ctx, "scores", listing, limit)
    output.list_as(json, rows, _COLUMNS)


def value_of(text: str) -> float | bool | str:
    """Parses a typed value: a number, `true` or `false`, else the name of a category."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        return text
    return number if number - number == 0 else text  # `nan` and `inf` count as category names


def shown_value(score: RecordedScore) -> str:
    """Returns a score's value as one word."""
    value = score["value"]
    return shown_number(value)


def shown_number(value: float | bool | str) -> str:
    """Returns a number, a boolean or the name of a category as one word."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float | int) else value


_COLUMNS: output.Columns[RecordedScore] = (
    ("run", lambda score: score["run"]),
    ("name", lambda score: score["name"]),
    ("value", shown_value),
    ("label", lambda score: score["label"]),
    ("call", lambda score: score["span"]),
    ("time", lambda score: score["time"]),
    ("by", lambda score: score["author"] or score["key"] or score["source"]),
    ("comment", lambda score: score["comment"]),
)
