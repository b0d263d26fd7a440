"""Where notes are kept: at the collector while it answers, else in the journal's folder, as pending.

At the collector, the notes of a scope are a thread of one message each, with a revision, as a conversation has it. A
change is made of the notes as they are there; if another writer was faster, it is made again. What is pending is merged
with the notes at the collector when that answers again.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from playhead.conversations.folder import ThreadContents
from playhead.conversations.heads import ThreadPart
from playhead.conversations.merged_notes import merged_notes
from playhead.conversations.messages import message_intake, restored_message
from playhead.errors import BadRequest, CannotRestore, ClientError, Conflict, NotFound
from playhead.journal.notes import NoteFile, PendingNotes
from playhead.model.digest import sha256
from playhead.model.json_value import Json
from playhead.model.message import Message, message_contents
from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref
from playhead.wire.operations.conversations import LONGEST_SCOPE, NOTES_ID

if TYPE_CHECKING:
    from playhead.client import Client

log = logging.getLogger("playhead")
T = TypeVar("T")

# Writers on other machines that change the same scope at the same time.
_MOST_TRIES: Final = 100
_PART: Final = "note"


class AskCollector(Protocol):
    """Asks the collector, if there is one and it answers."""

    def __call__(self, question: "Callable[[Client], T]", /) -> T | None:
        """Returns the answer; None: it does not answer now. Raises ClientError for what it refuses."""
        ...


@dataclass(frozen=True, slots=True)
class _AtCollector:
    """Notes as the collector has them."""

    revision: int = 0
    head: ContentRef | None = None
    refs: Sequence[ContentRef] = ()
    notes: list[Json] = field(default_factory=list[Json])


class KeptNotes:
    """Keeps the notes of all scopes. Safe for threads. Methods raise JournalUnusable, and ClientError for what the
    collector refuses as invalid."""

    def __init__(self, journal_dir: Path, ask: AskCollector) -> None:
        self._journal_dir = journal_dir
        self._ask = ask
        self._known: dict[str, _AtCollector] = {}
        """By scope, what was read of the collector last."""

    def read(self, scope: str) -> list[Json]:
        """Returns the notes, the one that was stored last as the last: those of the collector; while it does not
        answer, those in the folder, or those that this process has read before."""
        file = NoteFile(self._journal_dir, scope)

        def ask(client: "Client") -> _AtCollector:
            if not file.exists():
                return self._read_at(client, scope)
            with file.locked():
                return self._delivered(client, file)

        found = self._ask(ask)
        if found is not None:
            return found.notes
        pending = file.read()
        return self._known.get(scope, _AtCollector()).notes if pending is None else pending.notes

    def change(self, scope: str, change: Callable[[list[Json]], list[Json]]) -> None:
        """Replaces the notes by what the function makes of them, durably once this returns. The function is called
        again if another writer was faster. Raises what the function raises."""
        file = NoteFile(self._journal_dir, scope)
        with file.locked():
            if not self._ask(lambda client: self._change_at(client, file, change)):
                here = file.read()
                base = self._known.get(scope, _AtCollector()).notes if here is None else here.base
                notes = change([*(base if here is None else here.notes)])
                file.replace_locked(PendingNotes(notes, base))

    def redacted(self, note: Json) -> Json:
        """Returns the note after the program's redaction hook."""
        intake = message_intake()
        redacted: object = intake.redacted(note) if intake.redacts else note
        return cast(Json, redacted) if isinstance(redacted, dict) else {**note, "text": str(redacted)}

    def deliver(self) -> bool:
        """Brings to the collector what is pending in the folder. Returns whether nothing is left there."""
        for file in NoteFile.all(self._journal_dir):
            try:
                self._ask(lambda client, file=file: self._deliver_one(client, file))
            except ClientError as error:  # the others are brought all the same
                log.warning("the notes of %r stay in the journal's folder: %s", file.scope, error)
        return next(NoteFile.all(self._journal_dir), None) is None

    # --- at the collector --------------------------------------------------------------------------------------------

    def _deliver_one(self, client: "Client", file: NoteFile) -> None:
        with file.locked():
            self._delivered(client, file)

    def _delivered(self, client: "Client", file: NoteFile) -> _AtCollector:
        """Merges what is pending with the notes at the collector, and returns these. The caller holds the lock."""
        pending = file.read()
        if pending is None:
            return self._read_at(client, file.scope)
        disputed: list[tuple[str, str]] = []

        def merge(theirs: list[Json]) -> list[Json]:
            merged = merged_notes(pending.base, pending.notes, theirs)
            disputed[:] = merged.disputed
            return merged.notes

        self._replace_at(client, file.scope, merge)
        file.remove_locked()
        if disputed:
            log.warning(
                "another machine has changed notes of %r that were changed here while no collector answered: both "
                "versions are kept, also of %s",
                file.scope, ", ".join(" ".join(key) for key in disputed),
            )  # fmt: skip
        return self._known[file.scope]

    def _change_at(self, client: "Client", file: NoteFile, change: Callable[[list[Json]], list[Json]]) -> bool:
        self._delivered(client, file)
        self._replace_at(client, file.scope, change)
        return True

    def _replace_at(self, client: "Client", scope: str, change: Callable[[list[Json]], list[Json]]) -> None:
        for _ in range(_MOST_TRIES):
            current = self._read_at(client, scope)
            notes = change([*current.notes])
            if notes == current.notes:
                return
            try:
                self._known[scope] = _saved(client, scope, current, notes)
            except (Conflict, NotFound):  # another writer was faster
                continue
            return
        raise Conflict(f"the notes of {scope!r} are changed by others all the time: try again", "notes_changed")

    def _read_at(self, client: "Client", scope: str) -> _AtCollector:
        from playhead.conversations.at_collector import head_at, stored_threads  # noqa: PLC0415 - HTTP

        head = head_at(client, NOTES_ID, _stored_scope(scope))
        known = self._known.get(scope)
        if head is None or head.head is None:
            current = _AtCollector(0 if head is None else head.revision)
        elif known is not None and known.head == head.head:
            current = _AtCollector(head.revision, head.head, known.refs, known.notes)
        else:
            threads = stored_threads(client, [head.head], ThreadContents())
            refs = threads.path(head.head)[1]
            notes = [_note_of(restored_message(ref, threads.contents)) for ref in refs]
            current = _AtCollector(head.revision, head.head, refs, notes)
        self._known[scope] = current
        return current


def _saved(client: "Client", scope: str, current: _AtCollector, notes: list[Json]) -> _AtCollector:
    """Saves the notes by revision. Raises Conflict, and NotFound if they were deleted meanwhile."""
    from playhead.conversations.at_collector import head_of, upload  # noqa: PLC0415 - see above

    contents = [message_contents(_message_of(note)) for note in notes]
    refs = [own[0].ref.plain for own in contents]
    same = next((at for at, pair in enumerate(zip(refs, current.refs, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(refs), len(current.refs)) if same is None else same
    stored, parent = set(current.refs), None
    for ref in refs[:same]:
        parent = node_ref(ref, parent)
    new = [content for own in contents if own[0].ref.plain not in stored for content in own]
    part = ThreadPart(parent, refs[same:], new)

    def put(part: ThreadPart) -> _AtCollector:
        upload(client, [part])
        saved = head_of(
            client.save_conversation(
                NOTES_ID, part.head, revision=current.revision, scope=_stored_scope(scope), previous_head=current.head
            )
        )
        return _AtCollector(saved.revision, saved.head, refs, notes)

    try:
        return put(part)
    except BadRequest as error:  # the thread that these follow was deleted
        if error.code != "thread_not_stored" or part.parent is None:
            raise
        return put(ThreadPart(None, refs, [content for own in contents for content in own]))


def _stored_scope(scope: str) -> str:
    """Returns the scope as the collector can have it: a digest of one that is too long, or is no text of Postgres."""
    data = scope.encode("utf-8", "surrogatepass")
    is_text = "\0" not in scope and data.decode("utf-8", "replace") == scope
    return scope if is_text and len(scope) <= LONGEST_SCOPE else f"sha256:{sha256(data).hexdigest()}"


def _message_of(note: Json) -> Message:
    return {"role": "note", "parts": [{"type": _PART, "note": note}]}


def _note_of(message: Message) -> Json:
    part: dict[str, Any] = {**message["parts"][0]}
    note: object = part.get(_PART)
    if not isinstance(note, dict):
        raise CannotRestore(f"a message of the notes is no note: {part.get('type')}")
    return cast(Json, note)
