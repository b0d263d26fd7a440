"""The store's interface for reading contents and threads by their refs."""

import datetime
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, Protocol

from playhead.model.canonical import Content
from playhead.model.content_kinds import ContentKind
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode


class ThreadNodes(NamedTuple):
    """The nodes of some threads, each once, and the refs of the threads that were not read because of the limit."""

    nodes: Mapping[ContentRef, ThreadNode]
    unread: AbstractSet[ContentRef]


ContentTier = Literal["hot", "warm"]
"""Where the bytes of a content are: in Postgres, or in the object store."""


def content_tier(*, is_moved: bool) -> ContentTier:
    """Returns the tier of a content. `is_moved`: its bytes are in the object store."""
    return "warm" if is_moved else "hot"


class ContentFacts(NamedTuple):
    """What is stored about a content besides its bytes. `kind` None: not known yet; `tokens` None: not counted yet;
    `first_stored` None: stored by an older version. `last_named`: the day when something that arrived last named it."""

    kind: ContentKind | None
    tokens: int | None
    first_stored: datetime.date | None
    last_named: datetime.date
    tier: ContentTier = "hot"


class ContentReader(Protocol):
    """Reads contents and threads by their refs, and keeps the explanations that models wrote of contents.

    An explanation is found by the content that the model got as input, and by the model.
    """

    async def get(self, project_id: int, ref: ContentRef) -> Content:
        """Returns the content. For the ref of a thread, returns the bytes of the thread's last node, with media type
        `THREAD`.

        Raises ContentMissing; raises ContentCorrupt if the stored bytes do not match the ref.
        """
        ...

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        """Returns the given contents that are stored, in a few round trips for any number of refs."""
        ...

    async def facts(self, project_id: int, ref: ContentRef) -> ContentFacts | None:
        """Returns what is stored about a content besides its bytes; None for a thread, and where nothing is stored."""
        ...

    async def refs_with_prefix(self, project_id: int, prefixes: Sequence[bytes]) -> Sequence[ContentRef]:
        """Returns the refs of stored contents whose digest begins with one of these prefixes, which have 16 bytes each.
        In practice, a prefix has one ref."""
        ...

    async def is_awaited(self, project_id: int, ref: ContentRef) -> bool:
        """Returns whether a run names this content and the content is not stored."""
        ...

    async def thread(self, project_id: int, ref: ContentRef) -> Sequence[ThreadNode]:
        """Returns all nodes of a thread from first to last. Raises ContentMissing. Needs a few round trips, not one per
        message; a packed thread needs more if it is in several packs."""
        ...

    async def threads(self, project_id: int, refs: Sequence[ContentRef], most_nodes: int) -> ThreadNodes:
        """Returns the nodes of the given threads that are stored, as long as all of them together have at most
        `most_nodes`. The first thread is read whatever its length. Needs a few round trips, like `thread`."""
        ...

    async def explanation(self, project_id: int, subject: ContentRef, model: str | None = None) -> ContentRef | None:
        """Returns the ref of the explanation by this model, or by any model if `model` is None; None when there is
        none."""
        ...

    async def keep_explanation(
        self, project_id: int, run: str, subject: ContentRef, model: str, explanation: Content
    ) -> None:
        """Stores an explanation durably, and replaces an earlier one by the same model. It is deleted with the run, and
        not stored if the run was deleted."""
        ...
