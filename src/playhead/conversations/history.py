"""A history of messages that goes through queues and engines by reference: about 100 bytes instead of the whole list.

    h = playhead.History(messages, scope="workspace/flow")
    h.persist()
    queue.put(json.dumps(h.to_json()))      # {"playhead.thread": "sha256:...", "n": 42, "scope": ...}

    h = playhead.History.load(json.loads(queue.get()))
    h.call(lambda messages: client.chat.completions.create(model=m, messages=messages))

A ref leaves the process only after the collector has acknowledged the messages; without one, the JSON is the list.
"""

import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self, TypeVar, cast

from playhead.context import Compression, Context
from playhead.context.context import in_thread
from playhead.context.entries import Entry
from playhead.conversations.folder import ThreadContents
from playhead.conversations.heads import ThreadPart
from playhead.conversations.keeping import conversation_store
from playhead.conversations.messages import message_intake, native_messages, native_of, restored_message, stored_message
from playhead.kernel.guard import warn_once
from playhead.model.json_value import JsonMapping, JsonValue
from playhead.model.ref import ContentRef, NotARef
from playhead.models.apis import APIS, Api, ApiName

T = TypeVar("T")

THREAD_KEY: Final = "playhead.thread"
_COUNT_KEY, _SCOPE_KEY, _MORE_KEY = "n", "scope", "more"


class History(Sequence[Entry]):
    """Messages that a workflow hands on. Safe for threads.

    `messages`: in the form of the API `api` (see `playhead.conversation`). `scope`: whose they are, such as a workspace
    and a flow: what was persisted is deleted by it, or one by one (`delete`).
    """

    def __init__(self, messages: Iterable[object] = (), *, scope: str = "", api: ApiName = "chat") -> None:
        if api not in APIS:
            raise ValueError(f"History(api={api!r}): expected one of {', '.join(APIS)}")
        self.scope = scope
        self._api: Api = APIS[api]
        self._lock = threading.RLock()
        self._head: ContentRef | None = None
        self._count = 0
        self._loaded: list[JsonMapping] | None = []
        """The persisted messages; None: not read yet."""
        self._new: list[JsonMapping] = []
        for message in messages:
            self._new += native_messages(self._api, message)

    @classmethod
    def load(cls, value: object, *, scope: str = "", api: ApiName = "chat") -> Self:
        """Returns the history of what `to_json` returned, or of a list of messages as programs have handed them on
        before. Reads nothing yet. Raises TypeError for anything else."""
        if isinstance(value, Mapping) and THREAD_KEY in value:
            return cls._of_ref(cast("Mapping[str, Any]", value), api)
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return cls(cast("Sequence[object]", value), scope=scope, api=api)
        kind = type(cast(object, value)).__name__
        raise TypeError(
            f"expected a list of messages, or an object with {THREAD_KEY!r}, and got {kind}: give what "
            "History.to_json() returned"
        )

    @classmethod
    def _of_ref(cls, value: Mapping[str, Any], api: ApiName) -> Self:
        count: Any = value.get(_COUNT_KEY)
        more = cast(object, value.get(_MORE_KEY) or ())
        # Some engines make floats of all numbers.
        if type(count) not in (int, float) or count < 1 or count % 1:
            raise TypeError(f"this is no history: {_COUNT_KEY!r} is {count!r}, and not the number of its messages")
        if isinstance(more, str | bytes | Mapping) or not isinstance(more, Sequence):
            kind = type(cast(object, more)).__name__
            raise TypeError(f"this is no history: {_MORE_KEY!r} is no list of messages, but {kind}")
        history = cls(cast("Sequence[object]", more), scope=str(value.get(_SCOPE_KEY) or ""), api=api)
        history._head, history._count, history._loaded = _ref_in(value), int(count), None
        return history

    # --- messages ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of messages; reads nothing."""
        return self._count + len(self._new)

    def __getitem__(self, index: Any) -> Any:
        """Returns a message (with `text`, `role` and `native`), or a list of them for a slice."""
        natives = self.hydrate()[index]
        if isinstance(index, slice):
            return [self._entry(native) for native in cast("list[JsonMapping]", natives)]
        return self._entry(cast(JsonMapping, natives))

    def __iter__(self) -> Iterator[Entry]:
        """Yields the messages, first to last."""
        return map(self._entry, self.hydrate())

    def __repr__(self) -> str:
        """Returns its length and ref."""
        return f"<History of {len(self)} messages, {self._head or 'not persisted'}>"

    def append(self, message: object, content: JsonValue = None, *, call: str | None = None) -> None:
        """Adds a message, as `Conversation.append` does."""
        if isinstance(message, str):
            natives = native_of(self._api, message, content, call, None)
        else:
            natives = native_messages(self._api, message)
        with self._lock:
            self._new += natives

    def hydrate(self) -> list[Any]:
        """Returns the messages in the form of the API, one by one. Reads them at the first use.

        Raises CollectorUnreachable, and CannotRestore if a message is not stored any more."""
        with self._lock:
            if self._loaded is None:
                heads = [] if self._head is None else [self._head]
                self._keep(conversation_store().threads(heads))
            return [*(self._loaded or ()), *self._new]

    async def hydrate_async(self) -> list[Any]:
        """The same, in another thread: the event loop goes on."""
        return await in_thread(self.hydrate)

    @classmethod
    def hydrate_all(cls, histories: Sequence["History"]) -> None:
        """Reads the messages of several histories in the requests of one. Raises as `hydrate` does."""
        waiting = [history for history in histories if history._loaded is None]
        heads = [history._head for history in waiting if history._head is not None]
        if heads:
            threads = conversation_store().threads(heads)
            for history in waiting:
                with history._lock:
                    history._keep(threads)

    def managed(self, policy: Compression | None = None) -> Context:
        """Returns a managed context with these messages. What is added there is not added here."""
        context = Context(compression=policy, api=self._api.name)
        context.raw.extend(self.hydrate())
        return context

    def call(self, function: Callable[[list[Any]], T]) -> T:
        """Persists the messages, calls the function with them in the form of the API, adds the answer, and returns it.

        The function returns the client's answer, a message, or a text of the assistant."""
        self.persist()
        answer = function([*self._api.request(self.hydrate()).messages])
        self._answered(answer)
        return answer

    async def call_async(self, function: Callable[[list[Any]], Awaitable[T]]) -> T:
        """The same with a coroutine function; what is read and stored is so in another thread."""
        await in_thread(self.persist)
        natives = await in_thread(self.hydrate)
        answer = await function([*self._api.request(natives).messages])
        self._answered(answer)
        return answer

    # --- persisting --------------------------------------------------------------------------------------------------

    def persist(self) -> bool:
        """Stores what is new, and returns whether the collector has acknowledged everything: `to_json` then returns a
        ref. False if no collector answers, or if a redaction hook has changed a message, which could not be given to a
        model later: `to_json` then carries the messages."""
        with self._lock:
            if not self._new and self._head is not None:
                return True
            if not len(self):
                return False
            intake = message_intake()
            stored = [stored_message(self._api, native, intake) for native in self._new]
            if any(message.is_redacted for message in stored):
                warn_once(
                    "redacted history",
                    "a redaction hook changes messages of a history: it is handed on as a list, and not by reference",
                )
                return False
            contents = [content for message in stored for content in message.contents]
            part = ThreadPart(self._head, [message.ref for message in stored], contents)
            if not conversation_store().persist_thread(part, self.scope):
                return False
            self._head, self._count = part.head, len(self)
            if self._loaded is not None:
                self._loaded += self._new
            self._new = []
            return True

    async def persist_async(self) -> bool:
        """The same, in another thread."""
        return await in_thread(self.persist)

    def to_json(self) -> Any:
        """Returns what to hand on, for `load`: the ref, about 100 bytes; with messages that are not persisted besides.
        Without a ref, the list of messages."""
        with self._lock:
            if self._head is None:
                return [*self._new]
            value: dict[str, Any] = {THREAD_KEY: self._head, _COUNT_KEY: self._count}
            if self.scope:
                value[_SCOPE_KEY] = self.scope
            if self._new:
                value[_MORE_KEY] = [*self._new]
            return value

    @staticmethod
    def delete(value: object) -> bool:
        """Frees what `to_json` names: its messages go when nothing else names them. Equal messages of one scope are one
        history. Returns whether there was one; False for a list. Raises ClientError, and TypeError as `load` does."""
        if not isinstance(value, Mapping) or THREAD_KEY not in value:
            return False
        fields = cast("Mapping[str, Any]", value)
        return conversation_store().delete_thread(_ref_in(fields), str(fields.get(_SCOPE_KEY) or ""))

    @staticmethod
    async def delete_async(value: object) -> bool:
        """The same, in another thread."""
        return await in_thread(lambda: History.delete(value))

    # --- inside ------------------------------------------------------------------------------------------------------

    def _keep(self, threads: ThreadContents) -> None:
        refs = threads.path(self._head)[1]
        self._loaded = [self._api.from_message(restored_message(ref, threads.contents)) for ref in refs]

    def _entry(self, native: JsonMapping) -> Entry:
        return Entry(native, self._api.to_message(native))

    def _answered(self, answer: object) -> None:
        if isinstance(answer, str):
            natives = native_of(self._api, "assistant", answer, None, None)
        else:
            try:
                natives = [piece for native in self._api.answer(answer).natives for piece in self._api.cut(native)]
            except (ValueError, TypeError, KeyError, AttributeError):  # a message, and no answer with messages in it
                natives = native_messages(self._api, answer)
        with self._lock:
            self._new += natives


def _ref_in(value: Mapping[str, Any]) -> ContentRef:
    try:
        return ContentRef.parse(str(value[THREAD_KEY]))
    except NotARef as error:
        raise TypeError(f"this is no history: {error}") from None
