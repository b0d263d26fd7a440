"""`playhead note` and `playhead notes`: notes and labels of people about runs."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import ask
from playhead.cli.options import MOMENT, Json, Limit, Run, first_rows
from playhead.wire.operations.notes import Note


def note(
    ctx: typer.Context,
    run: Run,
    text: Annotated[str | None, typer.Argument(help="What is to be said.", show_default=False)] = None,
    label: Annotated[str | None, typer.Option(help="A label, such as 'wrong tool'.", show_default=False)] = None,
    at: Annotated[str | None, typer.Option(help=f"About a moment: {MOMENT}.", show_default=False)] = None,
    author: Annotated[str | None, typer.Option(help="Who says so.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Note something about a run, or about a moment of it: a text, a label, or both."""
    with ask(ctx) as client:
        answer = client.add_note(run, text, label=label, at=at, author=author)
    output.answer_as(json, answer, lambda note: output.facts({**note}))


def notes(ctx: typer.Context, run: Run, limit: Limit = 20, json: Json = False) -> None:
    """List the notes and labels of a run and of its moments, newest first."""
    with ask(ctx) as client:
        rows = first_rows(ctx, "notes", client.notes(run, limit=limit + 1), limit)
    output.list_as(json, rows, _COLUMNS)


_COLUMNS: output.Columns[Note] = (
    ("id", lambda note: note["id"]),
    ("seq", lambda note: note["seq"]),
    ("turn", lambda note: note["turn"]),
    ("label", lambda note: note["label"]),
    ("text", lambda note: note["text"]),
    ("time", lambda note: note["time"]),
    ("by", lambda note: note["author"] or note["key"]),
)
