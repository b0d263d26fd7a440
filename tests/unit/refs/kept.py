"""A `Keep` for tests: what a journal would have been given."""

from collections.abc import Sequence

from playhead.model.canonical import Content
from playhead.model.objects.limits import Cut
from playhead.model.ref import ContentRef
from playhead.refs.intake import PayloadIntake


class Kept:
    """One call's new contents and threads."""

    def __init__(self) -> None:
        self.new: dict[bytes, ContentRef] = {}
        self.cut: Cut | None = None
        self.dropped = b""
        self.contents: dict[ContentRef, Content] = {}
        self.threads: dict[ContentRef, tuple[ContentRef | None, list[ContentRef]]] = {}

    def content(self, digest: bytes, ref: ContentRef, data: bytes, media_type: str) -> None:
        assert digest not in self.new
        self.new[digest] = ref
        self.contents[ref] = Content(data, media_type)

    def thread(self, digest: bytes, ref: ContentRef, parent: ContentRef | None, messages: Sequence[ContentRef]) -> None:
        assert digest not in self.new
        self.new[digest] = ref
        self.threads[ref] = (parent, list(messages))


class Journal(Kept):
    """All calls' contents and threads; `commit` is what a successful append does."""

    def __init__(self, intake: PayloadIntake) -> None:
        super().__init__()
        self.intake = intake

    def commit(self, kept: Kept) -> None:
        self.contents |= kept.contents
        self.threads |= kept.threads
        self.intake.known.add_all(kept.new)
