"""Values of the store's conversations."""

from dataclasses import dataclass

from playhead.model.ref import ContentRef


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation as it was saved last. `head`: the thread with its `messages` messages; None: no message.
    `parent`: what a branch began as, with the revision. Times are ns since 1970."""

    id: str
    scope: str
    revision: int
    head: ContentRef | None
    messages: int
    parent: tuple[str, int] | None
    created_ns: int
    updated_ns: int


@dataclass(frozen=True, slots=True)
class ConversationSave:
    """What a writer saves: the new head, and the `revision` that it had read (0: it is new). `previous`: the head that
    it had read (None: the revision alone counts). `saves`: how many saves this one stands for. `unrepeated`: another
    writer may make the same save, so that an equal one that is stored is not this one sent again."""

    id: str
    scope: str
    revision: int
    head: ContentRef | None
    parent: tuple[str, int] | None = None
    previous: ContentRef | None = None
    saves: int = 1
    unrepeated: bool = False


@dataclass(frozen=True, slots=True)
class SaveOutcome:
    """What came of a save. `saved`: whether the row is what was sent; if not, it is what another writer saved, or None:
    there is none. `is_head_stored` is false when the head's thread is not stored, and nothing was done."""

    row: ConversationRow | None
    saved: bool
    is_head_stored: bool = True
