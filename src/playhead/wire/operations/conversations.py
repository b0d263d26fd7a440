"""Conversations: lists of messages that go on over runs, each as the ref of a thread and a revision."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from playhead.wire.operations.bounds import NO_NUL, Bounds, Most
from playhead.wire.operations.operation import INGEST, READ, delete, get, get_list, put
from playhead.wire.operations.page import Page

HISTORY_ID_PREFIX = "history/"
"""Before the ref of a thread, the id under which a persisted history keeps its messages."""

GRAPH_THREAD_ID_PREFIX = "langgraph-thread/"
"""Before the id of a thread of LangGraph, the id under which its checkpoints are kept."""

GRAPH_STORE_ID_PREFIX = "langgraph-store/"
"""Before a namespace of a store of LangGraph, the id under which its items are kept."""

NOTES_ID = "playhead.notes"
"""The id under which the notes of a scope are kept, a message each."""

UNLISTED_ID_PREFIXES = (f"{HISTORY_ID_PREFIX}sha256:", GRAPH_THREAD_ID_PREFIX, GRAPH_STORE_ID_PREFIX, NOTES_ID)
"""Before ids of what is kept as conversations are, and is none. Only lists that ask for such ids have them."""


def is_kept_as_records(conversation: str) -> bool:
    """Whether the SDK keeps what has this id as records."""
    return conversation.startswith((GRAPH_THREAD_ID_PREFIX, GRAPH_STORE_ID_PREFIX))


def is_listed(conversation: str, prefix: str | None) -> bool:
    """Whether a list has this id. `prefix`: what it asked for; None: for all conversations."""
    return not conversation.startswith(UNLISTED_ID_PREFIXES) if prefix is None else conversation.startswith(prefix)


LONGEST_ID = LONGEST_SCOPE = 500


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

    A conversation may be kept as records instead, as the checkpoints of LangGraph's threads are: texts that name
    contents by ref. Then `messages` counts them, `records` has those that were asked for, and `head` is the ref that a
    thread with them as messages has: nothing is stored under it. `masked` is true if redaction rules of the project
    have masked a part of any of these records: `head` is still that of what was sent.
    """

    id: str
    scope: str
    revision: int
    head: str | None
    messages: int
    records: list[str]
    masked: bool
    parent: ConversationParent | None
    created: str
    updated: str


class DeletedConversation(TypedDict):
    """Whether there was such a conversation."""

    deleted: bool


MOST_RECORDS = 1_000
"""In one request, and in one answer."""

_ID, _SCOPE = LONGEST_ID, LONGEST_SCOPE
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
IdPrefix = Annotated[
    str | None,
    Bounds(
        min_length=1,
        max_length=_ID,
        pattern=NO_NUL,
        description="Only those whose id begins with this, such as `user-7/`; default: all conversations. What is kept "
        "like one and is none (persisted histories, LangGraph's threads and stores) is listed only with a prefix.",
    ),
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
Records = Annotated[
    Sequence[str] | None,
    Bounds(
        max_length=MOST_RECORDS,
        description="What is new in a conversation that is kept as records: JSON texts. The contents that they name, "
        "as `sha256:` with 64 hex digits, must be stored, and stay stored. Default: it is kept as messages.",
    ),
]
Replaces = Annotated[bool, Bounds(description="Whether these are all of its records, in the place of those before.")]
RecordsAfter = Annotated[
    int | None,
    Bounds(
        ge=0,
        le=_LARGEST_REVISION,
        description="With its records after so many, at most 1,000 and about 4 MiB; default: without.",
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
    def conversations(
        self, *, scope: AnyScope = None, prefix: IdPrefix = None, limit: Most = None
    ) -> Page[StoredConversation]:
        """Conversations, those that were saved last first, without histories, notes and LangGraph's threads."""
        ...

    @get("/conversation", scope=READ, tag="conversations")
    def conversation(
        self,
        id: ConversationId,  # noqa: A002 - the name in the body
        *,
        scope: ConversationScope = "",
        records_after: RecordsAfter = None,
    ) -> StoredConversation:
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
        records: Records = None,
        replaces: Replaces = False,
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
