"""What [lift] took out of one span: contents and threads, each once, and the keys whose JSON could not be read."""

from collections.abc import Iterable
from typing import Any

from playhead.model.canonical import Content, content_of
from playhead.model.message import Message, message_contents
from playhead.model.names import REF_SUFFIX
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes
from playhead.wire.pack import ThreadExtension

# Attribute: the keys whose value should have been JSON and was not (cut off, most often); kept as text.
UNPARSED = "playhead.lift.unparsed"
# Where a ref that somebody else stamped is kept when the content it names was inline as well.
EXTERNAL = ".external"


class LiftedContent:
    """Grows while dialects read one span.

    A subclass may keep contents elsewhere: it overrides `content`, `message`, `reasoning` and `thread`.
    """

    def __init__(self) -> None:
        self._contents: dict[ContentRef, Content] = {}
        self._threads: dict[ContentRef, ThreadExtension] = {}
        self._unparsed: list[str] = []

    @property
    def contents(self) -> list[Content]:
        """Each content once."""
        return list(self._contents.values())

    @property
    def threads(self) -> list[ThreadExtension]:
        """Each thread once, whole."""
        return list(self._threads.values())

    def content(self, value: Any) -> ContentRef:
        """The ref of any value."""
        return self._keep(content_of(value))

    def reasoning(self, value: Any) -> ContentRef:
        """The ref of what a model thought aloud."""
        return self.content(value)

    def thread(self, messages: Iterable[Message]) -> ContentRef | None:
        """The ref of a list of messages; None for an empty one."""
        thread = ThreadExtension(None, tuple(map(self.message, messages)))
        ref = thread.ref
        if ref is not None:
            self._threads[ref] = thread
        return ref

    def message(self, message: Message) -> ContentRef:
        """The ref of one message."""
        own, *apart = message_contents(message)
        for content in apart:
            self._keep(content)
        return self._keep(own)

    def unparsed(self, key: str, raw: Any) -> ContentRef:
        """The ref of what should have been JSON, as it came."""
        if key not in self._unparsed:
            self._unparsed.append(key)
        return self.content(raw)

    def mark(self, attributes: Attributes) -> None:
        """Says on the span which keys could not be read."""
        if self._unparsed:
            attributes[UNPARSED] = self._unparsed

    def _keep(self, content: Content) -> ContentRef:
        self._contents.setdefault(content.ref, content)
        return content.ref


def put_ref(attributes: Attributes, key: str, ref: ContentRef) -> None:
    """Stamps `<key>_ref`.  A ref that stands there already, to content elsewhere, is kept beside it."""
    name = key + REF_SUFFIX
    stamped = attributes.get(name)
    if stamped is not None and stamped != ref:
        attributes[name + EXTERNAL] = stamped
    attributes[name] = ref
