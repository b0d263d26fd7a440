"""How answers look: coloured tables on a terminal, plain text for a pipe, JSON when it is asked for."""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from playhead.model.canonical import Content, canonical_json, value_of
from playhead.model.message import Message, message_text

# What was recorded is shown as text: it must not move the cursor, or set the title, of the terminal that reads it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COLOURS = {
    "completed": "green", "failed": "red", "cancelled": "yellow", "running": "yellow", "critical": "bold",
    "system": "magenta", "user": "cyan", "assistant": "green", "tool": "blue",
}  # fmt: skip


def as_json(value: Any) -> None:
    """One JSON document; indented on a terminal."""
    text = json.dumps(value, indent=2 if sys.stdout.isatty() else None, ensure_ascii=False)
    typer.echo(text.encode("utf-8", "backslashreplace"))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table; for a pipe, a line of names and then a line per row, with tabs between the cells."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            typer.echo("\t".join(_cell(value) for value in row))
        return
    shown = Table(*columns, box=None, header_style="dim", pad_edge=False)
    for row in rows:
        shown.add_row(*(Text(cell := _cell(value), style=_COLOURS.get(cell, "")) for value in row))
    Console().print(shown)


def facts(pairs: Mapping[str, object]) -> None:
    """Names and values, one pair per line; what is None is left out."""
    rows = [(name, value) for name, value in pairs.items() if value is not None and value != []]
    if not sys.stdout.isatty():
        for name, value in rows:
            typer.echo(f"{name}\t{_cell(value)}")
        return
    shown = Table(box=None, show_header=False, pad_edge=False)
    for name, value in rows:
        shown.add_row(Text(name, style="dim"), Text(cell := _cell(value), style=_COLOURS.get(cell, "")))
    Console().print(shown)


def message(head: str, role: str, value: Message | None) -> None:
    """A message: who said it, then what."""
    Console(highlight=False).print(Text(f"{head}{role}", style=f"bold {_COLOURS.get(role, '')}"))
    typer.echo(visible(spoken(value)) + "\n")


def spoken(value: Message | None) -> str:
    """Everything that a message says, tool calls included."""
    if value is None:
        return "(not stored)"
    calls = [
        f"{part.get('name')}({canonical_json(part.get('arguments')).decode('utf-8', 'replace')})"
        for part in value["parts"]
        if part.get("type") == "tool_call"
    ]
    return "\n".join(filter(None, [message_text(value), *calls]))


def content(found: Content) -> None:
    """The bytes as they are for a pipe; on a terminal only what it can show."""
    if not sys.stdout.isatty():
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


def compact(value: object) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def seconds(elapsed_ms: float | None) -> str | None:
    """A time that people can compare."""
    return None if elapsed_ms is None else f"{elapsed_ms / 1000:.2f} s"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return visible(" ".join((value if isinstance(value, str) else compact(value)).split()))
