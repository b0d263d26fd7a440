"""Collects what [lift] moves out of one span: contents and threads, each once, and keys whose JSON was unreadable."""

from collections.abc import Iterable
from typing import Any

from playhead.model.canonical import Content, content_of
from playhead.model.message import Message, message_contents
from playhead.model.names import REF_SUFFIX
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes
from playhead.model.thread import node_ref
from playhead.wire.pack import ThreadExtension

# Attribute with the keys whose value looked like JSON and was not (mostly: cut off); the value is kept as text.
UNPARSED = "playhead.lift.unparsed"
# Suffix for a ref set by another program, kept when the span also had the content inline.
EXTERNAL = ".external"


class SharedMessages:
    """Caches messages and threads of spans that are lifted together: calls of a conversation repeat its messages.

    Discard it with the spans.
    """

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], Content] = {}
        self._nodes: dict[tuple[ContentRef | None, ContentRef], ContentRef] = {}

    def thread_ref(self, messages: Iterable[ContentRef]) -> ContentRef | None:
        """Returns the ref of a thread with these messages; None for an empty thread."""
        nodes, ref = self._nodes, None
        for message in messages:
            parent, ref = ref, nodes.get((ref, message))
            if ref is None:
                ref = nodes[parent, message] = node_ref(message, parent)
        return ref

    def continued(self) -> set[ContentRef]:
        """Returns the threads with which another thread of these spans begins."""
        return {parent for parent, _ in self._nodes if parent is not None}


class LiftedContent:
    """The content that dialects moved out of one span.

    A subclass may keep contents elsewhere: it overrides `content`, `message`, `reasoning` and `thread`.
    """

    def __init__(self, shared: SharedMessages | None = None) -> None:
        """`shared`: the cache of the spans that are lifted together."""
        self._shared = shared or SharedMessages()
        self._contents: dict[ContentRef, Content] = {}
        self._threads: dict[ContentRef, ThreadExtension] = {}
        self._unparsed: list[str] = []

    @property
    def contents(self) -> list[Content]:
        """All contents, each once."""
        return list(self._contents.values())

    @property
    def threads(self) -> list[ThreadExtension]:
        """All threads, each once and with all its messages."""
        return list(self._threads.values())

    def content(self, value: Any) -> ContentRef:
        """Adds any value as content and returns its ref."""
        return self._keep(content_of(value))

    def reasoning(self, value: Any) -> ContentRef:
        """Adds a model's reasoning and returns its ref."""
        return self.content(value)

    def thread(self, messages: Iterable[Message]) -> ContentRef | None:
        """Adds a list of messages and returns the thread's ref; None for an empty list."""
        thread = ThreadExtension(None, tuple(map(self.message, messages)))
        ref = self._shared.thread_ref(thread.messages)
        if ref is not None:
            self._threads[ref] = thread
        return ref

    def message(self, message: Message) -> ContentRef:
        """Adds a message and returns its ref."""
        text = _only_text(message)
        if text is not None:
            cached = self._shared.texts.get(text)
            if cached is None:
                cached, *apart = message_contents(message)
                if apart:
                    return self._keep_all(cached, apart)
                self._shared.texts[text] = cached
            return self._keep(cached)
        main, *apart = message_contents(message)
        return self._keep_all(main, apart)

    def _keep_all(self, main: Content, apart: Iterable[Content]) -> ContentRef:
        for content in apart:
            self._keep(content)
        return self._keep(main)

    def unparsed(self, key: str, raw: Any) -> ContentRef:
        """Adds a value that could not be read as JSON, unchanged, notes its key, and returns its ref."""
        if key not in self._unparsed:
            self._unparsed.append(key)
        return self.content(raw)

    def mark(self, attributes: Attributes) -> None:
        """Sets the attribute UNPARSED to the keys that could not be read; nothing if all could."""
        if self._unparsed:
            attributes[UNPARSED] = self._unparsed

    def _keep(self, content: Content) -> ContentRef:
        self._contents.setdefault(content.ref, content)
        return content.ref


def _only_text(message: Message) -> tuple[str, str] | None:
    """Returns role and text of a message that has nothing else; None for other messages."""
    parts = message["parts"]
    if len(message) == 2 and len(parts) == 1:
        (part,) = parts
        text: Any = part.get("content")
        if len(part) == 2 and part.get("type") == "text" and type(text) is str and type(message["role"]) is str:
            return message["role"], text
    return None


def put_ref(attributes: Attributes, key: str, ref: ContentRef) -> None:
    """Sets `<key>_ref`.  Another ref that is there already (to external content) moves to `<key>_ref.external`."""
    name = key + REF_SUFFIX
    stamped = attributes.get(name)
    if stamped is not None and stamped != ref:
        attributes[name + EXTERNAL] = stamped
    attributes[name] = ref
