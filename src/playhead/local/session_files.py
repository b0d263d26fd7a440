"""`playhead export --local`: the sessions of the journal as JSON Lines, one file each, in a folder of the session's
first day.

Each line is a JSON object with a `type`:

| type | has |
|---|---|
| `run` | the row of the run: name, status, times, counts |
| `event` | an event of a run, as in the API |
| `content` | a content that an event or a message refers to: its `ref`, and `value` (JSON), `text` or `base64` |
| `node` | the last message of a thread: `ref`, `parent` (the thread before it) and `message` |

Each content and each node is written once, before the first event that refers to it, directly or through other lines. A
file that exists gets only the lines that it lacks.
"""

import base64
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from playhead.journal.files import make_private_folder, open_private
from playhead.local.source import JournalSource
from playhead.model.canonical import JSON, Content
from playhead.model.event import event_to_json
from playhead.model.ref import ContentRef
from playhead_collector.store.records.ports import RunProjection

_SUFFIX = ".jsonl"
# Characters that not all file systems allow in a name.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]")
_MOST_NAME = 100
_REF = re.compile(rb"sha256:[0-9a-f]{64}")
_Line = dict[str, Any]


@dataclass(slots=True)
class WrittenSessions:
    """Counts of what was written. `lines`: lines that the files did not have before."""

    sessions: int = 0
    runs: int = 0
    events: int = 0
    lines: int = 0


def write_sessions(source: JournalSource, folder: Path, runs: Iterable[str]) -> WrittenSessions:
    """Writes these runs of the journal to files below `folder`. Raises OSError."""
    written = WrittenSessions()
    by_session: dict[str, list[RunProjection]] = {}
    for run in runs:
        projection = source.projection(run)
        if projection is not None:
            by_session.setdefault(_file_name(projection), []).append(projection)
    for name, projections in sorted(by_session.items()):
        projections.sort(key=lambda projection: projection.row.started_ns)
        written.sessions += 1
        written.runs += len(projections)
        written.events += sum(len(projection.events) for projection in projections)
        written.lines += _append(_path(folder, name, projections[0].row.started_ns), _lines(source, projections))
    return written


def _file_name(projection: RunProjection) -> str:
    session = projection.row.session
    if session is None:
        return f"run-{projection.row.run}{_SUFFIX}"
    name = _NOT_IN_NAMES.sub("_", session)[:_MOST_NAME]
    if name != session or name.startswith((".", "run-")):  # another session may get the same name
        name = f"session-{name}-{sha256(session.encode(errors='replace')).hexdigest()[:8]}"
    return name + _SUFFIX


def _path(folder: Path, name: str, started_ns: int) -> Path:
    """Returns the path of a session's file: the existing file, or one in the folder of the day on which the session
    began."""
    paths = sorted(folder.glob(f"[0-9]*-[0-9]*-[0-9]*/{name}"))
    return paths[0] if paths else folder / datetime.fromtimestamp(started_ns / 1e9, UTC).strftime("%Y-%m-%d") / name


def _lines(source: JournalSource, projections: Iterable[RunProjection]) -> Iterator[_Line]:
    values = _Values(source)
    for projection in projections:
        yield {"type": "run", **asdict(projection.row)}
        for event in projection.events:
            line = event_to_json(event)
            yield from values.of(ContentRef(ref) for ref in _texts(line["refs"]))
            yield {"type": "event", **line}


class _Values:
    """Makes the lines of contents and of threads, each once."""

    def __init__(self, source: JournalSource) -> None:
        self._records = source.records
        self._seen: set[ContentRef] = set()

    def of(self, refs: Iterable[ContentRef]) -> Iterator[_Line]:
        """Yields the lines of these contents and threads, and of all that they refer to, as far as the journal has
        them."""
        wanted = [ref.plain for ref in refs]
        while wanted:
            new = list(dict.fromkeys(ref for ref in wanted if ref not in self._seen))
            self._seen.update(new)
            wanted = list[ContentRef]()
            contents = self._records.contents(new)
            for ref, content in contents.items():
                wanted += _named(content)
                yield _content_line(ref, content)
            for node in self._records.nodes(ref for ref in new if ref not in contents).values():
                wanted.append(node.message)
                yield {"type": "node", "ref": node.ref, "parent": node.parent, "message": node.message}


def _named(content: Content) -> list[ContentRef]:
    """Returns the refs in a message: large parts of a message are stored as contents of their own."""
    if content.media_type != JSON:
        return []
    return [ContentRef(ref.decode()) for ref in _REF.findall(content.data)]


def _content_line(ref: ContentRef, content: Content) -> _Line:
    line: _Line = {"type": "content", "ref": ref, "media_type": content.media_type}
    if content.media_type == JSON:
        with suppress(ValueError):
            return {**line, "value": orjson.loads(content.data)}
    if content.media_type.startswith("text/"):
        with suppress(UnicodeDecodeError):
            return {**line, "text": content.data.decode()}
    return {**line, "base64": base64.b64encode(content.data).decode()}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(item)


def _append(path: Path, lines: Iterable[_Line]) -> int:
    """Adds the lines that the file lacks, and returns their number. Raises OSError."""
    make_private_folder(path.parent)
    with os.fdopen(open_private(path, os.O_RDWR), "r+b") as file:
        has: set[bytes] = set()
        end = 0
        for raw in file:
            if not raw.endswith(b"\n"):  # an export that was interrupted
                break
            end += len(raw)
            with suppress(ValueError, TypeError):
                has.add(_identity(orjson.loads(raw)))
        file.seek(end)
        file.truncate()
        count = 0
        for line in lines:
            identity = _identity(line)
            if identity not in has:
                has.add(identity)
                file.write(orjson.dumps(line) + b"\n")
                count += 1
        return count


def _identity(line: _Line) -> bytes:
    """Returns the identity of a line, to write it once. A `run` line is written again whenever it has changed."""
    if line["type"] == "run":
        return orjson.dumps(line, option=orjson.OPT_SORT_KEYS)
    return orjson.dumps([line["type"], line.get("run"), line.get("id"), line.get("ref")])
