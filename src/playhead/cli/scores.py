"""`playhead score` and `playhead scores`: scores of runs."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.cli.options import MOMENT, Json, Limit, Run, Since, first_rows, parse_time_option
from playhead.wire.operations.scores import RecordedScore

_COLUMNS = ("run", "name", "value", "label", "call", "time", "by", "comment")


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
    with ctx.ensure_object(CollectorAddress).ask() as client:
        answer = client.score(run, name, read, at=at, comment=comment, author=author)
    if json:
        output.as_json(answer)
    else:
        output.facts({**answer})


def scores(
    ctx: typer.Context,
    run: Annotated[str | None, typer.Option(help="Only scores of this run.", show_default=False)] = None,
    name: Annotated[str | None, typer.Option(help="Only scores of this name.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also scores that a later one replaces.")] = False,
    since: Since = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List scores, newest first."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        listing = client.scores(run, name=name, latest=not everything, since=parse_time_option(since), limit=limit + 1)
        rows = first_rows(ctx, "scores", listing, limit)
    if json:
        output.as_json(rows)
    else:
        output.table(_COLUMNS, map(_line, rows))


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
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float | int) else value


def _line(score: RecordedScore) -> tuple[object, ...]:
    who = score["author"] or score["key"] or score["source"]
    value = shown_value(score)
    return (score["run"], score["name"], value, score["label"], score["span"], score["time"], who, score["comment"])
