"""lift → [recorded content] → recorder.  Content that is taken out of others' spans is recorded like our own: redacted,
bounded, each once, and not at all where the settings say so."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from playhead.api.ports import Recorder
from playhead.lift.found import LiftedContent
from playhead.model.message import Message, without_reasoning
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes

# Takes the place of the ref of a content that is not recorded, until `without_unrecorded`.
_UNRECORDED = ContentRef("unrecorded")


class RecordedContent(LiftedContent):
    """Gives contents to the recorder as a dialect finds them.  `keep` journals them."""

    def __init__(self, recorder: Recorder):
        super().__init__()
        self._to = recorder
        self._frames = recorder.frames()
        self._frames.new = {}
        self.is_empty = True
        """Whether nothing was found."""

    def content(self, value: Any) -> ContentRef:
        self.is_empty = False
        return self._to.payload(value, self._frames, unbounded=True) or _UNRECORDED

    def message(self, message: Message) -> ContentRef:
        kept = [message] if self._to.reasoning else without_reasoning([message])
        return self.content(kept[0]) if kept else _UNRECORDED

    def reasoning(self, value: Any) -> ContentRef:
        self.is_empty = False
        return self.content(value) if self._to.reasoning else _UNRECORDED

    def thread(self, messages: Iterable[Message]) -> ContentRef | None:
        self.is_empty = False
        kept = messages if self._to.reasoning else without_reasoning(messages)
        shown = [self._to.message(message) for message in kept]
        return (self._to.message_thread(shown, self._frames) or _UNRECORDED) if shown else None

    def keep(self) -> None:
        """Journals what was found since the last time."""
        self._to.keep(self._frames)


def without_unrecorded(attributes: Mapping[str, Any]) -> Attributes:
    """The attributes without refs of contents that are not recorded."""
    return {key: value for key, value in attributes.items() if not _is_unrecorded(value)}


def _is_unrecorded(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_unrecorded, cast("list[Any]", value)))
    return value is _UNRECORDED


def is_recorded(ref: ContentRef) -> bool:
    """Whether a content was recorded, and can be named by this ref."""
    return ref is not _UNRECORDED
