"""lift → [recorded_content] → recorder.  Records content of other instrumentations' spans like our own: redacted,
limited in size, each content once, and not at all if the settings switch it off."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from playhead.calls.recorder import Recorder
from playhead.lift.extraction import LiftedContent
from playhead.model.message import Message, without_reasoning
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes

# Placeholder for the ref of content that is not recorded. `without_unrecorded` removes it.
_UNRECORDED = ContentRef("unrecorded")


class RecordedContent(LiftedContent):
    """Passes contents to the recorder as a dialect finds them.  `keep` writes them to the journal."""

    def __init__(self, recorder: Recorder):
        super().__init__()
        self._to = recorder
        self._frames = recorder.frames()
        self._frames.new = {}
        self.is_empty = True
        """Whether no content was found."""

    def content(self, value: Any) -> ContentRef:
        self.is_empty = False
        return self._to.payload(value, self._frames, unbounded=True) or _UNRECORDED

    def message(self, message: Message) -> ContentRef:
        messages = [message] if self._to.reasoning else without_reasoning([message])
        return self.content(messages[0]) if messages else _UNRECORDED

    def reasoning(self, value: Any) -> ContentRef:
        self.is_empty = False
        return self.content(value) if self._to.reasoning else _UNRECORDED

    def thread(self, messages: Iterable[Message]) -> ContentRef | None:
        self.is_empty = False
        to_record = messages if self._to.reasoning else without_reasoning(messages)
        redacted = [self._to.message(message) for message in to_record]
        return (self._to.message_thread(redacted, self._frames) or _UNRECORDED) if redacted else None

    def keep(self) -> None:
        """Writes the contents found since the last call to the journal."""
        self._to.keep(self._frames)


def without_unrecorded(attributes: Mapping[str, Any]) -> Attributes:
    """Returns the attributes without placeholders for contents that are not recorded."""
    return {key: value for key, value in attributes.items() if not _is_unrecorded(value)}


def _is_unrecorded(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_unrecorded, cast("list[Any]", value)))
    return value is _UNRECORDED


def is_recorded(ref: ContentRef) -> bool:
    """Whether this is the ref of recorded content, and not the placeholder."""
    return ref is not _UNRECORDED
