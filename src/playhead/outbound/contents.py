"""The contents that spans refer to: those that were fetched, and which are missing.

    contents = OutboundContents()
    while missing := contents.missing(wanted(span, options)):
        ...  # fetch them, then contents.add(ref, content) or contents.add_thread(ref, messages)

It takes at most three rounds: threads and values, then the messages of the threads, then their large parts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from playhead.model.canonical import Content, content_as, value_of
from playhead.model.json_value import JsonOrBytes
from playhead.model.message import Message, read_message, refs_inside, resolve_parts
from playhead.model.ref import ContentRef


@dataclass(frozen=True, slots=True)
class WantedRefs:
    """Refs to fetch: `contents` name values, `threads` name lists of messages."""

    contents: tuple[ContentRef, ...] = ()
    threads: tuple[ContentRef, ...] = ()

    @classmethod
    def of_all(cls, several: Iterable["WantedRefs"]) -> "WantedRefs":
        """Combines several into one, with each ref once."""
        listed = list(several)
        return cls(
            tuple(dict.fromkeys(ref for wanted in listed for ref in wanted.contents)),
            tuple(dict.fromkeys(ref for wanted in listed for ref in wanted.threads)),
        )

    def __bool__(self) -> bool:
        return bool(self.contents or self.threads)


class ContentNotAtHand(LookupError):
    """The content is not stored (yet), or was deleted."""


@dataclass(slots=True)
class OutboundContents:
    """Fetched contents and threads by ref. It belongs to the caller; nothing here reads a store."""

    _contents: dict[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])
    _threads: dict[ContentRef, tuple[ContentRef, ...]] = field(default_factory=dict[ContentRef, tuple[ContentRef, ...]])

    def add(self, ref: ContentRef, content: Content) -> None:
        """Adds a content under its plain ref."""
        self._contents[ref.plain] = content

    def add_thread(self, ref: ContentRef, messages: Sequence[ContentRef]) -> None:
        """Adds the refs of a thread's messages, first to last."""
        self._threads[ref] = tuple(messages)

    def missing(self, wanted: WantedRefs) -> WantedRefs:
        """Returns which of the wanted refs, and of the refs inside their messages, were not added yet."""
        contents = dict.fromkeys(ref.plain for ref in wanted.contents if ref.plain not in self._contents)
        for ref in wanted.contents:  # a single message may have separate large parts, too
            contents |= dict.fromkeys(self._missing_of_message(ref))
        threads = dict.fromkeys(ref for ref in wanted.threads if ref not in self._threads)
        for thread in wanted.threads:
            for ref in self._threads.get(thread, ()):
                contents |= dict.fromkeys(self._missing_of_message(ref))
        return WantedRefs(tuple(contents), tuple(threads))

    def value(self, ref: ContentRef) -> JsonOrBytes:
        """Returns the value of the ref: a text, bytes, or parsed JSON. Raises ContentNotAtHand."""
        content = self._content(ref)
        try:
            return value_of(content_as(content, ref))
        except ValueError:  # its media type is JSON, but its bytes are not
            return content.data.decode("utf-8", "replace")

    def messages(self, thread: ContentRef) -> list[Message]:
        """Returns the messages of a thread, with their large parts. A message that was not fetched is replaced by a
        system message that says so.

        Raises ContentNotAtHand if the thread itself was not fetched.
        """
        refs = self._threads.get(thread)
        if refs is None:
            raise ContentNotAtHand(f"the conversation {thread} is not stored")
        return [self.message(ref) for ref in refs]

    def message(self, ref: ContentRef) -> Message:
        """Returns one message with its large parts. One that was not fetched is replaced by a system message that says
        so. Content that is not a message becomes the text of a user message."""
        try:
            return resolve_parts(read_message(self._content(ref).data), self._bytes)
        except ContentNotAtHand as error:
            return cast(Message, {"role": "system", "parts": [{"type": "text", "content": f"[{error}]"}]})
        except ValueError:
            text = self._content(ref).data.decode("utf-8", "replace")
            return cast(Message, {"role": "user", "parts": [{"type": "text", "content": text}]})

    def _missing_of_message(self, ref: ContentRef) -> Iterable[ContentRef]:
        content = self._contents.get(ref.plain)
        if content is None:
            return (ref.plain,)
        if b"playhead.ref" not in content.data:
            return ()
        try:
            inside = refs_inside(read_message(content.data))
        except ValueError:
            return ()
        return [part.plain for part in inside if part.plain not in self._contents]

    def _content(self, ref: ContentRef) -> Content:
        content = self._contents.get(ref.plain)
        if content is None:
            raise ContentNotAtHand(f"the content {ref.plain} is not stored")
        return content

    def _bytes(self, ref: ContentRef) -> bytes | None:
        content = self._contents.get(ref.plain)
        return None if content is None else content.data
