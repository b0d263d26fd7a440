"""`playhead forward`: what the collector forwards to other backends."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import ask_collector
from playhead.cli.options import Json, Limit, first_rows, parse_time_option
from playhead.errors import SettingInvalid
from playhead.wire.operations.forward import DestinationAnswer, ForwardDeadLetter

app = typer.Typer(
    no_args_is_help=True,
    help="See and mend what the collector forwards to Langfuse, Phoenix and other backends.",
)
Destination = Annotated[str, typer.Argument(help="Its name, which `playhead forward status` shows.")]
OfDestination = Annotated[
    str | None, typer.Argument(help="Its name: shows what it refused, with the reasons.", show_default=False)
]
Entries = Annotated[
    list[int] | None,
    typer.Option("--entry", help="Only this dead letter; may be repeated. Default: all.", show_default=False),
]


@app.command()
def status(ctx: typer.Context, destination: OfDestination = None, limit: Limit = 20, json: Json = False) -> None:
    """Show the destinations, what waits for each, and what went wrong last; of one, what it refused."""
    if destination is not None:
        _refused(ctx, destination, limit, json)
        return
    with ask_collector(ctx) as client:
        destinations = client.destinations()["items"]
    output.list_as(json, destinations, _DESTINATION_COLUMNS)


def _refused(ctx: typer.Context, destination: str, limit: int, json: bool) -> None:
    with ask_collector(ctx) as client:
        letters = client.dead_letters(destination, limit=min(limit + 1, 1_000))["items"]
    rows = first_rows(ctx, "dead letters", letters, limit)
    output.list_as(json, rows, _LETTER_COLUMNS)


def _lag(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.0f} s"


def _state(failures: int, last_error: str | None) -> str:
    if not failures:
        return "last refusal: " + output.shortened(last_error) if last_error else "well"
    return f"failing ({failures} times in a row): {output.shortened(last_error or '')}"


_DESTINATION_COLUMNS: output.Columns[DestinationAnswer] = (
    ("destination", lambda row: row["name"]),
    ("at", lambda row: row["url"] or "not configured"),
    ("content", lambda row: row["content"]),
    ("sent", lambda row: str(row["sent_spans"] + row["sent_logs"])),
    ("waiting", lambda row: str(row["waiting"])),
    ("lag", lambda row: _lag(row["lag_seconds"])),
    ("dead", lambda row: str(row["dead"])),
    ("state", lambda row: _state(row["failures"], row["last_error"])),
)
_LETTER_COLUMNS: output.Columns[ForwardDeadLetter] = (
    ("entry", lambda letter: str(letter["entry"])),
    ("run", lambda letter: letter["run"]),
    ("spans", lambda letter: output.shortened(", ".join(letter["spans"]))),
    ("log events", lambda letter: str(letter["logs"])),
    ("arrived", lambda letter: letter["arrived"][:19]),
    ("reason", lambda letter: letter["reason"]),
)


@app.command()
def retry(ctx: typer.Context, destination: Destination, entry: Entries = None) -> None:
    """Send dead letters again; also ends the pause after a failure."""
    with ask_collector(ctx) as client:
        done = client.retry_forward(destination, entry)
    output.echo(f"{done['entries']} dead letters are sent again")


@app.command()
def drop(
    ctx: typer.Context,
    destination: Destination,
    entry: Entries = None,
    waiting: Annotated[bool, typer.Option("--waiting", help="Also what waits to be sent.")] = False,
) -> None:
    """Forget dead letters: they are not sent. The spans stay stored, and can be sent with a backfill."""
    with ask_collector(ctx) as client:
        done = client.drop_forward(destination, entry, waiting=waiting)
    output.echo(f"{done['entries']} entries are forgotten")


@app.command()
def backfill(
    ctx: typer.Context,
    destination: Destination,
    run: Annotated[str | None, typer.Argument(help="A run's id, a part of it, or `last`.", show_default=False)] = None,
    since: Annotated[
        str | None, typer.Option(help="All runs begun since: 1h (ago), 2d, 2026-01-31T12:00.", show_default=False)
    ] = None,
) -> None:
    """Send what is already stored: a run, or all runs since a time."""
    if (run is None) == (since is None):
        raise SettingInvalid("say which runs to send: give a run, or --since")
    with ask_collector(ctx) as client:
        done = client.backfill(destination, run, since=parse_time_option(since))
    output.echo(f"{done['runs']} runs will be sent to {destination}")
