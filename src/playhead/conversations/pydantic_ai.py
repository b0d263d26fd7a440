"""pydantic-ai: a store of its conversations that keeps them as conversations of Playhead.

    from playhead.conversations.pydantic_ai import PlayheadConversationStore

    store = PlayheadConversationStore()
    conversation = await store.load("user-7") or Conversation(conversation_id="user-7")
    result = await agent.run("Hello", conversation=conversation)
    await store.save(result)

The thread of a conversation has a message for each entry, and the framework's record as its last one. A branch that
the conversation has left is kept as a conversation of its own, `ID#ENTRY`.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, cast

try:
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
except ImportError as error:
    raise ImportError(
        "playhead.conversations.pydantic_ai needs a pydantic-ai with conversation stores: "
        "pip install -U pydantic-ai-slim"
    ) from error

from pydantic import TypeAdapter

from playhead.context.context import in_thread
from playhead.conversations.heads import ConversationChange, ConversationHead, ThreadPart
from playhead.conversations.keeping import conversation_store
from playhead.conversations.messages import StoredMessage, message_intake, restored_message, stored_canonical
from playhead.errors import CollectorUnreachable
from playhead.errors import ConversationConflict as RevisionConflict
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref

_RECORD: Final = TypeAdapter(ConversationRecord)
_ENTRY_PART: Final = "pydantic_ai.entry"
_RECORD_PART: Final = "pydantic_ai.record"
_BETWEEN: Final = "#"


@dataclass(frozen=True, slots=True)
class _KeptEntry:
    """An entry as it is stored."""

    entry: ConversationEntry
    stored: StoredMessage


@dataclass(frozen=True, slots=True)
class _KeptConversation:
    """A conversation as it was read or saved last."""

    head: ConversationHead
    record: ConversationRecord
    entries: Sequence[_KeptEntry]


class PlayheadConversationStore(ConversationStore):
    """Keeps conversations at the collector while it answers, else in the journal's folder. Safe for tasks and threads.

    `namespace`: the scope of Playhead's conversations, if several stores use the same ids. The framework's own scope of
    a conversation stands in its record. Methods raise what `playhead.conversation` raises, and what the framework's
    protocol says.
    """

    def __init__(self, namespace: str = "pydantic-ai") -> None:
        self._playhead = _KeptConversations(namespace)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Returns the record of a conversation; None: there is none."""

        def read() -> ConversationRecord | None:
            kept = self._playhead.read(conversation_id)
            return None if kept is None else _RECORD.validate_python(_RECORD.dump_python(kept.record))

        return await in_thread(read)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Returns the records, those that were saved last first."""
        return await in_thread(lambda: self._playhead.records(scope, limit))

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Stores a record with its new entries, or nothing of them. Raises the framework's ConversationConflict."""
        await in_thread(lambda: self._playhead.write(record, new_entries, expected_revision))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Deletes a conversation with the branches that it has left; entries that no other one has are freed. Raises
        the framework's ConversationConflict."""
        await in_thread(lambda: self._playhead.delete(conversation_id, expected_revision))

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Returns an entry. Raises LookupError if no conversation of this store has it."""
        return (await in_thread(lambda: self._playhead.history(entry_id)))[-1].entry

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Returns the entries up to this one, or the last `limit` of them. Raises LookupError."""
        if head_id is None:
            return []
        history = await in_thread(lambda: self._playhead.history(head_id))
        first = 0 if limit is None else max(0, len(history) - limit)
        return [_copied(kept.entry) for kept in history[first:]]


class _KeptConversations:
    """The framework's conversations as those of Playhead, in one scope."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._lock = threading.RLock()
        self._known: dict[str, _KeptConversation] = {}
        """By the id at Playhead; with branches."""

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, name: str) -> _KeptConversation | None:
        """Returns a conversation, or a branch that one has left; None: there is none."""
        with self._lock:
            known = self._known.get(name)
        head = conversation_store().read(name, self._namespace, None if known is None else known.head)
        with self._lock:
            known = self._known.get(name)
            if head is None or head.head is None:
                self._known.pop(name, None)
                return None
            if known is None or known.head.head != head.head:
                known = _kept_of(head, conversation_store().threads([head.head], head))
            self._known[name] = known = replace(known, head=head)
            return known

    def records(self, scope: str | None, limit: int | None) -> list[ConversationRecord]:
        """Returns the records, those that were saved last first."""
        store = conversation_store()
        records: list[ConversationRecord] = []
        for head in store.heads(self._namespace, None):
            if head.head is None or _BETWEEN in head.id:
                continue
            threads = store.threads([head.head], head, last=1)
            record = _record_of(restored_message(threads.path(head.head)[1][-1], threads.contents), head)
            if scope in (None, record.scope):
                records.append(record)
        return sorted(records, key=lambda record: record.updated_at, reverse=True)[:limit]

    def history(self, entry_id: str) -> Sequence[_KeptEntry]:
        """Returns the entries up to this one. Looks into all conversations if those that were used do not have it."""
        found = self._known_history(entry_id)
        if found is None:
            for head in conversation_store().heads(self._namespace, None):
                self.read(head.id)
            found = self._known_history(entry_id)
        if found is None:
            raise LookupError(f"no conversation has an entry {entry_id!r}")
        return found

    def _known_history(self, entry_id: str) -> Sequence[_KeptEntry] | None:
        with self._lock:
            for kept in self._known.values():
                for at in range(len(kept.entries) - 1, -1, -1):
                    if kept.entries[at].entry.id == entry_id:
                        return kept.entries[: at + 1]
            branches = [
                f"{name}{_BETWEEN}{entry_id}" for name, kept in self._known.items() if entry_id in kept.record.branches
            ]
        read = next((kept for name in branches if (kept := self.read(name)) is not None), None)
        return None if read is None else read.entries

    # --- writing -----------------------------------------------------------------------------------------------------

    def write(
        self, record: ConversationRecord, new_entries: Sequence[ConversationEntry], expected_revision: str | None
    ) -> None:
        """Saves the branches that a conversation leaves, and then the conversation."""
        with self._lock:
            current = self._expected(record.conversation_id, expected_revision)
            after = new_entries[0].parent_id if new_entries else record.head_id
            try:
                before: Sequence[_KeptEntry] = [] if after is None else self.history(after)
                left = {tip: self.history(tip) for tip in record.branches}
            except LookupError as error:
                raise ConversationConflict(record.conversation_id) from error
            entries = [*before, *map(_kept_entry, new_entries)]
            old = [] if current is None else current.record.branches
            for tip in set(record.branches).difference(old):
                name = f"{record.conversation_id}{_BETWEEN}{tip}"
                self._save(name, None, replace(record, head_id=tip, branches=[]), left[tip], len(left[tip]))
            self._save(record.conversation_id, current, record, entries, len(before))
            for tip in set(old).difference(record.branches):
                with suppress(CollectorUnreachable):  # then it stays until the conversation is deleted
                    self._forget(f"{record.conversation_id}{_BETWEEN}{tip}")

    def _save(
        self,
        name: str,
        current: _KeptConversation | None,
        record: ConversationRecord,
        entries: Sequence[_KeptEntry],
        stored: int,
    ) -> None:
        """Saves a conversation of whose entries the first `stored` are stored."""
        last = _stored({"role": "system", "parts": [{"type": _RECORD_PART, "record": _plain(_RECORD, record)}]})
        messages = [*(kept.stored for kept in entries), last]
        head = None if current is None else current.head
        change = ConversationChange(
            name, self._namespace, 0 if head is None else head.revision, None if head is None else head.head,
            len(messages), _part(messages, stored), lambda: _part(messages, 0),
        )  # fmt: skip
        try:
            saved = conversation_store().save(change)
        except RevisionConflict as error:
            raise ConversationConflict(record.conversation_id) from error
        self._known[name] = _KeptConversation(saved, record, entries)

    def delete(self, conversation_id: str, expected_revision: str) -> None:
        """Deletes a conversation with its branches."""
        with self._lock:
            current = self._expected(conversation_id, expected_revision)
            if current is None:
                raise ConversationConflict(conversation_id)
            if conversation_store().is_away:
                raise CollectorUnreachable(
                    f"the collector, which may have the conversation {conversation_id}, does not answer: nothing was "
                    "deleted. Try again when it does"
                )
            for tip in current.record.branches:
                self._forget(f"{conversation_id}{_BETWEEN}{tip}")
            head, nothing = current.head, ThreadPart(None)
            change = ConversationChange(
                conversation_id, self._namespace, head.revision, head.head, 0, nothing, lambda: nothing, unrepeated=True
            )
            try:
                conversation_store().save(change)  # by revision, which a deletion is not
            except RevisionConflict as error:
                raise ConversationConflict(conversation_id) from error
            self._forget(conversation_id)

    def _forget(self, name: str) -> None:
        conversation_store().delete(name, self._namespace)
        self._known.pop(name, None)

    def _expected(self, conversation_id: str, revision: str | None) -> _KeptConversation | None:
        current = self.read(conversation_id)
        if (None if current is None else current.record.revision) != revision:
            raise ConversationConflict(conversation_id)
        return current


# --- messages: pure, but for the program's redaction hook -------------------------------------------------------------


def _stored(message: Message) -> StoredMessage:
    return stored_canonical(message, message_intake())


def _part(messages: Sequence[StoredMessage], first: int) -> ThreadPart:
    """Returns the messages from the given one on."""
    parent: ContentRef | None = None
    for message in messages[:first]:
        parent = node_ref(message.ref, parent)
    rest = messages[first:]
    return ThreadPart(
        parent, [message.ref for message in rest], [content for message in rest for content in message.contents]
    )


def _kept_entry(entry: ConversationEntry) -> _KeptEntry:
    [message] = _plain(ModelMessagesTypeAdapter, [entry.message])
    part = {"type": _ENTRY_PART, "id": entry.id, "parent_id": entry.parent_id, "message": message}
    role = "assistant" if isinstance(entry.message, ModelResponse) else "user"
    return _KeptEntry(_copied(entry), _stored({"role": role, "parts": [part]}))


def _copied(entry: ConversationEntry) -> ConversationEntry:
    [message] = ModelMessagesTypeAdapter.validate_python(_plain(ModelMessagesTypeAdapter, [entry.message]))
    return replace(entry, message=message)


def _plain(adapter: TypeAdapter[Any], value: object) -> Any:
    return adapter.dump_python(value, mode="json")


def _kept_of(head: ConversationHead, threads: Any) -> _KeptConversation:
    *refs, last = threads.path(head.head)[1]
    record = _record_of(restored_message(last, threads.contents), head)
    return _KeptConversation(head, record, [_entry_of(restored_message(ref, threads.contents)) for ref in refs])


def _entry_of(message: Message) -> _KeptEntry:
    part = _part_of(message, _ENTRY_PART)
    [native] = ModelMessagesTypeAdapter.validate_python([part["message"]])
    return _KeptEntry(ConversationEntry(id=part["id"], parent_id=part["parent_id"], message=native), _stored(message))


def _record_of(message: Message, head: ConversationHead) -> ConversationRecord:
    record = _RECORD.validate_python(_part_of(message, _RECORD_PART)["record"])
    # What became a branch over an outage has another id than its record.
    return record if _BETWEEN in head.id else replace(record, conversation_id=head.id)


def _part_of(message: Message, kind: str) -> Mapping[str, Any]:
    part = message["parts"][0]
    if part.get("type") != kind:
        raise LookupError("this conversation was not saved by pydantic-ai: give the store a namespace of its own")
    return cast("Mapping[str, Any]", part)
