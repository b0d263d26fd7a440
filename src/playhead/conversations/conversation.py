"""A conversation: a list of messages that goes on over runs, processes and machines, saved by revision.

    conv = playhead.conversation("user-7/support", scope="user-7")
    with playhead.run("support", conversation=conv):
        conv.append("user", text)
        answer = client.chat.completions.create(model=m, messages=conv.messages)
        conv.answered(answer)
        conv.save()

Saved is the head: the ref of the thread with all its messages, and a revision. So a save sends what is new, however
long the conversation is.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from playhead.context.context import in_thread
from playhead.conversations.heads import ConversationChange, ConversationHead, ThreadPart, check_name
from playhead.conversations.keeping import conversation_store
from playhead.conversations.messages import (
    StoredMessage,
    message_intake,
    native_messages,
    native_of,
    restored_message,
    stored_canonical,
    stored_message,
)
from playhead.errors import CannotRestore, MaskedContent, PlayheadError
from playhead.kernel.ids import new_run_id
from playhead.model.canonical import Content
from playhead.model.json_value import JsonMapping, JsonValue
from playhead.model.message import Message, read_message, refs_inside
from playhead.model.ref import ContentRef
from playhead.models.apis import APIS, Api, ApiName
from playhead.recording import current_settings
from playhead.wire.operations.runs import RunSummary

_ID_DIGITS = 8


class Conversation:
    """One conversation, as this object has read it, with the messages that were added since. Safe for threads.

    `id`, `scope`: its name. `revision`: how often it was saved, as this object knows; 0: never. `parent`: of a branch,
    id and revision of the conversation that it began as. `is_pending`: the collector does not have it yet.

    Methods raise JournalUnusable if the journal's folder is needed and cannot be used, and ClientError if the collector
    refuses a request as invalid.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the word for it
        scope: str = "",
        api: ApiName = "chat",
        head: ConversationHead | None = None,
        *,
        parent: tuple[str, int] | None = None,
    ) -> None:
        """`head`: as it was saved; None: it is new. Programs call `playhead.conversation`."""
        if api not in APIS:
            raise ValueError(f"conversation(api={api!r}): expected one of {', '.join(APIS)}")
        self.id, self.scope = id, scope
        self.parent = parent if head is None else head.parent
        self._api: Api = APIS[api]
        self._head = head
        self._lock = threading.RLock()
        self._loaded: list[_Said] | None = [] if head is None else None
        """The saved messages; None: not read yet."""
        self._saved: _SavedThread | None = _SavedThread() if head is None else None
        """The same as they are stored; None: not read yet."""
        self._new: list[_UnsavedMessage] = []
        self._may_repeat = False
        """Whether a save may have been made before: by the run that is resumed, or by a call that was interrupted."""

    def __len__(self) -> int:
        """The number of its messages, with those that are not saved yet."""
        with self._lock:
            return self._saved_count() + len(self._new)

    def __repr__(self) -> str:
        """Returns its name, revision and length."""
        return f"<Conversation {self.id} revision {self.revision}, {len(self)} messages>"

    @property
    def revision(self) -> int:
        """How often it was saved, as this object knows; 0: never."""
        return 0 if self._head is None else self._head.revision

    @property
    def head(self) -> ContentRef | None:
        """The ref of the thread that was saved last; None: no message."""
        return None if self._head is None else self._head.head

    @property
    def is_pending(self) -> bool:
        """Whether it was saved in the journal's folder last, since no collector answered."""
        return self._head is not None and self._head.is_pending

    @property
    def unsaved(self) -> int:
        """The number of messages that were added since the last save."""
        return len(self._new)

    # --- messages ----------------------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[Any]:
        """The messages in the form of the API, for its client; for Anthropic and Gemini without the system prompt.

        Raises CannotRestore if a saved message was redacted, or is not stored any more, and CollectorUnreachable if
        the messages have to be read and the collector does not answer."""
        return [*self._api.request(self._natives()).messages]

    @property
    def system(self) -> JsonValue:
        """The system prompt, for APIs that take it apart from the messages; else None."""
        return self._api.request(self._natives()).system

    def append(
        self, message: object, content: JsonValue = None, *, call: str | None = None, name: str | None = None
    ) -> None:
        """Adds a message: in the API's form (a dictionary, or an object of its client), or as role and content:
        `append("user", "Hello")`. For the role `tool`, `call` is the id of the tool call and `name` the tool's name.

        Raises TypeError for anything else."""
        if isinstance(message, str):
            natives = native_of(self._api, message, content, call, name)
        else:
            natives = native_messages(self._api, message)
        self._add(natives)

    def answered(self, response: object) -> None:
        """Adds a model's answer: the client's object, its JSON, or the chunks of a stream in a list. Raises ValueError
        for anything else."""
        answer = self._api.answer(response)
        self._add([piece for native in answer.natives for piece in self._api.cut(native)])

    # --- for agents --------------------------------------------------------------------------------------------------

    @property
    def canonical_messages(self) -> list[Message]:
        """The messages in the form of the record (`role` and `parts`), with the system prompt. Raises as `messages`
        does."""
        with self._lock:
            return [*(said.message for said in self._load()), *(new.said.message for new in self._new)]

    def extend(self, messages: Sequence[Message]) -> None:
        """Adds messages in the form of the record."""
        intake = message_intake()
        with self._lock:
            for message in messages:
                said = _Said(self._api.from_message(message), message)
                self._new.append(_UnsavedMessage(said, stored_canonical(message, intake)))

    @property
    def position(self) -> dict[str, Any]:
        """Where this object stands, as JSON for `return_to`: `revision`, `head` and the number of saved `messages`."""
        with self._lock:
            head = None if self.head is None else str(self.head)
            return {"revision": self.revision, "head": head, "messages": self._saved_count()}

    def return_to(self, position: Mapping[str, Any]) -> None:
        """Takes the conversation back to an earlier position, for a resumed run that has to see the messages that it
        saw before. Unsaved messages stay, after those. A `save` finds that they are stored already, or raises
        ConversationConflict if the conversation went on in another way."""
        with self._lock:
            if position["head"] == self.head and position["revision"] == self.revision:
                return
            self._may_repeat = True
            head = None if position["head"] is None else ContentRef.parse(str(position["head"]))
            before = self._head or ConversationHead(self.id, self.scope, 0, None, 0, self.parent, "", "")
            revision, count = int(position["revision"]), int(position["messages"])
            self._begin_at(replace(before, revision=revision, head=head, messages=count) if revision else None)

    # --- saving ------------------------------------------------------------------------------------------------------

    def save(self) -> int:
        """Saves what is new, and returns the revision. Durable once this returns: at the collector, or in the journal's
        folder while no collector answers (`is_pending`). Does nothing if nothing is new.

        Raises ConversationConflict if another writer has saved it since this object read it. Nothing is lost then: see
        `reload` and `branch`."""
        with self._lock:
            if not self._new and self._head is not None:
                return self._head.revision
            added = self._part(self.head, self._new)
            change = ConversationChange(
                self.id, self.scope, self.revision, self.head, len(self), added, self._whole, self.parent,
                unrepeated=not self._may_repeat,
            )  # fmt: skip
            try:
                saved = conversation_store().save(change)
            except PlayheadError:
                raise
            except BaseException:
                self._may_repeat = True
                raise
            if saved.head == change.added.head:
                self._head = saved
                self._keep_saved()
            else:  # these messages were saved before, and the conversation went on after them
                self._new = []
                self._begin_at(saved)
            return saved.revision

    async def save_async(self) -> int:
        """The same, in another thread: the event loop goes on."""
        return await in_thread(self.save)

    def reload(self, *, discard: bool = False) -> None:
        """Reads the conversation as it was saved last. Messages that were not saved come after those; with `discard`,
        they are dropped. While no collector answers, what this object has read stays, if the folder has no more. Raises
        CollectorUnreachable only later, when messages are read."""
        with self._lock:
            head = conversation_store().read(self.id, self.scope, self._head)
            if head is not None and head.head == self.head:
                self._head = head  # what was read of it still holds
            else:
                self._begin_at(head)
            if self._head is not None:
                self.parent = self._head.parent
            if discard:
                self._new.clear()

    async def reload_async(self, *, discard: bool = False) -> None:
        """The same, in another thread."""
        await in_thread(lambda: self.reload(discard=discard))

    async def load_async(self) -> "Conversation":
        """Reads the messages in another thread, and returns this object: `messages` then asks nobody. Raises as
        `messages` does."""
        await in_thread(lambda: self.messages)
        return self

    def shorten(self, count: int) -> int:
        """Saves the conversation with its first `count` messages alone, without those that were not saved, and returns
        the revision. Raises IndexError if there are not so many, and ConversationConflict as `save` does."""
        with self._lock:
            saved = self._saved_count()
            if not 0 <= count <= saved:
                raise IndexError(f"conversation {self.id} has {saved} saved messages, and not {count}")
            self._new.clear()
            if count == saved:
                return self.revision
            kept = self._thread().first(count)
            added = ThreadPart(kept.head)
            change = ConversationChange(
                self.id, self.scope, self.revision, self.head, count, added, lambda: kept, unrepeated=True
            )
            self._begin_at(conversation_store().save(change))
            return self.revision

    def branch(self, at: int | None = None, *, id: str | None = None) -> "Conversation":  # noqa: A002 - the word for it
        """Saves a branch, and returns it: another conversation that begins with the first `at` messages of this one
        (None: all, with those that are not saved yet). `id`: its name; None: this one's, with a random end.

        Its messages are stored once, with those of this conversation. Raises IndexError if there are not so many
        messages, ConversationConflict if there is a conversation with this id, and ValueError for an id that cannot
        be one."""
        if id is not None:
            check_name(id, self.scope)
        with self._lock:
            count = len(self) if at is None else at
            if not 0 <= count <= len(self):
                raise IndexError(f"conversation {self.id} has {len(self)} messages, and no message {count}")
            saved = self._saved_count()
            new = self._new[: max(0, count - saved)]
            if count < saved or (self.is_pending and count):  # a pending thread is in the file of this one
                base = self._thread().first(min(count, saved))
            else:
                base = ThreadPart(self.head)
            added = ThreadPart(
                base.parent, [*base.messages, *(each.stored.ref for each in new)],
                [*base.contents, *(content for each in new for content in each.stored.contents)],
            )  # fmt: skip
            name = id if id is not None else f"{self.id}/branch-{new_run_id()[:_ID_DIGITS]}"
            parent = (self.id, self.revision)
            change = ConversationChange(name, self.scope, 0, None, count, added, lambda: added, parent)
            head = conversation_store().save(change)
        return Conversation(name, self.scope, self._api.name, head)

    async def branch_async(self, at: int | None = None, *, id: str | None = None) -> "Conversation":  # noqa: A002 - the word for it
        """The same, in another thread."""
        return await in_thread(lambda: self.branch(at, id=id))

    def fork(self, name: str) -> "Conversation":
        """Saves all messages as another conversation with this id, and returns that. See `branch`."""
        return self.branch(id=name)

    def delete(self) -> bool:
        """Deletes the conversation; what no run and no other conversation names is freed by the collector. Returns
        whether there was one. The messages stay in this object, and a `save` begins it anew.

        Raises CollectorUnreachable, and deletes nothing, if the collector does not answer."""
        with self._lock:
            kept: list[_UnsavedMessage] = []
            with suppress(CannotRestore, MaskedContent):  # then it is deleted all the same, and cannot be begun anew
                said = self._load()
                stored = [self._thread().message(ref) for ref in self._thread().refs]
                kept = [*map(_UnsavedMessage, said, stored)]
            deleted = conversation_store().delete(self.id, self.scope)
            self._head, self._loaded, self._saved = None, [], _SavedThread()
            self._new = [*kept, *self._new]
            return deleted

    async def delete_async(self) -> bool:
        """The same, in another thread."""
        return await in_thread(self.delete)

    def runs(self, limit: int = 20) -> list[RunSummary]:
        """Returns the runs of this conversation, newest first: those of the session with its id. Raises
        ClientError."""
        from playhead.client import Client  # noqa: PLC0415 - HTTP

        settings = current_settings()
        with Client(settings.collector, settings.api_key, project=settings.project) as client:
            return [*client.runs(session=self.id, limit=limit)]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _add(self, natives: Sequence[JsonMapping]) -> None:
        intake = message_intake()
        with self._lock:
            for native in natives:
                said = _Said(native, self._api.to_message(native))
                self._new.append(_UnsavedMessage(said, stored_message(self._api, native, intake)))

    def _begin_at(self, head: ConversationHead | None) -> None:
        """Begins with the messages up to this head, which are not read yet."""
        self._head = head
        self._loaded = [] if head is None else None
        self._saved = _SavedThread() if head is None else None

    def _saved_count(self) -> int:
        return 0 if self._head is None else self._head.messages

    def _natives(self) -> list[JsonMapping]:
        with self._lock:
            return [*(said.native for said in self._load()), *(new.said.native for new in self._new)]

    def _load(self) -> "list[_Said]":
        """Returns the saved messages."""
        if self._loaded is None:
            thread = self._thread()
            messages = [restored_message(ref, thread.contents) for ref in thread.refs]
            self._loaded = [_Said(self._api.from_message(message), message) for message in messages]
        return self._loaded

    def _thread(self) -> "_SavedThread":
        """Returns the saved messages as they are stored. Raises CannotRestore and CollectorUnreachable."""
        if self._saved is None:
            threads = conversation_store().threads([] if self.head is None else [self.head], self._head)
            rest, refs = threads.path(self.head)
            if rest is not None:
                raise CannotRestore(f"the messages of conversation {self.id} are not stored any more ({rest})")
            self._saved = _SavedThread(refs, threads.contents)
        return self._saved

    def _keep_saved(self) -> None:
        """After a save: what was new is saved."""
        if self._loaded is not None:
            self._loaded += [new.said for new in self._new]
        if self._saved is not None:
            self._saved.add([new.stored for new in self._new])
        self._new = []

    def _part(self, parent: ContentRef | None, messages: "Sequence[_UnsavedMessage]") -> ThreadPart:
        refs = [new.stored.ref for new in messages]
        return ThreadPart(parent, refs, [content for new in messages for content in new.stored.contents])

    def _whole(self) -> ThreadPart:
        """All messages if they were read, else what is new."""
        if self._saved is None:
            return self._part(self.head, self._new)
        saved, new = self._saved.first(len(self._saved.refs)), self._part(None, self._new)
        return ThreadPart(None, [*saved.messages, *new.messages], [*saved.contents, *new.contents])


@dataclass(frozen=True, slots=True)
class _Said:
    """A message in the form of the API, and in that of the record."""

    native: JsonMapping
    message: Message


@dataclass(frozen=True, slots=True)
class _UnsavedMessage:
    """A message that is not saved yet."""

    said: _Said
    stored: StoredMessage


@dataclass(slots=True)
class _SavedThread:
    """Saved messages, first to last, with their contents and those of their large parts."""

    refs: list[ContentRef] = field(default_factory=list[ContentRef])
    contents: dict[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])

    def add(self, messages: Sequence[StoredMessage]) -> None:
        for message in messages:
            self.refs.append(message.ref)
            self.contents.update({content.ref.plain: content for content in message.contents})

    def message(self, ref: ContentRef) -> StoredMessage:
        own = self.contents[ref]
        inside = refs_inside(read_message(own.data)) if b"playhead.ref" in own.data else []
        return StoredMessage((own, *(self.contents[part.plain] for part in inside)))

    def first(self, count: int) -> ThreadPart:
        refs = self.refs[:count]
        contents = {content.ref.plain: content for ref in dict.fromkeys(refs) for content in self.message(ref).contents}
        return ThreadPart(None, refs, [*contents.values()])


def conversation(id: str, scope: str = "", api: ApiName = "chat") -> Conversation:  # noqa: A002 - the word for it
    """Returns the conversation with this id in this scope as it was saved last, or a new one.

    `id`: up to 500 characters, such as `user-7/support`; the runs of the session with this id are its runs. `scope`:
    whom it belongs to, such as a user or a tenant; two scopes may use one id. `api`: the form of its messages, as of
    `Context`: `chat`, `responses`, `anthropic`, `gemini`, or `canonical`; a conversation that was saved in one form may
    be read in another.

    Raises ValueError and TypeError for a name that cannot be kept.
    """
    check_name(id, scope)
    return Conversation(id, scope, api, conversation_store().read(id, scope))


async def conversation_async(id: str, scope: str = "", api: ApiName = "chat") -> Conversation:  # noqa: A002 - the word for it
    """The same, read with its messages in another thread: the event loop goes on."""
    return await (await in_thread(lambda: conversation(id, scope, api))).load_async()


def list_conversations(scope: str | None = None, limit: int | None = None) -> list[ConversationHead]:
    """Returns conversations without their messages, those that were saved last first: of a scope, or of all (None).
    While no collector answers, those in the journal's folder."""
    return conversation_store().heads(scope, limit)
