"""Refs that this process believes to be stored (journal or collector): a bounded cache."""

from playhead.model.ref import ContentRef

# 2 x 20,000 refs of about 290 bytes: 12 MB at the very most, in the journal's thread and in the shipper's.
_GENERATION = 20_000


class KnownRefs(dict[bytes, ContentRef]):
    """Digest → ref of contents seen recently, in two generations: cheaper than a strict LRU, and good enough.

    The dictionary itself is the younger generation. Look a digest up with `get`; if it is not there and `old` is not
    empty, call `promote_old`.
    """

    __slots__ = ("old",)

    def __init__(self) -> None:
        super().__init__()
        self.old: dict[bytes, ContentRef] = {}

    def promote_old(self, digest: bytes) -> ContentRef | None:
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
