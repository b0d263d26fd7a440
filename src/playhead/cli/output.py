"""How answers look: coloured tables on a terminal, plain text for a pipe, JSON when it is asked for."""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import typer

from playhead.model.canonical import Content, value_of
from playhead.model.message import Message, message_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# What was recorded is shown as text: it must not move the cursor, or set the title, of the terminal that reads it.
# Nor may it turn the direction in which the rest of the line is read: embeddings, overrides and isolates of Unicode's
# bidirectional algorithm reach beyond their text if they are not closed. Lone surrogates cannot be written at all.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT_ID = 8
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
# Columns of names to copy and of short words: folded, they cannot be read.
_WHOLE = frozenset({"run", "status", "started", "took", "calls", "tokens", "cost", "seq", "time", "kind", "setting"})
_COLOURS = {
    "completed": "green", "failed": "red", "cancelled": "yellow", "running": "yellow", "lost": "red",
    "critical": "bold", "system": "magenta", "user": "cyan", "assistant": "green", "tool": "blue",
}  # fmt: skip
_LONG = 100  # characters of a value in a table
_LINES_AT_A_TIME = 500  # of a table for a pipe: each write takes as long as making some lines


def as_json(value: Any) -> None:
    """One JSON document; indented on a terminal."""
    typer.echo(_escaped(json.dumps(value, indent=2 if is_terminal() else None, ensure_ascii=False)))


def _escaped(text: str) -> bytes:
    # JSON escapes the other control characters by itself.
    escaped = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return escaped.encode("utf-8", "backslashreplace")


def short_ids(ids: Sequence[str]) -> list[str]:
    """The ends of run ids that tell these runs apart: 8 digits or more.  An id begins with its time and ends at random.

    Every command takes such an end as the name of the run.
    """
    length = _SHORT_ID
    while len({each[-length:] for each in ids}) < len(set(ids)):
        length += 1
    return [each[-length:] for each in ids]


def is_terminal() -> bool:
    """Whether a person reads this; else it is a file or another program."""
    return sys.stdout.isatty()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table; for a pipe, a line of names and then a line per row, with tabs between the cells.

    On a terminal, columns in which nothing stands are left out, and what is too wide is folded, never cut.
    """
    if not is_terminal():
        lines = ("\t".join(map(_cell, row)) for row in chain([columns], rows))
        while piece := list(islice(lines, _LINES_AT_A_TIME)):
            typer.echo("\n".join(piece))
        return
    cells = [[_styled(value) for value in row] for row in rows]
    kept = [at for at in range(len(columns)) if not cells or any(row[at].plain for row in cells)]
    from rich.table import Table  # noqa: PLC0415 - see `console`

    shown = Table(box=None, header_style="dim", pad_edge=False)
    for at in kept:
        shown.add_column(columns[at], overflow="fold", no_wrap=columns[at] in _WHOLE)
    for row in cells:
        shown.add_row(*(row[at] for at in kept))
    console().print(shown)


def line(cells: Sequence[object]) -> None:
    """A row of a table that is not known as a whole: for a pipe with tabs between the cells.  Written at once."""
    if is_terminal():
        from rich.text import Text  # noqa: PLC0415 - see `console`

        console(highlight=False).print(Text("  ").join(map(_styled, cells)))
    else:
        typer.echo("\t".join(map(_cell, cells)))


def as_json_line(value: Any) -> None:
    """One JSON document on a line.  Written at once."""
    typer.echo(_escaped(json.dumps(value, ensure_ascii=False)))


def facts(pairs: Mapping[str, object]) -> None:
    """Names and values, one pair per line; what is None is left out."""
    rows = [(_cell(name), value) for name, value in pairs.items() if value is not None and value != []]
    if not is_terminal():
        for name, value in rows:
            typer.echo(f"{name}\t{_cell(value)}")
        return
    from rich.table import Table  # noqa: PLC0415 - see `console`
    from rich.text import Text  # noqa: PLC0415

    shown = Table(box=None, show_header=False, pad_edge=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in rows:
        shown.add_row(Text(name, style="dim"), Text(cell := _cell(value), style=_COLOURS.get(cell, "")))
    console().print(shown)


def message(head: str, role: str, value: Message | None) -> None:
    """A message: who said it, then what."""
    from rich.text import Text  # noqa: PLC0415 - see `console`

    console(highlight=False).print(Text(visible(f"{head}{role}"), style=f"bold {_COLOURS.get(role, '')}"))
    typer.echo(visible(spoken(value)) + "\n")


def spoken(value: Message | None) -> str:
    """Everything that a message holds: what it says, its tool calls, and a line for each image or file."""
    if value is None:
        return "(not stored)"
    if not is_message(value):
        return compact(value)
    return "\n".join(filter(None, message_lines(value)))


def role_of(value: Message | None) -> str:
    """Who said it; `?` where nobody knows."""
    return visible(value["role"]) if is_message(value) else "?"


def is_message(value: object) -> TypeGuard[Message]:
    """Whether this is a message: what a sender named as one may be anything."""
    if not isinstance(value, dict):
        return False
    given = cast(dict[str, Any], value)
    role, parts = given.get("role"), given.get("parts")
    if not isinstance(role, str) or not isinstance(parts, list):
        return False
    return all(isinstance(part, dict) for part in cast(list[Any], parts))


def content(found: Content) -> None:
    """The bytes as they are for a pipe; on a terminal only what it can show."""
    if not is_terminal():
        sys.stdout.buffer.write(found.data)
    elif is_binary(found):
        typer.echo(f"({found.media_type}, {len(found.data)} bytes: send it to a file with >)")
    elif found.media_type.partition(";")[0].endswith("json"):
        as_json(value_of(found))
    else:
        typer.echo(visible(found.data.decode("utf-8", "replace")))


def is_binary(found: Content) -> bool:
    """Whether it is neither text nor JSON."""
    plain = found.media_type.partition(";")[0].strip()
    return not (plain.startswith("text/") or plain.endswith("json"))


def visible(text: str) -> str:
    """The text without what would steer a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def size(count: int) -> str:
    """A number of bytes with a unit."""
    shown, unit = float(count), 0
    while shown >= 1024 and unit < len(_UNITS) - 1:
        shown, unit = shown / 1024, unit + 1
    return f"{shown:.1f} {_UNITS[unit]}" if unit else f"{count} B"


def echo(text: str, *, err: bool = False) -> None:
    """Prints text with recorded values in it, without what would steer a terminal."""
    typer.echo(visible(text), err=err)


def compact(value: object) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def pairs(values: Mapping[str, object]) -> str:
    """Names and values on one line: `name=search, n=2`; what is None or empty is left out."""
    said = ((name, value) for name, value in values.items() if value not in (None, "", [], {}))
    return ", ".join(f"{name}={value if isinstance(value, str) else compact(value)}" for name, value in said)


def seconds(elapsed_ms: float | None) -> str | None:
    """A time that people can compare."""
    return None if elapsed_ms is None else f"{elapsed_ms / 1000:.2f} s"


def console(*, highlight: bool = True) -> "Console":
    """What writes to a terminal; its library takes 30 ms to load, and a pipe does without."""
    from rich.console import Console  # noqa: PLC0415

    return Console(highlight=highlight)


def _styled(value: object) -> "Text":
    """What a cell of a terminal's table holds; a `Text` is shown as it is."""
    from rich.text import Text  # noqa: PLC0415 - see `console`

    return value if isinstance(value, Text) else Text(cell := _cell(value), style=_COLOURS.get(cell, ""))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return visible(" ".join((value if isinstance(value, str) else compact(value)).split()))


def shortened(text: str) -> str:
    """One line of at most 100 characters."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONG else plain[: _LONG - 1] + "…"
