"""The files of an export.

| file | holds |
|---|---|
| `manifest.json` | version, counts, and the SHA-256 of each of the files below |
| `runs.jsonl` | a line per run: id, name, status, start time, and the run that it is a fork of |
| `traces.jsonl`, `logs.jsonl` | OTLP requests in JSON, one per line, as OpenTelemetry's file exporter writes them |
| `scores.jsonl` | a line per score that was posted, by a person or an evaluator |
| `notes.jsonl` | a line per note or label of a person |
| `threads.jsonl` | `{"parent": ref or null, "messages": [ref, ...]}`: messages that continue a thread |
| `contents.jsonl` | `{"ref", "media_type", "bytes"}` of each content; with `masked`, the SHA-256 of the bytes, if rules of its project have masked a part of it |
| `content/ab/abcd...` | the bytes of a content, under the 64 hex digits of their SHA-256 |

A ref in any of these files names a content or a thread.
"""  # noqa: E501 - the table reads better unbroken

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from playhead.model.canonical import Content, canonical_json, parse_json
from playhead.model.digest import sha256
from playhead.model.ref import ContentRef
from playhead.wire.pack import ThreadExtension

FORMAT: Final = "playhead-export"
VERSION: Final = 1

MANIFEST: Final = "manifest.json"
RUNS, TRACES, LOGS, SCORES, NOTES = "runs.jsonl", "traces.jsonl", "logs.jsonl", "scores.jsonl", "notes.jsonl"
THREADS, CONTENTS = "threads.jsonl", "contents.jsonl"
LINE_FILES: Final = (RUNS, TRACES, LOGS, SCORES, NOTES, THREADS, CONTENTS)
IN_ALL_VERSIONS: Final = (RUNS, TRACES, LOGS, THREADS, CONTENTS)
"""Files that every export has, whichever version made it."""
FOLDER: Final = "content"

_REF = re.compile(rb"sha256:([0-9a-f]{64})")
_CONTENT_FILE = re.compile(r"content/([0-9a-f]{2})/(\1[0-9a-f]{62})")


class BadExport(ValueError):
    """Raised for an export that this version cannot read; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class LineFile:
    """Facts about a file in the manifest: its number of lines, its size, and the SHA-256 of its bytes in hex."""

    lines: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Facts about the whole export. `missing`: number of refs in the records whose content was not stored when the
    export was made."""

    made_by: str
    made_at: str
    runs: int
    spans: int
    logs: int
    contents: int
    content_bytes: int
    missing: int = 0
    unreadable: int = 0
    scores: int = 0
    notes: int = 0
    files: Mapping[str, LineFile] = field(default_factory=dict[str, LineFile])


def manifest_bytes(manifest: Manifest) -> bytes:
    """Returns the bytes of `manifest.json`."""
    counts = ("runs", "spans", "logs", "contents", "content_bytes", "missing", "unreadable", "scores", "notes")
    value = {
        "format": FORMAT,
        "version": VERSION,
        "made_by": manifest.made_by,
        "made_at": manifest.made_at,
        "counts": {name: getattr(manifest, name) for name in counts},
        "files": {
            name: {"lines": entry.lines, "bytes": entry.bytes, "sha256": entry.sha256}
            for name, entry in manifest.files.items()
        },
    }
    return canonical_json(value) + b"\n"


def read_manifest(data: bytes) -> Manifest:
    """Reads `manifest.json`.  Raises BadExport."""
    try:
        value = parse_json(data)
        if value["format"] != FORMAT:
            raise BadExport(f"its manifest names the format {value['format']!r}, not {FORMAT!r}")
        if value["version"] != VERSION:
            raise BadExport(f"it has version {value['version']!r} and this reads {VERSION}: update playhead")
        files = {
            str(name): LineFile(entry["lines"], entry["bytes"], entry["sha256"])
            for name, entry in value["files"].items()
        }
        return Manifest(value["made_by"], value["made_at"], **value["counts"], files=files)
    except BadExport:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadExport(f"its manifest cannot be read ({error!r}): export again") from error


def content_file(digest: str) -> str:
    """Returns the path of a content within an export. `digest`: the hex digits of its ref."""
    return f"{FOLDER}/{digest[:2]}/{digest}"


def digest_of_file(path: str) -> str | None:
    """Returns the hex digits of the content at a path within an export; None for any other file."""
    match = _CONTENT_FILE.fullmatch(path)
    return None if match is None else match[2]


def refs_in(data: bytes) -> set[bytes]:
    """Returns the digests of all texts that look like refs. Each of them may name a content."""
    return {bytes.fromhex(digest.decode()) for digest in _REF.findall(data)}


def thread_line(thread: ThreadExtension) -> bytes:
    """Returns a line of `threads.jsonl`."""
    return canonical_json({"parent": thread.parent, "messages": list(thread.messages)})


def read_thread_line(line: bytes) -> ThreadExtension:
    """Reads a line of `threads.jsonl`.  Raises ValueError."""
    try:
        value = parse_json(line)
        parent = value["parent"]
        messages = tuple(ContentRef.parse(ref).plain for ref in value["messages"])
        return ThreadExtension(None if parent is None else ContentRef.parse(parent).plain, messages)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no thread ({error!r})") from error


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """A line of `scores.jsonl`: a score that was posted. `span`: id of the scored call, None if the run was scored.
    `time`: an RFC 3339 time. `key`: name of the API key that posted it."""

    run: str
    id: str
    name: str
    value: float | bool | str
    label: str | None
    span: str | None
    author: str | None
    key: str | None
    comment: str | None
    time: str


def score_line(score: Mapping[str, Any]) -> bytes:
    """Returns a line of `scores.jsonl` for a score in the form of the query API."""
    return canonical_json({name: score[name] for name in SCORE_FIELDS})


def read_score_line(line: bytes) -> ScoreLine:
    """Reads a line of `scores.jsonl`.  Raises ValueError."""
    try:
        value: Any = parse_json(line)
        texts = all(isinstance(value[name], str) for name in ("run", "id", "name", "time"))
        if not texts or not isinstance(value["value"], float | int | str):
            raise ValueError("this is no score: its run, id, name, time or value is of another type")
        return ScoreLine(**{name: value[name] for name in SCORE_FIELDS})
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is no score ({error!r})") from error


SCORE_FIELDS: Final = tuple(score_field.name for score_field in fields(ScoreLine))


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A line of `notes.jsonl`: a note or label of a person. `event`: id of the event that it is about, None if it is
    about the run. `time`: an RFC 3339 time. `key`: name of the API key with which it was written."""

    run: str
    id: str
    event: str | None
    text: str | None
    label: str | None
    author: str | None
    key: str | None
    time: str


def note_line(note: Mapping[str, Any]) -> bytes:
    """Returns a line of `notes.jsonl` for a note in the form of the query API."""
    return canonical_json({name: note[name] for name in NOTE_FIELDS})


def read_note_line(line: bytes) -> NoteLine:
    """Reads a line of `notes.jsonl`.  Raises ValueError."""
    try:
        value: Any = parse_json(line)
        if not all(isinstance(value[name], str) for name in ("run", "id", "time")):
            raise ValueError("this is no note: its run, id or time is no text")
        return NoteLine(**{name: value[name] for name in NOTE_FIELDS})
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is no note ({error!r})") from error


NOTE_FIELDS: Final = tuple(note_field.name for note_field in fields(NoteLine))


@dataclass(frozen=True, slots=True)
class ContentLine:
    """A line of `contents.jsonl`. `masked`: the SHA-256, in hex, of the bytes of a content of which a collector has
    masked a part, since the ref is that of the whole; None: it is whole."""

    ref: ContentRef
    media_type: str
    size: int
    masked: str | None = None

    @classmethod
    def of(cls, content: Content) -> "ContentLine":
        """Returns the line of a content."""
        masked = sha256(content.data).hexdigest() if content.is_masked else None
        return cls(content.ref.plain, content.media_type, len(content.data), masked)

    def line(self) -> bytes:
        """Returns the bytes of the line."""
        value: dict[str, Any] = {"ref": self.ref, "media_type": self.media_type, "bytes": self.size}
        return canonical_json(value if self.masked is None else {**value, "masked": self.masked})

    def content(self, data: bytes) -> Content | None:
        """Returns the content with these bytes; None if they are not those that the line names."""
        if self.masked is not None:
            is_it = sha256(data).hexdigest() == self.masked
            return Content.masked(self.ref, data, self.media_type) if is_it else None
        content = Content(data, self.media_type)
        return content if content.ref.digest == self.ref.digest else None


def read_content_line(line: bytes) -> ContentLine:
    """Reads a line of `contents.jsonl`.  Raises ValueError."""
    try:
        value: dict[str, Any] = parse_json(line)
        ref, masked = ContentRef.parse(value["ref"]).plain, value.get("masked")
        return ContentLine(ref, str(value["media_type"]), int(value["bytes"]), None if masked is None else str(masked))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this names no content ({error!r})") from error
