"""How commands print: tables, facts, messages, contents and JSON; and the progress of an export or an import.

On a terminal, answers are coloured; to a pipe, they are plain text with tabs. Recorded text cannot control the
terminal. Progress is shown on standard error, if that is a terminal.
"""

import json
import re
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

import typer

from playhead.model.canonical import Content, value_of
from playhead.model.message import Message, message_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

T = TypeVar("T")
Columns = Sequence[tuple[str, Callable[[T], object]]]
"""The columns of a table: for each its title, and the function that returns an item's cell."""

# Recorded text must not control the terminal: move the cursor, or set the title. It must not change the direction of
# the rest of the line: Unicode's bidirectional embeddings, overrides and isolates reach beyond their text if they are
# not closed. Lone surrogates cannot be written at all.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT_ID = 8
_LEAST_COST = 0.0001
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
# Columns that are never folded: names to copy, and short words.
_WHOLE = frozenset(
    {"run", "status", "outcome", "started", "took", "calls", "tokens", "cost", "seq", "time", "kind", "setting"}
)
STATUS_COLOURS = {"completed": "green", "failed": "red", "cancelled": "yellow", "running": "yellow", "lost": "red"}
OUTCOME_COLOURS = {"succeeded": "green", "crashed": "red", "waiting": "yellow"}
_COLOURS = {
    **STATUS_COLOURS, **OUTCOME_COLOURS, "critical": "bold",
    "system": "magenta", "user": "cyan", "assistant": "green", "tool": "blue",
}  # fmt: skip
_LONG = 100  # characters of a value in a table
_LINES_AT_A_TIME = 500  # lines of a table per write to a pipe: a write takes as long as making some lines


def answer_as(json: bool, value: T, render: Callable[[T], None]) -> None:
    """Prints the answer of a command: as JSON if `json` is set, else with `render`."""
    if json:
        as_json(value)
    else:
        render(value)


def list_as(json: bool, items: Sequence[T], columns: Columns[T]) -> None:
    """Prints the list that a command answers with: as JSON if `json` is set, else as a table."""
    answer_as(json, items, lambda rows: rows_of(columns, rows))


def as_json(value: object) -> None:
    """Prints a value as one JSON document, indented on a terminal."""
    typer.echo(_escaped(json.dumps(value, indent=2 if is_terminal() else None, ensure_ascii=False)))


def _escaped(text: str) -> bytes:
    # JSON escapes the other control characters by itself.
    escaped = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return escaped.encode("utf-8", "backslashreplace")


def short_ids(ids: Sequence[str]) -> list[str]:
    """Returns the shortest ends of these run ids that are unique among them, of 8 digits or more. (An id begins with
    its time and ends at random.)

    Every command accepts such an end as the name of the run.
    """
    length = _SHORT_ID
    while len({run_id[-length:] for run_id in ids}) < len(set(ids)):
        length += 1
    return [run_id[-length:] for run_id in ids]


def is_terminal() -> bool:
    """Whether standard output is a terminal, and not a file or a pipe."""
    return sys.stdout.isatty()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table. To a pipe: a line of column names, then a line per row, with tabs between the cells.

    On a terminal, empty columns are left out, and wide cells are folded, never cut.
    """
    if not is_terminal():
        lines = ("\t".join(map(_cell, row)) for row in chain([columns], rows))
        while piece := list(islice(lines, _LINES_AT_A_TIME)):
            typer.echo("\n".join(piece))
        return
    cells = [[_styled(value) for value in row] for row in rows]
    indexes = [index for index in range(len(columns)) if not cells or any(row[index].plain for row in cells)]
    from rich.table import Table  # noqa: PLC0415 - see `console`

    grid = Table(box=None, header_style="dim", pad_edge=False)
    for index in indexes:
        grid.add_column(columns[index], overflow="fold", no_wrap=columns[index] in _WHOLE)
    for row in cells:
        grid.add_row(*(row[index] for index in indexes))
    console().print(grid)


def rows_of(columns: Columns[T], items: Iterable[T]) -> None:
    """Prints a table with a row for each item, as `table` does."""
    table([title for title, _ in columns], ([cell(item) for _, cell in columns] for item in items))


def line(cells: Sequence[object]) -> None:
    """Prints one row at once, for a table whose rows are not all known yet. To a pipe: with tabs between the cells."""
    if is_terminal():
        from rich.text import Text  # noqa: PLC0415 - see `console`

        console(highlight=False).print(Text("  ").join(map(_styled, cells)))
    else:
        typer.echo("\t".join(map(_cell, cells)))


def line_as(json: bool, item: T, columns: Columns[T]) -> None:
    """Prints one item of a list at once: as JSON on a line if `json` is set, else as a row."""
    if json:
        typer.echo(_escaped(compact(item)))
    else:
        line([cell(item) for _, cell in columns])


def facts(pairs: Mapping[str, object]) -> None:
    """Prints names and values, one pair per line. Leaves out values that are None or an empty list."""
    rows = [(_cell(name), value) for name, value in pairs.items() if value is not None and value != []]
    if not is_terminal():
        for name, value in rows:
            typer.echo(f"{name}\t{_cell(value)}")
        return
    from rich.table import Table  # noqa: PLC0415 - see `console`
    from rich.text import Text  # noqa: PLC0415

    grid = Table(box=None, show_header=False, pad_edge=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name, style="dim"), Text(cell := _cell(value), style=_COLOURS.get(cell, "")))
    console().print(grid)


def message(head: str, role: str, value: Message | None) -> None:
    """Prints a message: the role, then the text."""
    from rich.text import Text  # noqa: PLC0415 - see `console`

    console(highlight=False).print(Text(visible(f"{head}{role}"), style=f"bold {_COLOURS.get(role, '')}"))
    typer.echo(visible(message_text(value)) + "\n")


def message_text(value: Message | None) -> str:
    """Returns all that a message holds: its text, its tool calls, and a line for each image or file."""
    if value is None:
        return "(not stored)"
    if not is_message(value):
        return compact(value)
    return "\n".join(filter(None, message_lines(value)))


def role_of(value: Message | None) -> str:
    """Returns the role of a message; `?` if the value is not a message."""
    return visible(value["role"]) if is_message(value) else "?"


def is_message(value: object) -> TypeGuard[Message]:
    """Whether a value is a message: a content that a sender names as a message may be anything."""
    if not isinstance(value, dict):
        return False
    fields = cast(dict[str, Any], value)
    role, parts = fields.get("role"), fields.get("parts")
    if not isinstance(role, str) or not isinstance(parts, list):
        return False
    return all(isinstance(part, dict) for part in cast(list[Any], parts))


def content(value: Content) -> None:
    """Prints a content: to a pipe its bytes, to a terminal only text and JSON."""
    if not is_terminal():
        sys.stdout.buffer.write(value.data)
    elif is_binary(value):
        typer.echo(f"({value.media_type}, {len(value.data)} bytes: send it to a file with >)")
    elif value.media_type.partition(";")[0].endswith("json"):
        as_json(value_of(value))
    else:
        typer.echo(visible(value.data.decode("utf-8", "replace")))


def is_binary(value: Content) -> bool:
    """Whether a content is neither text nor JSON."""
    plain = value.media_type.partition(";")[0].strip()
    return not (plain.startswith("text/") or plain.endswith("json"))


def visible(text: str) -> str:
    """Replaces characters that would control a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def size(count: int) -> str:
    """Returns a number of bytes with a unit."""
    amount, unit = float(count), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{count} B"


def echo(text: str, *, err: bool = False) -> None:
    """Prints a text. Recorded values in it cannot control the terminal."""
    typer.echo(visible(text), err=err)


def compact(value: object) -> str:
    """Returns a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def pairs(values: Mapping[str, object]) -> str:
    """Returns names and values on one line: `name=search, n=2`. Leaves out values that are None or empty."""
    items = ((name, value) for name, value in values.items() if value not in (None, "", [], {}))
    return ", ".join(f"{name}={value if isinstance(value, str) else compact(value)}" for name, value in items)


def seconds(elapsed_ms: float | None) -> str | None:
    """Returns milliseconds as a text in seconds: `1.50 s`. None for None."""
    return None if elapsed_ms is None else f"{elapsed_ms / 1000:.2f} s"


def cost(value: float | None) -> str | None:
    """Returns an amount of money with four digits, of less than that only that it is less; None if it is not known."""
    return None if value is None else f"<{_LEAST_COST}" if 0 < value < _LEAST_COST else f"{value:.4f}"


def counted(count: int, noun: str) -> str:
    """Returns "1 message" or "2 messages" for the noun "message"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def console(*, highlight: bool = True) -> "Console":
    """Returns the console that writes to a terminal. Its library is imported here: that takes 30 ms, and a pipe does
    not need it."""
    from rich.console import Console  # noqa: PLC0415

    return Console(highlight=highlight)


def _styled(value: object) -> "Text":
    """Returns a cell of a terminal's table; a `Text` is returned unchanged."""
    from rich.text import Text  # noqa: PLC0415 - see `console`

    return value if isinstance(value, Text) else Text(cell := _cell(value), style=_COLOURS.get(cell, ""))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return visible(" ".join((value if isinstance(value, str) else compact(value)).split()))


def shortened(text: str) -> str:
    """Returns the text on one line, cut to at most 100 characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONG else plain[: _LONG - 1] + "…"


# --- progress ---------------------------------------------------------------------------------------------------------

ShowProgress = Callable[[str, int, int | None], None]
"""Called with a label, the amount that is done, and the total amount (None: unknown)."""


@contextmanager
def progress() -> Generator[ShowProgress]:
    """Gives a function that updates a progress bar."""
    if not sys.stderr.isatty():
        yield lambda label, done, of: None
        return
    from rich.console import Console  # noqa: PLC0415 - `--help` does without
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda label, done, of: bar.update(task, description=label, completed=done, total=of)
