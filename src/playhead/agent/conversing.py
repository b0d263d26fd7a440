"""A conversation of an agent's run: read before it, extended and saved after it.

A resumed run has to see the messages that it saw before, whatever was saved since. So the place in the conversation
where a run began is recorded, and not the messages, which are stored once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from playhead.api.observe import observe
from playhead.context.context import in_thread
from playhead.errors import ConversationConflict
from playhead.model.message import Message

T = TypeVar("T")


class RunConversation(Protocol):
    """Messages that outlive a run, such as `playhead.conversation(...)`."""

    @property
    def id(self) -> str:
        """Its id, which is the session of its runs."""
        ...

    @property
    def position(self) -> dict[str, Any]:
        """Where it stands, as JSON for `return_to`."""
        ...

    def return_to(self, position: Mapping[str, Any]) -> None:
        """Takes it back to a position."""
        ...

    @property
    def canonical_messages(self) -> list[Message]:
        """Its messages in the form of the record."""
        ...

    def extend(self, messages: Sequence[Message]) -> None:
        """Adds messages in the form of the record."""
        ...

    def save(self) -> int:
        """Saves what is new, and returns the revision. Saving the same again changes nothing. Raises
        ConversationConflict if another writer has saved it since it was read."""
        ...


def messages_at_start(conversation: RunConversation) -> list[Message]:
    """Returns the messages with which a run begins: in a resumed run, those with which it began before. Raises what
    the conversation raises."""

    def position(conversation_id: str) -> dict[str, Any]:
        return {**conversation.position, "id": conversation_id}

    conversation.return_to(observe("conversation.load", kind="step", replay=True)(position)(conversation.id))
    return conversation.canonical_messages


def save_added(conversation: RunConversation, messages: Sequence[Message], result: object) -> Exception | None:
    """Adds the messages of a run, and saves them. Returns ConversationConflict with the run's result, for the caller to
    raise when the run has ended: it is complete all the same. Raises what else the conversation raises."""
    conversation.extend(messages)
    try:
        conversation.save()
    except ConversationConflict as error:
        error.result = result
        return error
    return None


async def beside_loop(work: Callable[[], T], *, blocking: bool) -> T:
    """Calls the function: here if the caller may be blocked, else in another thread."""
    return work() if blocking else await in_thread(work)
