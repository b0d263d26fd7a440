"""`playhead forget --local`: erases runs and conversations from this machine's journal.

Records of the runs are overwritten where they are, with contents and threads that no other run of the journal names.
Left alone is what is not delivered yet, since the collector is to have it first, and what a living process has
recorded, which believes that its contents are here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypedDict, cast

import orjson

from playhead.conversations.folder import ConversationFolder
from playhead.conversations.heads import ConversationHead
from playhead.export.dead_letters import dead_letters
from playhead.journal.erasing import filler, overwrite, shortened
from playhead.journal.frame import (
    ANNOUNCEMENT,
    CONTENT,
    HEADER_BYTES,
    LOG,
    SPAN,
    THREAD,
    read_content,
    read_thread,
    readable_frames,
)
from playhead.journal.index import database
from playhead.journal.index.updating import run_in
from playhead.journal.lane import LaneReader, Position, is_of_newer_format, lanes, lock_dead_lane
from playhead.model import names
from playhead.model.thread import extend
from playhead.wire.operations.conversations import GRAPH_THREAD_ID_PREFIX

_REF: Final = re.compile(rb"sha256:([0-9a-f]{64})")
_RECORDS: Final = (SPAN, ANNOUNCEMENT, LOG)

By = Literal["run", "session", "user", "scope"]


class ErasedFromJournal(TypedDict):
    """What was erased: runs, records (spans, announcements, log events), contents with threads, bytes; conversations
    that waited here; files of refused records. `not_delivered`: lanes of which a part stays."""

    runs: int
    records: int
    contents: int
    bytes: int
    conversations: int
    dead_letters: int
    not_delivered: list[str]


@dataclass(slots=True)
class _FrameInLane:
    """A frame of a lane: where it is, what it is, and what it names."""

    segment: Path
    end: int
    size: int
    kind: bytes
    run: bytes | None = None
    own: tuple[bytes, ...] = ()
    """Digests of the content, or of the nodes of the thread."""
    named: Mapping[bytes, frozenset[bytes]] = field(default_factory=dict[bytes, frozenset[bytes]])
    """What each of `own` names; of a record, under an empty digest."""
    thread: bytes = b""
    """The payload of a thread."""
    is_delivered: bool = False


@dataclass(slots=True)
class _JournalContents:
    """All frames of the journal; users and sessions that the records of each run name; the runs to be forgotten."""

    frames: list[_FrameInLane] = field(default_factory=list[_FrameInLane])
    users: dict[bytes, set[str]] = field(default_factory=dict[bytes, set[str]])
    sessions: dict[bytes, set[str]] = field(default_factory=dict[bytes, set[str]])
    runs: set[bytes] = field(default_factory=set[bytes])

    def of_user(self, user: str) -> set[bytes]:
        """Returns the runs that name the user, and those without a user in sessions that no other user has."""
        runs = {run for run, users in self.users.items() if user in users}
        of_others = {run for run, users in self.users.items() if users - {user}}
        mine = {session for run in runs for session in self.sessions.get(run, ())}
        mine -= {session for run in of_others for session in self.sessions.get(run, ())}
        return runs | {run for run, sessions in self.sessions.items() if run not in self.users and sessions & mine}

    def of_sessions(self, wanted: set[str]) -> set[bytes]:
        """Returns the runs of these sessions."""
        return {run for run, sessions in self.sessions.items() if sessions & wanted}


def erase_from_journal(journal_dir: Path, by: By, value: str, *, dry_run: bool = False) -> ErasedFromJournal:
    """Erases a run, or all that a session, a user or a scope has in this folder. Raises OSError."""
    pending = [each.head for each in ConversationFolder(journal_dir).all()]
    sessions = {value} if by == "session" else set[str]()
    if by == "scope":
        of_others = {head.id for head in pending if head.scope != value}
        sessions = {head.id.removeprefix(GRAPH_THREAD_ID_PREFIX) for head in pending if head.scope == value} - of_others
    with ExitStack() as locks:
        journal = _read(journal_dir, locks)
        match by:
            case "run":
                journal.runs = {bytes.fromhex(value)}
            case "user":
                journal.runs = journal.of_user(value)
            case _:
                journal.runs = journal.of_sessions(sessions)
        return _erase(journal_dir, journal, pending, by, value, dry_run=dry_run)


def _erase(
    journal_dir: Path, journal: _JournalContents, pending: list[ConversationHead], by: By, value: str, *, dry_run: bool
) -> ErasedFromJournal:
    gone = _to_erase(journal)
    left = sorted({str(each.segment.parent) for each, _ in gone if not each.is_delivered})
    to_erase = [(each, replacement) for each, replacement in gone if each.is_delivered]
    erasable = [each for each, _ in to_erase]
    folders = [
        head for head in pending
        if (by in ("scope", "user") and head.scope == value)
        or (by == "session" and head.id in (value, GRAPH_THREAD_ID_PREFIX + value))
    ]  # fmt: skip
    letters = [path for path in dead_letters(journal_dir) if _names_any(path, journal.runs)]
    if not dry_run:
        _overwrite(to_erase)
        for head in folders:
            ConversationFolder(journal_dir).delete(head.id, head.scope)
        for path in letters:
            path.unlink(missing_ok=True)
        database.remove(journal_dir)  # it is made again from what is left
    return {
        "runs": len({each.run for each in erasable if each.run is not None}),
        "records": sum(each.kind in _RECORDS for each in erasable),
        "contents": sum(each.kind not in _RECORDS for each in erasable),
        "bytes": sum(each.size for each in erasable),
        "conversations": len(folders),
        "dead_letters": len(letters),
        "not_delivered": left,
    }


def _read(journal_dir: Path, locks: ExitStack) -> _JournalContents:
    """Reads all lanes. Those of dead processes are locked, so that nobody delivers or deletes them meanwhile."""
    journal = _JournalContents()
    for path in lanes(journal_dir):
        if is_of_newer_format(path):
            continue
        lane = LaneReader(path)
        lock = lock_dead_lane(path)
        if lock is not None:
            locks.callback(lock.close)
        released = Position(0, 0) if lock is None else lane.released()
        for number in lane.segments():
            segment = lane.segment_path(number)
            for kind, payload, end in readable_frames(segment.read_bytes()):
                made = _frame(segment, kind, payload, end)
                if made is None:
                    continue
                made.is_delivered = Position(number, end) <= released
                journal.frames.append(made)
                if made.run is not None:
                    _add_values(journal.users, made.run, payload, names.USER)
                    _add_values(journal.sessions, made.run, payload, names.CONVERSATION)
    return journal


def _frame(segment: Path, kind: bytes, payload: bytes, end: int) -> _FrameInLane | None:
    made = _FrameInLane(segment, end, len(payload), kind)
    if kind == CONTENT:
        digest, content = read_content(payload)
        made.own, made.named = (digest,), {digest: _refs_in(content.data)}
    elif kind == THREAD:
        extension = read_thread(payload)
        nodes = list(extend(extension.messages, extension.parent))
        made.own = tuple(node.ref.digest for node in nodes)
        made.named = {
            node.ref.digest: frozenset(ref.digest for ref in (node.message, node.parent) if ref is not None)
            for node in nodes
        }
        made.thread = payload
    elif kind in _RECORDS:
        made.run, made.named = run_in(kind, payload), {b"": _refs_in(payload)}
    else:
        return None
    return made


def _to_erase(journal: _JournalContents) -> list[tuple[_FrameInLane, bytes]]:
    """The records of the runs, and of the lanes with these the contents and threads that no other record names: also
    those that nothing names, as what a program recorded of a call that it did not end. Each with what takes its
    place."""
    named: dict[bytes, set[bytes]] = {}
    for each in journal.frames:
        for digest in each.own:
            named.setdefault(digest, set()).update(each.named[digest])
    records = [each for each in journal.frames if each.kind in _RECORDS]
    forgotten = [each for each in records if each.run in journal.runs]
    kept = _reached((each for each in records if each.run not in journal.runs), named)
    reached = _reached(forgotten, named)
    of_them = {each.segment.parent for each in forgotten}
    gone = [(each, filler(each.size)) for each in forgotten]
    for each in journal.frames:
        rest = sum(
            digest in kept for digest in each.own
        )  # of a thread: its first nodes, since each names the one before
        if rest == len(each.own) or not (each.segment.parent in of_them or reached & {*each.own}):
            continue
        gone.append((each, shortened(each.thread, rest) if rest else filler(each.size)))
    return gone


def _reached(frames: Iterable[_FrameInLane], named: Mapping[bytes, set[bytes]]) -> set[bytes]:
    todo = {digest for each in frames for digest in each.named[b""]}
    known: set[bytes] = set()
    while todo:
        digest = todo.pop()
        known.add(digest)
        todo |= named.get(digest, set()) - known
    return known


def _overwrite(gone: Iterable[tuple[_FrameInLane, bytes]]) -> None:
    by_segment: dict[Path, list[tuple[int, bytes]]] = {}
    for each, replacement in gone:
        by_segment.setdefault(each.segment, []).append((each.end - each.size - HEADER_BYTES, replacement))
    for segment, replacements in by_segment.items():
        overwrite(segment, replacements)


def _add_values(values: dict[bytes, set[str]], run: bytes, payload: bytes, attribute: str) -> None:
    """Adds the values that a record's attributes, or its resource's, have under this name."""
    if attribute.encode() not in payload:
        return
    found = {str(each[attribute]) for each in _objects(orjson.loads(payload)) if each.get(attribute) is not None}
    if found:
        values.setdefault(run, set()).update(found)


def _objects(record: Any) -> Iterator[dict[str, Any]]:
    for value in cast(list[Any], record) if isinstance(record, list) else ():
        if isinstance(value, dict):
            yield cast(dict[str, Any], value)


def _refs_in(text: bytes) -> frozenset[bytes]:
    return frozenset(bytes.fromhex(match[1].decode()) for match in _REF.finditer(text))


def _names_any(path: Path, runs: set[bytes]) -> bool:
    text = path.read_bytes()
    return any(run.hex().encode() in text for run in runs)
