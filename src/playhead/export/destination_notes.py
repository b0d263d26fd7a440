"""What a lane notes of each destination of `playhead.export_to`, so that `playhead ship` delivers to it as its process
would: the file `to-NAME.json`.  Keys and values of headers are not in it.
"""

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
    """Names of headers that only the program knows."""
    is_redacted: bool
    """Whether a function of the program edits what is sent."""


def note_destination(lane: Path, name: str, note: DestinationNote) -> None:
    """Writes the note into the lane.  Raises OSError."""
    with os.fdopen(open_private(_path(lane, name), os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(orjson.dumps(asdict(note)))


def noted_destination(lane: Path, name: str) -> DestinationNote | None:
    """The lane's note of the destination; None when there is none that can be read.  Raises OSError."""
    try:
        said = orjson.loads(_path(lane, name).read_bytes())
        said["headers"] = tuple(said["headers"])
        return DestinationNote(**said)
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def _path(lane: Path, name: str) -> Path:
    return lane / f"to-{name}.json"
