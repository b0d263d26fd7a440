"""Threads: lists of messages as hash-linked chains, so that a chat of N turns costs O(N).

A node has the refs of one message and of the node before it.  A thread's ref is the ref of its last node's canonical
bytes, so equal lists have equal refs in every program, and list A is a prefix of list B exactly when A's ref is an
ancestor of B's.  The empty thread has no ref: None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playhead.model.canonical import Content
from playhead.model.digest import sha256
from playhead.model.message import Message, message_contents
from playhead.model.ref import ContentRef

THREAD = "application/vnd.playhead.thread+json"


@dataclass(frozen=True, slots=True)
class ThreadNode:
    """One link: the message, the node before it, and how many messages the thread up to here has."""

    ref: ContentRef
    parent: ContentRef | None
    message: ContentRef
    depth: int


@dataclass(frozen=True, slots=True)
class Thread:
    """A whole list of messages: its nodes from first to last and the contents of its messages."""

    nodes: tuple[ThreadNode, ...]
    contents: tuple[Content, ...]

    @property
    def ref(self) -> ContentRef | None:
        """The ref of the last node; None for the empty list."""
        return self.nodes[-1].ref if self.nodes else None


def node_bytes(message: ContentRef, parent: ContentRef | None) -> bytes:
    """A node's canonical bytes; media type `THREAD`."""
    if parent is None:
        return b'{"message":"%b","parent":null}' % message.encode()
    return b'{"message":"%b","parent":"%b"}' % (message.encode(), parent.encode())


def node_ref(message: ContentRef, parent: ContentRef | None) -> ContentRef:
    """The ref of the thread that consists of `parent` and this message."""
    # `node_bytes` inlined, for speed: this runs for each message of each call.
    if parent is None:
        data = "".join(('{"message":"', message, '","parent":null}'))
    else:
        data = "".join(('{"message":"', message, '","parent":"', parent, '"}'))
    digest = sha256(data.encode()).digest()
    ref = ContentRef("sha256:" + digest.hex())
    ref.digest = digest
    return ref


def extend(messages: Iterable[ContentRef], parent: ContentRef | None = None, parent_depth: int = 0) -> list[ThreadNode]:
    """The nodes that append these messages to a thread."""
    nodes: list[ThreadNode] = []
    for depth, message in enumerate(messages, parent_depth + 1):
        parent_ref, parent = parent, node_ref(message, parent)
        nodes.append(ThreadNode(parent, parent_ref, message, depth))
    return nodes


def thread_of(messages: Sequence[Message]) -> Thread:
    """A whole thread from its messages.  Equal contents are in it once."""
    contents: dict[ContentRef, Content] = {}
    refs: list[ContentRef] = []
    for message in messages:
        main, *parts = message_contents(message)
        refs.append(main.ref)
        for content in (main, *parts):
            contents.setdefault(content.ref, content)
    return Thread(tuple(extend(refs)), tuple(contents.values()))
