"""Content that spans refer to, as far as it is at hand, and what is still missing.

    contents = OutboundContents()
    while missing := contents.missing(wanted(span, options)):
        ...  # fetch them, then contents.add(ref, content) or contents.add_thread(ref, messages)

It takes at most three rounds: threads and values, then the messages of the threads, then their large parts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from playhead.model.canonical import Content, content_as, value_of
from playhead.model.message import Message, read_message, refs_inside, whole
from playhead.model.ref import ContentRef


@dataclass(frozen=True, slots=True)
class WantedRefs:
    """Refs to fetch: `contents` name values, `threads` name lists of messages."""

    contents: tuple[ContentRef, ...] = ()
    threads: tuple[ContentRef, ...] = ()

    @classmethod
    def of_all(cls, several: Iterable["WantedRefs"]) -> "WantedRefs":
        """What all of them want, each ref once."""
        listed = list(several)
        return cls(
            tuple(dict.fromkeys(ref for each in listed for ref in each.contents)),
            tuple(dict.fromkeys(ref for each in listed for ref in each.threads)),
        )

    def __bool__(self) -> bool:
        return bool(self.contents or self.threads)


class ContentNotAtHand(LookupError):
    """The content is not stored (yet), or was deleted."""


@dataclass(slots=True)
class OutboundContents:
    """Contents and threads by ref.  A cache of the caller's; nothing here reads a store."""

    _contents: dict[ContentRef, Content] = field(default_factory=dict[ContentRef, Content])
    _threads: dict[ContentRef, tuple[ContentRef, ...]] = field(default_factory=dict[ContentRef, tuple[ContentRef, ...]])

    def add(self, ref: ContentRef, content: Content) -> None:
        """Keeps the content under its plain ref."""
        self._contents[ref.plain] = content

    def add_thread(self, ref: ContentRef, messages: Sequence[ContentRef]) -> None:
        """Keeps the refs of a thread's messages, first to last."""
        self._threads[ref] = tuple(messages)

    def missing(self, wanted: WantedRefs) -> WantedRefs:
        """Of what is wanted, and of what that refers to, what was not added yet."""
        contents = dict.fromkeys(ref.plain for ref in wanted.contents if ref.plain not in self._contents)
        for ref in wanted.contents:  # a message that is named alone may have parts apart as well
            contents |= dict.fromkeys(self._missing_of_message(ref))
        threads = dict.fromkeys(ref for ref in wanted.threads if ref not in self._threads)
        for thread in wanted.threads:
            for ref in self._threads.get(thread, ()):
                contents |= dict.fromkeys(self._missing_of_message(ref))
        return WantedRefs(tuple(contents), tuple(threads))

    def value(self, ref: ContentRef) -> Any:
        """The value that the ref names: text, bytes, or what JSON says.  Raises ContentNotAtHand."""
        content = self._content(ref)
        try:
            return value_of(content_as(content.data, content.media_type, ref))
        except ValueError:  # it says that it is JSON, and is none
            return content.data.decode("utf-8", "replace")

    def messages(self, thread: ContentRef) -> list[Message]:
        """The messages of a thread, whole.  A message that is not at hand is a system's message that says so.

        Raises ContentNotAtHand if the thread itself is not at hand."""
        refs = self._threads.get(thread)
        if refs is None:
            raise ContentNotAtHand(f"the conversation {thread} is not stored")
        return [self.message(ref) for ref in refs]

    def message(self, ref: ContentRef) -> Message:
        """One message, whole.  One that is not at hand is a system's message that says so."""
        try:
            return whole(read_message(self._content(ref).data), self._bytes)
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
