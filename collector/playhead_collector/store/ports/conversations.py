"""Values of the store's conversations."""

from collections.abc import Sequence
from dataclasses import dataclass

from playhead.model.ref import ContentRef


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation as it was saved last. `head`: the thread with its `messages` messages; None: no message.
    `parent`: what a branch began as, with the revision. Times are ns since 1970. `log`: where its records are, of which
    `messages` counts those and `head` names the last; None: it has messages."""

    id: str
    scope: str
    revision: int
    head: ContentRef | None
    messages: int
    parent: tuple[str, int] | None
    created_ns: int
    updated_ns: int
    log: int | None = None


@dataclass(frozen=True, slots=True)
class ConversationSave:
    """What a writer saves: the new head, and the `revision` that it had read (0: it is new). `previous`: the head that
    it had read (None: the revision alone counts). `saves`: how many saves this one stands for. `unrepeated`: another
    writer may make the same save, so that an equal one that is stored is not this one sent again.

    `records`: of a conversation that is kept as records, what is new; None: it has messages. `masked`: what is stored
    in their place, if rules of the project mask some of it. `replaces`: these are all of its records."""

    id: str
    scope: str
    revision: int
    head: ContentRef | None
    parent: tuple[str, int] | None = None
    previous: ContentRef | None = None
    saves: int = 1
    records: Sequence[str] | None = None
    masked: Sequence[str] | None = None
    replaces: bool = False
    unrepeated: bool = False


@dataclass(frozen=True, slots=True)
class SaveOutcome:
    """What came of a save. `saved`: whether the row is what was sent; if not, it is what another writer saved, or None:
    there is none. `missing`: the head's thread or a content that a record names, which is not stored: nothing was done.
    `is_other_kind`: the conversation has messages and records were sent, or the other way round: nothing was done."""

    row: ConversationRow | None
    saved: bool
    missing: ContentRef | None = None
    is_other_kind: bool = False
