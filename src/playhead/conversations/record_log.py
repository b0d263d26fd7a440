"""A log of records that many processes append to, kept as a conversation is: at the collector, or in the folder.

Who appends has read the head; if another process has moved it, the log is read again, and what to append is worked out
anew. So appends of two machines are in one order, and a reader that folds the records has the same state everywhere.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from playhead.conversations.folder import ThreadContents
from playhead.conversations.heads import ConversationChange, ConversationHead, ThreadPart
from playhead.conversations.keeping import ConversationStore, conversation_store
from playhead.errors import BadRequest, ConversationConflict
from playhead.kernel.forks import ForkSafeLock
from playhead.model.canonical import JSON, Content, canonical_json, parse_json
from playhead.model.json_value import JsonMapping, object_of
from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref

_ATTEMPTS: Final = 50


class RecordFold(Protocol):
    """The state that records make."""

    def apply(self, record: JsonMapping) -> None:
        """Adds a record."""
        ...

    def names(self, ref: ContentRef) -> bool:
        """Whether a record names this content: then it is stored, as long as the log is."""
        ...


F = TypeVar("F", bound=RecordFold)


@dataclass(slots=True)
class Addition:
    """Records to append, and the contents that they name."""

    records: Sequence[JsonMapping] = ()
    contents: Mapping[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])


class RecordLog(Generic[F]):
    """One log, as this process has read it. Safe for threads.

    Methods raise CollectorUnreachable if the collector is needed and does not answer, CannotRestore if the log has
    records that are not stored, JournalUnusable, and ClientError for what the collector refuses as invalid.
    """

    def __init__(self, id: str, scope: str, empty: Callable[[], F]) -> None:  # noqa: A002 - the word for it
        """`empty` makes the state of no records."""
        self.id, self.scope = id, scope
        self._empty = empty
        self._lock = ForkSafeLock()
        self._store: ConversationStore | None = None
        self._head: ConversationHead | None = None
        self._state = empty()

    @property
    def head(self) -> ConversationHead | None:
        """The head, as it was read last; None: there are no records."""
        return self._head

    def read(self) -> F:
        """Returns the state of all records, those of other processes included."""
        with self._lock:
            self._refresh()
            return self._state

    def append(self, make: Callable[[F], Addition]) -> None:
        """Appends what `make` returns for the state. `make` is called again if another process has appended meanwhile.
        Durable once this returns."""
        self._change(make, self._append)

    def rewrite(self, make: Callable[[F], Addition | None]) -> None:
        """Replaces all records by what `make` returns; None: leaves them as they are."""
        self._change(make, self._replace)

    def pending_contents(self) -> Mapping[ContentRef, Content]:
        """Returns the contents of the log that the collector does not have yet, as far as they are in the folder."""
        with self._lock:
            known = ThreadContents()
            if self._head is not None and self._head.is_pending:
                conversation_store().fetch([], known, self._head)
            return known.contents

    def delete(self) -> bool:
        """Deletes the log. Returns whether there was one."""
        with self._lock:
            deleted = conversation_store().delete(self.id, self.scope)
            self._forget()
            return deleted

    # --- inside ------------------------------------------------------------------------------------------------------

    def _change(self, make: Callable[[F], Addition | None], save: Callable[[Addition], None]) -> None:
        with self._lock:
            if self._head is None or conversation_store() is not self._store:
                self._refresh()
            for _ in range(_ATTEMPTS):
                addition = make(self._state)
                if addition is None:
                    return
                try:
                    save(addition)
                except ConversationConflict:
                    self._refresh()
                except BadRequest as error:  # deleted by another process, and swept
                    if error.code != "content_not_stored":
                        raise
                    self._forget()
                    self._refresh()
                else:
                    return
            raise _changing(self.id)

    def _append(self, addition: Addition) -> None:
        if addition.records:
            head = None if self._head is None else self._head.head
            unnamed = [content for ref, content in addition.contents.items() if not self._state.names(ref)]
            self._save(ThreadPart(head, *_contents(addition.records, unnamed)))
            self._apply(addition.records)

    def _replace(self, addition: Addition) -> None:
        self._save(ThreadPart(None, *_contents(addition.records, addition.contents.values())))
        self._state = self._empty()
        self._apply(addition.records)

    def _save(self, added: ThreadPart) -> None:
        before = self._head
        revision, head = (0, None) if before is None else (before.revision, before.head)
        count = len(added.messages) + (0 if before is None or added.parent is None else before.messages)
        change = ConversationChange(self.id, self.scope, revision, head, count, added, lambda: added)
        self._head = conversation_store().save(change)

    def _apply(self, records: Iterable[JsonMapping]) -> None:
        for record in records:
            self._state.apply(record)

    def _forget(self) -> None:
        self._head, self._state = None, self._empty()

    def _refresh(self) -> None:
        """Reads the records that other processes have appended, or all if they have replaced them."""
        store = conversation_store()
        self._store = store
        for _ in range(_ATTEMPTS):
            head = store.read(self.id, self.scope, self._head)
            if head is None and store.is_away:
                return  # with what this process has read, if anything
            if head is None or head.head is None:
                self._forget()
                self._head = head
                return
            if self._goes_on(store, head) or self._begins_anew(store, head):
                self._head = head
                return
        raise _changing(self.id)

    def _goes_on(self, store: ConversationStore, head: ConversationHead) -> bool:
        """Adds the records after those that were read. Returns False if those were replaced."""
        read = self._head
        if read is None or read.head is None or read.messages > head.messages:
            return False
        records = [] if head.head == read.head else store.records(head, read.messages)
        if records is None or _head_of(records, read.head) != head.head:
            return False
        self._apply(object_of(parse_json(record.data)) for record in records)
        return True

    def _begins_anew(self, store: ConversationStore, head: ConversationHead) -> bool:
        """Reads all records. Returns False if they were changed meanwhile."""
        records = store.records(head, 0)
        if records is None or _head_of(records, None) != head.head:
            return False
        self._state = self._empty()
        self._apply(object_of(parse_json(record.data)) for record in records)
        return True


def _head_of(records: Sequence[Content], head: ContentRef | None) -> ContentRef | None:
    for record in records:
        head = node_ref(record.ref.plain, head)
    return head


def _contents(records: Sequence[JsonMapping], named: Iterable[Content]) -> tuple[list[ContentRef], list[Content]]:
    """Returns the refs of the records, and all contents to be stored."""
    stored = [Content(canonical_json(record), JSON) for record in records]
    return [content.ref.plain for content in stored], [*named, *stored]


def _changing(log: str) -> ConversationConflict:
    return ConversationConflict(
        f"{log} could not be read or saved: other processes have saved it {_ATTEMPTS} times meanwhile",
        "conversation_changed",
    )
