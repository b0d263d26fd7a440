"""Notes about the destinations of `playhead.export_to`, in each lane as files `to-NAME.json`. With them, `playhead
ship` delivers the lane to a destination as the lane's process would. Keys and values of headers are not noted."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import orjson

from playhead.journal.files import open_private


@dataclass(frozen=True, slots=True)
class DestinationNote:
    """A destination as it was given to `export_to`."""

    kind: Literal["langfuse", "phoenix", "otlp"]
    endpoint: str
    project: str | None
    content: Literal["full", "preview", "ref"]
    preview_characters: int
    public_url: str | None
    headers: tuple[str, ...]
    """Names of headers whose values only the program knows."""
    is_redacted: bool
    """Whether a function of the program edits what is sent."""


def note_destination(lane: Path, name: str, note: DestinationNote) -> None:
    """Writes the note into the lane.  Raises OSError."""
    with os.fdopen(open_private(_path(lane, name), os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(orjson.dumps(asdict(note)))


def noted_destination(lane: Path, name: str) -> DestinationNote | None:
    """Reads the lane's note of the destination; None if there is none, or if it cannot be read as a note. Raises
    OSError."""
    try:
        fields = orjson.loads(_path(lane, name).read_bytes())
        fields["headers"] = tuple(fields["headers"])
        return DestinationNote(**fields)
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def _path(lane: Path, name: str) -> Path:
    return lane / f"to-{name}.json"
