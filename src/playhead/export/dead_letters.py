"""delivery → [dead_letters]. Stores records that the collector refused, in files of the journal's folder.

Each time records are given up, one file is written, whole or not at all: one line of JSON per record, with the
refusal. `playhead ship --dead-letters` sends them again. They have no age limit: nothing else has these records, so
only the user may delete them.

    {"at": "2026-01-31T12:00:00+00:00", "why": "400: ...", "kind": "span", "record": {"trace_id": ...}}
"""

import base64
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from playhead.export.shipment import Shipment
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead.settings.sdk import Settings
from playhead.wire.pack import ThreadExtension

Record = Span | LogEvent | Content | ThreadExtension

FOLDER = "dead-letters"
_SUFFIX = ".jsonl"


# An eighth of the journal: enough for some refused records. The rest is for records that can be delivered.
_SHARE = 8


def most_bytes(settings: Settings) -> int:
    """Limit for the size of all dead letters, in bytes."""
    return settings.journal_max_bytes // _SHARE


class DeadLettersFull(OSError):
    """The limit for dead letters is reached."""


class DeadLetters:
    """The dead letters of one process in one journal."""

    def __init__(self, journal_dir: Path, max_bytes: int):
        """Does not touch the disk. `max_bytes`: limit for the size of the whole folder."""
        self.folder = journal_dir / FOLDER
        self._journal_dir = journal_dir
        self._max_bytes = max_bytes
        self._written: list[Path] = []

    def keep(self, given_up: Sequence[tuple[Record, str]]) -> None:
        """Stores records with the reason of their refusal, durably. Raises OSError, and then none is stored."""
        timestamp = datetime.now(UTC).isoformat(timespec="seconds")
        data = b"".join(
            orjson.dumps({"at": timestamp, "why": why, **_to_json(record)}) + b"\n" for record, why in given_up
        )
        if len(data) + sum(_size(path) for path in dead_letters(self._journal_dir)) > self._max_bytes:
            raise DeadLettersFull("the dead letters take as much space as they may")
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.folder / f"{time.time_ns():x}-{os.urandom(3).hex()}{_SUFFIX}"
        unfinished = path.with_suffix(".new")
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            unfinished.rename(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        self._written.append(path)

    def waiting(self) -> bool:
        """Whether there are dead letters of this process that have not been sent again."""
        self._written = [path for path in self._written if path.exists()]
        return bool(self._written)


def dead_letters(journal_dir: Path) -> list[Path]:
    """The files with dead letters, oldest first."""
    try:
        return sorted(path for path in (journal_dir / FOLDER).iterdir() if path.suffix == _SUFFIX)
    except OSError:
        return []


def count_letters(journal_dir: Path) -> int:
    """Number of records that are stored as dead letters."""
    return sum(len(_lines(path)) for path in dead_letters(journal_dir))


def read_letters(path: Path) -> Shipment:
    """The records of a file. Lines that cannot be read are counted in `unreadable`."""
    shipment = Shipment()
    for line in _lines(path):
        try:
            letter = orjson.loads(line)
            _put(letter["kind"], letter["record"], shipment)
        except (ValueError, TypeError, KeyError):
            shipment.unreadable += 1
    return shipment


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _to_json(record: Record) -> dict[str, Any]:
    match record:
        case Span():
            return {"kind": "span", "record": record}
        case LogEvent():
            return {"kind": "log", "record": record}
        case Content():
            data = base64.b64encode(record.data).decode()
            return {"kind": "content", "record": {"media_type": record.media_type, "data": data}}
        case ThreadExtension():
            return {"kind": "thread", "record": {"parent": record.parent, "messages": list(record.messages)}}


def _put(kind: str, fields: dict[str, Any], into: Shipment) -> None:
    match kind:
        case "span":
            fields["events"] = [SpanEvent(**event) for event in fields["events"]]
            into.spans.append(Span(**fields))
        case "log":
            into.spans_and_announcements.append(LogEvent(**fields))
        case "content":
            content = Content(base64.b64decode(fields["data"]), fields["media_type"])
            into.contents[content.ref.digest] = content
        case "thread":
            parent = None if fields["parent"] is None else ContentRef(fields["parent"])
            into.threads.append(ThreadExtension(parent, tuple(map(ContentRef, fields["messages"]))))
        case _:
            into.unreadable += 1
