"""What is known of a conversation without its messages, and one change of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playhead.errors import ConversationConflict
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref
from playhead.wire.pack import ThreadExtension


@dataclass(frozen=True, slots=True)
class ConversationHead:
    """A conversation as it was saved last. `head`: its thread, with `messages` messages (None: no message).

    `parent`: of a branch, the conversation and the revision that it began as. `created` and `updated` are times in
    RFC 3339. `is_pending`: it is in the journal's folder, and the collector does not have it yet.
    """

    id: str
    scope: str
    revision: int
    head: ContentRef | None
    messages: int
    parent: tuple[str, int] | None
    created: str
    updated: str
    is_pending: bool = False


@dataclass(frozen=True, slots=True)
class ThreadPart:
    """Messages after the thread `parent` (None: from the first): their refs, and their contents with large parts."""

    parent: ContentRef | None
    messages: Sequence[ContentRef] = ()
    contents: Sequence[Content] = ()

    @property
    def head(self) -> ContentRef | None:
        """The thread that ends with the last of these messages."""
        head = self.parent
        for message in self.messages:
            head = node_ref(message, head)
        return head

    @property
    def extension(self) -> ThreadExtension:
        """The same, without contents."""
        return ThreadExtension(self.parent, tuple(self.messages))

    def split(self) -> "tuple[list[str], ThreadPart]":
        """Returns the texts of the messages, as records, and the other contents, which those name."""
        by_ref = {content.ref.plain: content for content in self.contents}
        named = [content for ref, content in by_ref.items() if ref not in self.messages]
        return [by_ref[ref].data.decode() for ref in self.messages], ThreadPart(None, (), named)


@dataclass(frozen=True, slots=True)
class ConversationChange:
    """What one save does. `read`: the revision and the head that the writer has read; `messages`: how many the thread
    has then. `added`: what is new. `whole`: returns the whole thread if the writer has its contents, else what is new.
    `unrepeated`: another writer may make the same change, so a stored one that is equal is not this one sent again.
    """

    id: str
    scope: str
    revision: int
    read: ContentRef | None
    messages: int
    added: ThreadPart
    whole: Callable[[], ThreadPart]
    parent: tuple[str, int] | None = None
    unrepeated: bool = False


def conflict(conversation: str, theirs: int, ours: int) -> ConversationConflict:
    """Makes the error for a conversation that has another revision than the one that was read."""
    return ConversationConflict(
        f"conversation {conversation} has revision {theirs}, and {ours} was read: another writer has saved it. Call "
        "reload(), which puts what is not saved yet after the other's messages, or branch() to keep both apart",
        "conversation_changed",
    )
