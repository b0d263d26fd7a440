"""Conversations: lists of messages that go on over runs, each as the ref of a thread and a revision."""

from typing import Annotated, TypedDict

from playhead.wire.operations.bounds import NO_NUL, Bounds, Most
from playhead.wire.operations.operation import INGEST, READ, delete, get, get_list, put
from playhead.wire.operations.page import Page

HISTORY_ID_PREFIX = "history/"
"""Before the ref of a thread, the id under which a persisted history keeps its messages. No list has these."""

NOTES_ID = "playhead.notes"
"""The id under which the notes of a scope are kept, a message each. No list has these."""
LONGEST_SCOPE = 500


class ConversationParent(TypedDict):
    """What a branch began as: a conversation of the same scope, at this revision."""

    id: str
    revision: int


class StoredConversation(TypedDict):
    """A conversation, as it was saved last.

    `head` is the ref of a thread with `messages` messages (null: none); its messages are the answer of
    `/content/{head}?as=messages`.  `revision` is 1 after the first save, and 1 more after each (after one with `saves`,
    so many more).  `parent` is null if it is no branch.  Its runs are those of the session `id`, unless they name
    another session.
    """

    id: str
    scope: str
    revision: int
    head: str | None
    messages: int
    parent: ConversationParent | None
    created: str
    updated: str


class DeletedConversation(TypedDict):
    """Whether there was such a conversation."""

    deleted: bool


_ID, _SCOPE = 500, LONGEST_SCOPE
_LARGEST_REVISION = 2**31 - 2

ConversationId = Annotated[
    str,
    Bounds(
        min_length=1, max_length=_ID, pattern=NO_NUL, description="Id of the conversation, such as `user-7/support`."
    ),
]
ConversationScope = Annotated[
    str,
    Bounds(
        max_length=_SCOPE,
        pattern=NO_NUL,
        description="Whom it belongs to, such as a user or a tenant: two scopes may use the same id. Empty: no scope.",
    ),
]
AnyScope = Annotated[
    str | None, Bounds(max_length=_SCOPE, pattern=NO_NUL, description="Only those of this scope; default: of all.")
]
Head = Annotated[
    str | None,
    Bounds(
        pattern=r"^sha256:[0-9a-f]{64}$",
        description="Ref of the thread with all its messages, which must be stored; default: no message.",
    ),
]
Revision = Annotated[
    int,
    Bounds(
        ge=0,
        le=_LARGEST_REVISION,
        description="The revision that the writer has read, which must still be the last one; 0: it is new.",
    ),
]
PreviousHead = Annotated[
    str | None,
    Bounds(
        pattern=r"^sha256:[0-9a-f]{64}$",
        description="The head that the writer has read, which must still be the last one, too; default: the revision "
        "alone counts.",
    ),
]
Saves = Annotated[
    int,
    Bounds(
        ge=1,
        le=_LARGEST_REVISION,
        description="How many saves this one stands for: the revision becomes so many more. For a writer that has "
        "saved on its own machine while no collector answered.",
    ),
]
Unrepeated = Annotated[
    bool,
    Bounds(
        description="Refused unless the revision is the last one, also where the same save seems to have been made "
        "before: for a save that another writer may make in the same way, such as one that removes the last message."
    ),
]
ParentId = Annotated[
    str | None,
    Bounds(
        min_length=1, max_length=_ID, pattern=NO_NUL, description="Of a new branch: the conversation that it began as."
    ),
]
ParentRevision = Annotated[
    int | None, Bounds(ge=0, le=_LARGEST_REVISION, description="Of a new branch: its parent's revision.")
]


class ConversationOperations:
    """Conversations that go on over runs."""

    @get_list("/conversations", scope=READ, tag="conversations", page_size=100)
    def conversations(self, *, scope: AnyScope = None, limit: Most = None) -> Page[StoredConversation]:
        """Conversations, those that were saved last first, without persisted histories and notes."""
        ...

    @get("/conversation", scope=READ, tag="conversations")
    def conversation(self, id: ConversationId, *, scope: ConversationScope = "") -> StoredConversation:  # noqa: A002 - the name in the body
        """A conversation as it was saved last."""
        ...

    @put(
        "/conversation",
        scope=INGEST,
        tag="conversations",
        also_refuses={409: "Somebody else has saved it since: the revision is not the last one."},
    )
    def save_conversation(
        self,
        id: ConversationId,  # noqa: A002 - the name in the body
        head: Head = None,
        *,
        revision: Revision,
        scope: ConversationScope = "",
        previous_head: PreviousHead = None,
        saves: Saves = 1,
        unrepeated: Unrepeated = False,
        parent_id: ParentId = None,
        parent_revision: ParentRevision = None,
    ) -> StoredConversation:
        """Save a conversation: its head, and the revision that the writer had read.

        Sent again after a lost answer, it is saved once. 409: another writer has saved it since; read it, and save what
        is new under the revision that it has now, or as a branch.
        """
        ...

    @delete("/conversation", scope=INGEST, tag="conversations")
    def delete_conversation(self, id: ConversationId, *, scope: ConversationScope = "") -> DeletedConversation:  # noqa: A002 - the name in the body
        """Delete a conversation. Its messages go when nothing else names them: no run, and no other conversation."""
        ...
