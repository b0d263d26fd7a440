"""OpenAI Agents: a session that is a conversation of Playhead.

    from playhead.conversations.openai_agents import AgentsSession

    Runner.run(agent, "Hello", session=AgentsSession("user-7/support", scope="user-7"))

The session's items are the messages of the conversation with its id, for any other program, too. In a run of Playhead,
the place where the session stood at each use is recorded: a resumed run reads what it read before, and adds nothing
twice.
"""

import copy
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

from playhead.api.observe import observe
from playhead.calls.lifecycle import current_span
from playhead.context.context import in_thread
from playhead.conversations.conversation import Conversation, conversation
from playhead.errors import Conflict, ConversationConflict
from playhead.model.json_value import Json
from playhead.model.message import Message
from playhead.models.apis import APIS, as_json

T = TypeVar("T")

_RESPONSES = APIS["responses"]
_ITEM: Final = "playhead.item"
"""In the `extra` of a message: the item as it was given, where the message alone would not give back all of it."""
# Other writers of the same session at the same time.
_MOST_TRIES: Final = 100


class AgentsSession:
    """Keeps the promises of `agents.memory.Session`. Safe for tasks, threads, processes and machines: what several add
    is there one after the other, and no item is popped twice.

    `session_settings`: as of the framework's own sessions; its `limit` is how many of the newest items a run gets.
    Methods raise what `playhead.conversation` raises.
    """

    def __init__(self, session_id: str, scope: str = "", *, session_settings: Any = None) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._scope = scope
        self._lock = threading.Lock()
        self._read: Conversation | None = None

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the items, first to last; of these, the newest `limit`."""
        if limit is None:
            limit = _limit_of(self.session_settings)

        def read(held: Conversation) -> list[Any]:
            self._stand_as_recorded(held)
            messages = held.canonical_messages
            return [
                _item_of(message)
                for message in (messages if limit is None else messages[max(0, len(messages) - max(0, limit)) :])
            ]

        return await in_thread(lambda: self._with(read))

    async def add_items(self, items: Sequence[Any]) -> None:
        """Adds items after those that are there when they are saved."""
        messages = [_message_of(as_json(item)) for item in items]

        def add(held: Conversation) -> None:
            held.extend(messages)
            held.save()

        def add_once(held: Conversation) -> None:
            self._stand_as_recorded(held)
            add(held)

        if messages:
            await in_thread(lambda: self._with(add_once, add))

    async def pop_item(self) -> Any | None:
        """Removes the newest item, and returns it; None: there is none."""

        def pop(held: Conversation) -> Any | None:
            messages = held.canonical_messages
            if not messages:
                return None
            held.shorten(len(messages) - 1)
            return _item_of(messages[-1])

        return await in_thread(lambda: self._recorded("session.pop_item", lambda: self._with(pop)))

    async def clear_session(self) -> None:
        """Removes all items. What nothing else names is freed."""

        def clear(held: Conversation) -> None:
            if len(held):
                held.shorten(0)

        await in_thread(lambda: self._recorded("session.clear", lambda: self._with(clear)))

    def _recorded(self, step: str, work: Callable[[], T]) -> T:
        """Calls the function; in a run, as a step whose result is recorded, and given again when it is resumed."""
        if current_span() is None:
            return work()

        def recorded(session_id: str) -> T:
            return work()

        return observe(step, kind="step", replay=True)(recorded)(self.session_id)

    def _stand_as_recorded(self, held: Conversation) -> None:
        held.return_to(self._recorded("session.position", lambda: held.position))

    def _with(self, work: Callable[[Conversation], T], again: Callable[[Conversation], T] | None = None) -> T:
        """Does something with the conversation as it was saved last. If another writer was faster, does it again, or
        `again` instead."""
        with self._lock:
            if self._read is None:
                self._read = conversation(self.session_id, self._scope, "responses")
            else:
                self._read.reload(discard=True)
            try:
                return work(self._read)
            except ConversationConflict:
                work = again or work
            for _ in range(_MOST_TRIES):
                self._read.reload(discard=True)
                with suppress(ConversationConflict):
                    return work(self._read)
            raise Conflict(f"session {self.session_id} is changed by others all the time: try again", "session_changed")


def _limit_of(settings: Any) -> int | None:
    limit = (
        cast("dict[str, Any]", settings).get("limit")
        if isinstance(settings, dict)
        else getattr(settings, "limit", None)
    )
    return limit if isinstance(limit, int) else None


def _message_of(item: Json) -> Message:
    message = _RESPONSES.to_message(item)
    if _RESPONSES.from_message(message) == item:
        return message
    return cast(Message, {**message, "extra": {**message.get("extra", {}), _ITEM: item}})


def _item_of(message: Message) -> Any:
    item = message.get("extra", {}).get(_ITEM)
    return copy.deepcopy(_RESPONSES.from_message(message) if item is None else item)
