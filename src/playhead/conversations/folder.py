"""Conversations in the folder `conversations` of the journal: what the collector does not have (yet).

A conversation is a JSON file with its head, and a file of frames with its contents and threads, both named by a digest
of scope and id. A save appends frames, and then puts a new JSON file in the place of the old one. The JSON file says
how long the other one is, so that what a killed process has appended besides does not count. Processes that save the
same conversation wait for its lock.
"""

import json
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from playhead.conversations.heads import ConversationChange, ConversationHead, ThreadPart, conflict
from playhead.errors import JournalUnusable
from playhead.journal.files import lock_file, make_private_folder, open_private
from playhead.journal.frame import CONTENT, THREAD, content_frame, frames_in, read_content, read_thread, thread_frame
from playhead.kernel.forks import ForkSafeLock
from playhead.model.canonical import Content, canonical_json
from playhead.model.digest import sha256
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend
from playhead.model.times import rfc3339

FOLDER: Final = "conversations"
_VERSION: Final = 1
_LOCK_SECONDS, _TRY_AGAIN_SECONDS = 10.0, 0.002

# The kernel's lock is the process's: threads have this one besides.
_in_process = ForkSafeLock()


@dataclass(frozen=True, slots=True)
class PendingConversation:
    """A conversation in the folder. `base`: the revision that the collector had when the first save went here (0: none
    that this writer knew), and `base_head` the head. `size`: bytes of frames that count."""

    head: ConversationHead
    base: int
    base_head: ContentRef | None
    size: int


@dataclass(slots=True)
class ThreadContents:
    """Contents and thread nodes by ref."""

    contents: dict[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])
    nodes: dict[ContentRef, ThreadNode] = field(default_factory=dict[ContentRef, ThreadNode])

    def add(self, part: ThreadPart) -> None:
        """Adds messages."""
        self.contents.update({content.ref.plain: content for content in part.contents})
        self.nodes.update({node.ref: node for node in extend(part.messages, part.parent)})

    def is_whole(self, head: ContentRef) -> bool:
        """Whether this is a thread, and all its nodes are here."""
        return head in self.nodes and self.path(head)[0] is None

    def path(self, head: ContentRef | None) -> tuple[ContentRef | None, list[ContentRef]]:
        """Returns the refs of the messages up to `head`, first to last, after a thread that is not here (None: all of
        them are)."""
        messages: list[ContentRef] = []
        while head is not None and (node := self.nodes.get(head)) is not None:
            messages.append(node.message)
            head = node.parent
        messages.reverse()
        return head, messages


class ConversationFolder:
    """The conversations in the folder of a journal, which all processes with this journal share. Methods raise
    JournalUnusable."""

    def __init__(self, journal_dir: Path, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.journal_dir = journal_dir
        self._folder = journal_dir / FOLDER
        self._now_ns = now_ns

    def read(self, conversation: str, scope: str) -> PendingConversation | None:
        """Returns a conversation; None: it is not here."""
        return self._read(self._path(conversation, scope))

    def threads(self, pending: PendingConversation) -> ThreadContents:
        """Returns the contents and threads of a conversation."""
        stored = ThreadContents()
        try:
            with self._frames(pending.head).open("rb") as file:
                data = file.read(pending.size)
        except FileNotFoundError:
            return stored
        except OSError as error:
            raise self._unusable(error) from error
        for kind, payload, _ in frames_in(data):
            if kind == CONTENT:
                _, content = read_content(payload)
                stored.contents[content.ref.plain] = content
            elif kind == THREAD:
                part = read_thread(payload)
                stored.nodes.update({node.ref: node for node in extend(part.messages, part.parent)})
        return stored

    def all(self) -> Iterator[PendingConversation]:
        """Yields the conversations that are here."""
        for path in sorted(self._folder.glob("*.json")):
            pending = self._read(path)
            if pending is not None:
                yield pending

    def save(self, change: ConversationChange) -> ConversationHead:
        """Saves a conversation, durably once this returns. Raises ConversationConflict."""
        with self.locked(change.id, change.scope):
            return self.save_locked(change)

    def save_locked(self, change: ConversationChange) -> ConversationHead:
        """The same, for a caller that holds the lock."""
        stored = self.read(change.id, change.scope)
        if stored is not None and (stored.head.revision, stored.head.head) != (change.revision, change.read):
            if not change.unrepeated and self._has(stored, change):
                return stored.head  # sent again
            raise conflict(change.id, stored.head.revision, change.revision)
        now = rfc3339(self._now_ns())
        part = change.added if stored is not None else change.whole()
        head = ConversationHead(
            change.id, change.scope, change.revision + 1, part.head, change.messages,
            change.parent if stored is None else stored.head.parent, now if stored is None else stored.head.created,
            now, is_pending=True,
        )  # fmt: skip
        size = self._append(head, 0 if stored is None else stored.size, part)
        base = (change.revision, change.read) if stored is None else (stored.base, stored.base_head)
        self._replace(PendingConversation(head, *base, size))
        return head

    def delete(self, conversation: str, scope: str) -> bool:
        """Removes a conversation. Returns whether there was one."""
        with self.locked(conversation, scope):
            return self.delete_locked(conversation, scope)

    def delete_locked(self, conversation: str, scope: str) -> bool:
        """The same, for a caller that holds the lock."""
        path = self._path(conversation, scope)
        try:
            was_there = path.exists()
            path.unlink(missing_ok=True)  # first, since without it the frames do not count
            path.with_suffix(".frames").unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from error
        return was_there

    @contextmanager
    def locked(self, conversation: str, scope: str) -> Generator[None]:
        """Holds the lock of a conversation. Raises JournalUnusable if another process holds it for 10 seconds."""
        path, until = self._path(conversation, scope).with_suffix(".lock"), time.monotonic() + _LOCK_SECONDS
        with _in_process:
            try:
                make_private_folder(self._folder)
                while (held := lock_file(path)) is None:
                    if time.monotonic() > until:
                        raise JournalUnusable(f"another process holds the lock of conversation {conversation}: {path}")
                    time.sleep(_TRY_AGAIN_SECONDS)
            except OSError as error:
                raise self._unusable(error) from error
            try:
                yield
            finally:
                held.close()

    def _has(self, stored: PendingConversation, change: ConversationChange) -> bool:
        """Whether this change was saved before, whatever was saved since."""
        is_last = stored.head.head == change.added.head and stored.head.revision == change.revision + 1
        return is_last or (bool(change.added.messages) and change.added.head in self.threads(stored).nodes)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _path(self, conversation: str, scope: str) -> Path:
        name = sha256(json.dumps([scope, conversation]).encode()).hexdigest()[:32]
        return self._folder / f"{name}.json"

    def _frames(self, head: ConversationHead) -> Path:
        return self._path(head.id, head.scope).with_suffix(".frames")

    def _read(self, path: Path) -> PendingConversation | None:
        try:
            return _pending_of(json.loads(path.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise JournalUnusable(f"{path} is damaged ({error!r}): put it elsewhere to go on without it") from error

    def _append(self, head: ConversationHead, size: int, part: ThreadPart) -> int:
        """Appends what is new after the first `size` bytes; returns the new size."""
        frames = [content_frame(content.ref.digest, content.data, content.media_type) for content in part.contents]
        if part.messages:
            frames.append(thread_frame(part.parent, part.messages))
        data = b"".join(frames)
        try:
            with os.fdopen(open_private(self._frames(head), os.O_WRONLY), "wb") as file:
                file.truncate(size)
                file.seek(size)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unusable(error) from error
        return size + len(data)

    def _replace(self, pending: PendingConversation) -> None:
        path = self._path(pending.head.id, pending.head.scope)
        beside = path.with_suffix(f".{os.urandom(8).hex()}")
        try:
            try:
                with os.fdopen(open_private(beside, os.O_WRONLY | os.O_EXCL), "wb") as file:
                    file.write(canonical_json(_json_of(pending)))
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> JournalUnusable:
        return JournalUnusable(
            f"conversations cannot be kept in {self._folder} ({error.strerror or error}): see that it can be written to"
        )


def _json_of(pending: PendingConversation) -> Mapping[str, Any]:
    head = pending.head
    return {
        "version": _VERSION, "id": head.id, "scope": head.scope, "revision": head.revision, "head": head.head,
        "messages": head.messages, "parent": head.parent, "created": head.created, "updated": head.updated,
        "pending": True, "base": pending.base, "base_head": pending.base_head, "bytes": pending.size,
    }  # fmt: skip


def _pending_of(stored: Any) -> PendingConversation:
    fields = cast("dict[str, Any]", stored)
    parent = fields["parent"]
    head = ConversationHead(
        str(fields["id"]), str(fields["scope"]), int(fields["revision"]), _ref(fields["head"]),
        int(fields["messages"]), None if parent is None else (str(parent[0]), int(parent[1])), str(fields["created"]),
        str(fields["updated"]), is_pending=True,
    )  # fmt: skip
    return PendingConversation(head, int(fields["base"]), _ref(fields["base_head"]), int(fields["bytes"]))


def _ref(value: object) -> ContentRef | None:
    return None if value is None else ContentRef.parse(str(value))


def moved(pending: PendingConversation, conversation: str) -> PendingConversation:
    """Returns the same under another id, as a branch of what it began as."""
    head = replace(pending.head, id=conversation, parent=(pending.head.id, pending.base))
    return replace(pending, head=head)
