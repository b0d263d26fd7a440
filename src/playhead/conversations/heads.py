"""What is known of a conversation without its messages, and one change of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playhead.errors import ConversationConflict
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref
from playhead.wire.operations.conversations import LONGEST_ID, LONGEST_SCOPE, UNLISTED_ID_PREFIXES
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


def check_name(id: object, scope: object) -> None:  # noqa: A002 - the word for it
    """Raises TypeError or ValueError for an id or a scope that a program's conversation cannot have: the collector
    would refuse it, or Playhead uses such ids itself."""
    name = _checked("id", id, 1, LONGEST_ID)
    _checked("scope", scope, 0, LONGEST_SCOPE)
    if name.startswith(UNLISTED_ID_PREFIXES):
        raise ValueError(
            f"conversation(id={name!r}): ids that begin with one of {', '.join(UNLISTED_ID_PREFIXES)} are Playhead's "
            "own, and are kept in another way: choose another id"
        )


def _checked(what: str, text: object, least: int, most: int) -> str:
    if not isinstance(text, str):
        raise TypeError(f"conversation({what}={text!r}): expected a text, and got {type(text).__name__}")
    if not least <= len(text) <= most:
        bounds = f"{least} to {most}" if least else f"at most {most}"
        raise ValueError(f"conversation({what}={text[:50]!r}): expected {bounds} characters, and got {len(text)}")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"conversation({what}={text[:50]!r}): expected a text with no NUL and no lone surrogate in it")
    return text


def conflict(conversation: str, theirs: int, ours: int) -> ConversationConflict:
    """Makes the error for a conversation that has another revision than the one that was read (0: none)."""
    if not theirs:
        return ConversationConflict(
            f"conversation {conversation} was deleted since its revision {ours} was read. Call reload(): a save then "
            "begins it anew, with what is not saved yet",
            "conversation_changed",
        )
    return ConversationConflict(
        f"conversation {conversation} has revision {theirs}, and {ours} was read: another writer has saved it. Call "
        "reload(), which puts what is not saved yet after the other's messages, or branch() to keep both apart",
        "conversation_changed",
    )
