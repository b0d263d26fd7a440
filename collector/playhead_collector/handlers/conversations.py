"""Handlers of conversations."""

from collections.abc import Sequence

from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations.conversations import (
    MOST_RECORDS,
    ConversationOperations,
    DeletedConversation,
    StoredConversation,
)
from playhead.wire.operations.page import Page
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.read.paging import conversation_cursor, read_conversation_cursor
from playhead_collector.store.ports.conversations import ConversationRow, ConversationSave


@handles_with_store(ConversationOperations.conversations)
async def conversations(
    asking: Changing, *, scope: str | None = None, prefix: str | None = None, limit: int | None = None
) -> Page[StoredConversation]:
    size, before = asking.page(limit), read_conversation_cursor(asking.cursor)
    stored = await asking.store.conversations.page(
        asking.project_id, scope=scope, prefix=prefix, limit=size + 1, before=before
    )
    page = stored[:size]
    last = page[-1] if len(stored) > size else None
    return {
        "items": [_answer(row) for row in page],
        "next_cursor": None if last is None else conversation_cursor(last.updated_ns, last.scope, last.id),
    }


@handles_with_store(ConversationOperations.conversation)
async def conversation(
    asking: Changing,
    id: str,  # noqa: A002 - the name in the body
    *,
    scope: str = "",
    records_after: int | None = None,
) -> StoredConversation:
    row = await asking.store.conversations.get(asking.project_id, id, scope)
    if row is None:
        raise _none_of(id, scope)
    if records_after is None:
        return _answer(row)
    records, are_masked = await asking.store.conversations.records(asking.project_id, row, records_after, MOST_RECORDS)
    return _answer(row, records, are_masked=are_masked)


@changes(ConversationOperations.save_conversation)
async def save_conversation(
    asking: Changing,
    id: str,  # noqa: A002 - the name in the body
    head: str | None = None,
    *,
    revision: int,
    scope: str = "",
    previous_head: str | None = None,
    saves: int = 1,
    records: Sequence[str] | None = None,
    replaces: bool = False,
    unrepeated: bool = False,
    parent_id: str | None = None,
    parent_revision: int | None = None,
) -> StoredConversation:
    if (parent_id is None) is not (parent_revision is None):
        raise Refused(422, "invalid", "body: parent_id and parent_revision go together: send both, or none")
    if records is not None and head is not None:
        raise Refused(422, "invalid", "body: a conversation is kept as messages or as records: send head or records")
    if not all(map(_is_record, records or ())):
        raise Refused(422, "invalid", "body.records: expected JSON texts: no control character, no lone surrogate")
    parent = None if parent_id is None or parent_revision is None else (parent_id, parent_revision)
    ref = None if head is None else ContentRef.parse(head)
    previous = None if previous_head is None else ContentRef.parse(previous_head)
    new = ConversationSave(
        id,
        scope,
        revision,
        ref,
        parent,
        previous,
        saves,
        records,
        await _masked(asking, records),
        replaces=replaces,
        unrepeated=unrepeated,
    )
    outcome = await asking.store.conversations.save(asking.project_id, new)
    if outcome.missing is not None:
        what = "a thread" if records is None else "a content"
        message = f"body: {what} is named that is not stored, {outcome.missing}: send it first (POST /v1/content)"
        raise Refused(422, "thread_not_stored" if records is None else "content_not_stored", message)
    if outcome.is_other_kind:
        message = f"body: conversation {id} is kept in the other way: as messages (head), or as records"
        raise Refused(422, "invalid", message)
    if outcome.row is None:
        raise _none_of(id, scope)
    if not outcome.saved:
        raise Refused(
            409,
            "conversation_changed",
            f"conversation {id} has revision {outcome.row.revision}, and you had read {revision}: read it again, and "
            "save what is new under that revision, or save yours as a branch",
        )
    return _answer(outcome.row)


@changes(ConversationOperations.delete_conversation)
async def delete_conversation(asking: Changing, id: str, *, scope: str = "") -> DeletedConversation:  # noqa: A002 - the name in the body
    return {"deleted": await asking.store.conversations.delete(asking.project_id, id, scope)}


def _is_record(text: str) -> bool:
    """Whether a text can be stored as record: one with a control character is no JSON."""
    return text.isprintable() or not any(character < " " or "\ud800" <= character <= "\udfff" for character in text)


async def _masked(asking: Changing, records: Sequence[str] | None) -> list[str] | None:
    """Returns what is stored in place of records; None: they are stored as they are."""
    if not records:
        return None
    masked = await asking.masked(records)
    return None if masked == [*records] else masked


def _none_of(conversation: str, scope: str) -> Refused:
    of_scope = f" of scope {scope}" if scope else ""
    message = f"there is no conversation {conversation}{of_scope}: `playhead conversations` lists those there are"
    return Refused(404, "no_such_conversation", message)


def _answer(row: ConversationRow, records: Sequence[str] = (), *, are_masked: bool = False) -> StoredConversation:
    return {
        "id": row.id,
        "scope": row.scope,
        "revision": row.revision,
        "head": row.head,
        "messages": row.messages,
        "records": [*records],
        "masked": are_masked,
        "parent": None if row.parent is None else {"id": row.parent[0], "revision": row.parent[1]},
        "created": rfc3339(row.created_ns),
        "updated": rfc3339(row.updated_ns),
    }
