"""capture → [intake] → journal.  Turns payloads into contents: redacted, bounded, canonical, and only those that are
not stored yet.

`PayloadIntake` does not touch the disk: a new content goes to `sink`, which the journal provides. It counts as known
only once the journal has it (`known.add_all`), since a crash loses what an open call holds in memory.

`KnownRefs` is a bounded cache of the refs that this process believes to be stored, in the journal or by the collector.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import orjson

from playhead.kernel.guard import guarded, warn_once
from playhead.model.canonical import (
    BYTES,
    JSON,
    TEXT,
    bounded_content_of,
    canonical_json,
    content_of,
    may_be_json,
    read_as,
    value_of,
)
from playhead.model.digest import sha256
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.limits import NO_LIMITS, Cut, ValueLimits, is_light
from playhead.model.objects.masking import Mask
from playhead.model.objects.reading import reading
from playhead.model.objects.safe_json import bounded_json, safe_json
from playhead.model.objects.tree_json import quick_json
from playhead.model.ref import AS_TEXT, ContentRef
from playhead.refs.plain import NOT_KEPT

# --- refs of stored contents ------------------------------------------------------------------------------------------


# 2 x 20,000 refs of about 290 bytes: 12 MB at the very most, in the journal's thread and in the shipper's.
_GENERATION = 20_000


class KnownRefs(dict[bytes, ContentRef]):
    """Digest → ref of contents seen recently, in two generations: cheaper than a strict LRU, and good enough.

    The dictionary itself is the younger generation. Look a digest up with `get`; if it is not there and `old` is not
    empty, call `get_from_old`.
    """

    __slots__ = ("old",)

    def __init__(self) -> None:
        super().__init__()
        self.old: dict[bytes, ContentRef] = {}

    def get_from_old(self, digest: bytes) -> ContentRef | None:
        """Returns the ref if the older generation has it, and moves it to the younger one; else returns None."""
        ref = self.old.get(digest)
        if ref is not None:
            self.add(digest, ref)
        return ref

    def add(self, digest: bytes, ref: ContentRef) -> None:
        """Adds a ref."""
        self.add_all({digest: ref})

    def add_all(self, refs: dict[bytes, ContentRef]) -> None:
        """Adds refs."""
        if len(self) >= _GENERATION:
            self.old = dict(self)
            self.clear()
        self.update(refs)

    def forget(self) -> None:
        """Forgets all refs, so that everything is journaled again: after a failed write, or when the collector has lost
        content.
        """
        self.old = {}
        self.clear()


# --- payload → content ------------------------------------------------------------------------------------------------


Redact = Callable[[Any], Any]


class NewContentSink(Protocol):
    """Receives the new contents of one call until they are in the journal."""

    new: dict[bytes, ContentRef]
    """Refs of the contents and threads that this call brings already, by digest."""
    cut: Cut | None
    """Why a part of the last payload was left out; None: nothing was left out."""
    dropped: bytes
    """Digest of the last content for which there was no room."""

    def content(self, digest: bytes, ref: ContentRef, data: bytes, media_type: str) -> None:
        """Takes a new content."""
        ...

    def thread(self, digest: bytes, ref: ContentRef, parent: ContentRef | None, messages: Sequence[ContentRef]) -> None:
        """Takes a new extension of a thread. `digest` and `ref` are those of its last node."""
        ...


_MARKER_HEAD_BYTES = 64 * 1024
_MARKER = NOT_KEPT
# Tool definitions and request settings hardly change between calls: comparing bytes is quicker than sorting keys, and
# than hashing. So they are found by their length and their end; a later one with the same length and end takes the
# place of an earlier one.
_MAX_REPEATED = 256
_MAX_REPEATED_BYTES = 256 * 1024
_END_BYTES = 64
_BYTES_TYPES = (bytes, bytearray, memoryview)


class PayloadIntake:
    """Turns values into refs. Never raises. Safe for threads: at worst a content is stored twice."""

    def __init__(
        self,
        *,
        max_content_bytes: int,
        redact: Redact | None = None,
        mask: Mask | None = None,
        limits: ValueLimits = NO_LIMITS,
    ):
        self.known = KnownRefs()
        self.redacts = redact is not None
        """Whether there is a redaction hook for all payloads."""
        self.mask = mask or None
        """Hides secrets in objects; None: nothing is hidden."""
        self.limits = limits
        """How much of one value is recorded."""
        self._max_bytes = max_content_bytes
        self._redact = redact
        self._repeated: dict[tuple[int, bytes], tuple[bytes, bytes, ContentRef]] = {}
        self.generation = 0
        """Rises with each `forget`: threads that were remembered before must not be used."""
        self.full = False
        """Set by the journal when it has no room: payloads become markers."""
        self.dropped = 0
        self.oversize = 0

    def payload(
        self, value: object, sink: NewContentSink, redact: Redact | None = None, *, unbounded: bool = False
    ) -> ContentRef:
        """Returns the ref of any value, after the redaction hooks. `unbounded`: without the limits of one value."""
        limits = NO_LIMITS if unbounded else self.limits
        if self._redact is None and redact is None:
            return self.recorded(value, sink, limits)
        value, cut = self._redacted(value, redact, limits)
        ref = self.recorded(value, sink, limits)
        sink.cut = sink.cut or cut
        return ref

    def recorded(self, value: Any, sink: NewContentSink, limits: ValueLimits = NO_LIMITS) -> ContentRef:
        """Returns the ref of a value that is redacted already."""
        sink.cut = None
        if type(value) is str:
            try:
                data = value.encode()
                return self.content(data, TEXT, sink, AS_TEXT if may_be_json(data) else None)
            except UnicodeEncodeError:
                return self.content(safe_json(value), JSON, sink)
        if type(value) is not dict and issubclass(type(value), _BYTES_TYPES):
            content = content_of(value)
            return self.content(content.data, content.media_type, sink, read_as(content.data, content.media_type))
        if is_light(value) and (data := quick_json(value)) is not None:
            return self.content(data, JSON, sink)
        data, cut = bounded_json(value, self.mask, limits, lambda data: self.part(data, sink))
        if cut is not None:
            sink.cut = cut
        return self.content(data, JSON, sink)

    def part(self, data: bytes, sink: NewContentSink) -> ContentRef:
        """Returns the ref of bytes that are a part of a value."""
        return self.content(data, BYTES, sink, read_as(data, BYTES))

    def repeated(self, value: object, sink: NewContentSink, redact: Redact | None = None) -> ContentRef:
        """Returns the ref of a value that is likely the same as in an earlier call."""
        if self._redact is not None or redact is not None:
            return self.payload(value, sink, redact)
        try:
            raw = orjson.dumps(value)
        except BaseException as error:  # noqa: BLE001 - the user's code; with a block, a model call takes longer
            reraise_if_for_program(error)
            return self.payload(value, sink)
        key = (len(raw), raw[-_END_BYTES:])
        seen = self._repeated.get(key)
        if seen is not None and seen[0] == raw:
            digest = seen[1]
            if digest in self.known or self.known.get_from_old(digest) is not None:
                return seen[2]
        ref = self.payload(value, sink)
        if len(raw) <= _MAX_REPEATED_BYTES and not self.full:
            if len(self._repeated) >= _MAX_REPEATED:
                self._repeated.clear()
            self._repeated[key] = (raw, ref.digest, ref)
        return ref

    def content(self, data: bytes, media_type: str, sink: NewContentSink, read_as: str | None = None) -> ContentRef:
        """Returns the ref of canonical bytes, or of the marker that replaces them; `sink.cut` is then the reason.
        `read_as`: how the ref tells readers to read the bytes."""
        if len(data) > self._max_bytes:
            self.oversize += 1
            sink.cut = "size"
            return self._marker(_oversize_marker(data, media_type, self._max_bytes), sink)
        digest = sha256(data).digest()
        ref = self.known.get(digest) or sink.new.get(digest)
        if ref is None and self.known.old:
            ref = self.known.get_from_old(digest)
        if ref is not None:
            return ref if read_as is None else ref.with_reading(read_as)
        if self.full:
            self.dropped += 1
            # Without the digest: equal markers take no more room.
            sink.cut, sink.dropped = "room", digest
            marker = {_MARKER: "journal full", "bytes": len(data), "media_type": media_type}
            return self._marker(canonical_json(marker), sink)
        ref = ContentRef("sha256:" + digest.hex())
        ref.digest = digest
        sink.content(digest, ref, data, media_type)
        return ref if read_as is None else ref.with_reading(read_as)

    def redacted(self, value: object, redact: Redact | None = None) -> Any:
        """Returns the value after the redaction hooks, the call's own first; a marker if a hook raises, so that nothing
        leaks.

        Hooks get copies in recorded form (`plain_copy`), so that they cannot edit the program's objects.
        """
        return self._redacted(value, redact, NO_LIMITS)[0]

    def _redacted(self, value: object, redact: Redact | None, limits: ValueLimits) -> tuple[Any, Cut | None]:
        cut: Cut | None = None
        with guarded("redact a value", log=False) as block:  # a hook is the user's code, and may raise anything
            for hook in (redact, self._redact):
                if hook is not None:
                    with reading():
                        copy, why = self._copied(value, limits)
                        value, cut = hook(copy), cut or why
            return value, cut
        raised = block.raised.__name__ if block.raised is not None else ""
        _warn_of_hook(raised)
        return {_MARKER: "redaction failed", "error": raised}, cut

    def as_recorded(self, value: object, redact: Redact | None = None) -> Any:
        """Returns what is recorded of the value after redaction hooks, masks and limits, as plain JSON values."""
        return self.plain_copy(self._redacted(value, redact, self.limits)[0])

    def plain_copy(self, value: object, *, unbounded: bool = False) -> Any:
        """Returns a copy of the value in the form in which it is recorded: text, bytes, or plain JSON values."""
        return self._copied(value, NO_LIMITS if unbounded else self.limits)[0]

    def _copied(self, value: object, limits: ValueLimits) -> tuple[Any, Cut | None]:
        content, cut = bounded_content_of(value, self.mask, limits)
        return content.data if content.media_type == BYTES else value_of(content), cut

    def equals_content(self, value: object, ref: ContentRef | None, *, unbounded: bool = False) -> bool:
        """Whether the content of `ref` is what would be recorded of the value without hooks and masks."""
        return bounded_content_of(value, None, NO_LIMITS if unbounded else self.limits)[0].ref == ref

    def redaction_changes_nothing(self, value: object, redact: Redact | None = None) -> bool:
        """Whether the redaction hooks leave this value unchanged."""
        if redact is None and self._redact is None:
            return True
        return content_of(self.redacted(value, redact)) == content_of(value, self.mask)

    def _marker(self, data: bytes, sink: NewContentSink) -> ContentRef:
        digest = sha256(data).digest()
        ref = self.known.get(digest) or sink.new.get(digest) or self.known.get_from_old(digest)
        if ref is None:
            ref = ContentRef("sha256:" + digest.hex())
            sink.content(digest, ref, data, JSON)
        return ref

    def forget(self) -> None:
        """Forgets all refs, so that contents are stored again."""
        self.generation += 1
        self.known.forget()
        self._repeated.clear()


def _warn_of_hook(raised: str) -> None:
    """`raised`: the class name of what the hook raised. Its text may contain a part of the payload."""
    warn_once(
        f"redaction {raised}",
        f"a redaction hook raised {raised}: a marker is recorded in place of what it was given; a hook is called with "
        "one payload (text, bytes or plain JSON values), and returns what may be recorded",
    )


def _oversize_marker(data: bytes, media_type: str, limit: int) -> bytes:
    head = data[: min(_MARKER_HEAD_BYTES, limit // 4)].decode("utf-8", "replace")
    digest = sha256(data).hexdigest()
    about = {"bytes": len(data), "limit": limit, "media_type": media_type, "sha256": digest, "head": head}
    return canonical_json({_MARKER: "too large", **about})
