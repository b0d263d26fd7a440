"""serve → [store]: conversations. A head names a thread, so that nothing is stored for each message.

A head keeps its thread with all messages from being swept (`mark_stated` in gc.sql).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead.wire.operations.conversations import UNLISTED_ID_PREFIXES
from playhead_collector.store.ports.conversations import ConversationRow, ConversationSave, SaveOutcome
from playhead_collector.store.postgres import content_rows, conversation_records, threads
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Collision, Database, begin_write
from playhead_collector.store.postgres.conversation_records import ReadRecords
from playhead_collector.store.postgres.encrypted_fields import kept_prefix
from playhead_collector.store.postgres.ingest import date_of
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.runs import BIGINT
from playhead_collector.store.postgres.statements import Conn

_NEWEST: Final = (BIGINT, "", "")
# Read at once from a project whose ids are encrypted.
_AT_A_TIME: Final = 500


class PostgresConversations:
    """Conversations of a project, each by its scope and id.  All methods raise StoreUnavailable."""

    def __init__(self, db: Database, clock: Callable[[], int], packs: Packs) -> None:
        self._db = db
        self._clock = clock
        self._packs = packs

    async def get(self, project_id: int, conversation: str, scope: str) -> ConversationRow | None:
        """Returns a conversation; None: there is none."""
        async with self._db.reading() as conn:
            row = await sql.row(conn, "conversation", project_id=project_id, scope=scope, conversation=conversation)
        return None if row is None else _conversation(row)

    async def page(
        self,
        project_id: int,
        *,
        scope: str | None,
        limit: int,
        prefix: str | None = None,
        before: tuple[int, str, str] | None = None,
    ) -> Sequence[ConversationRow]:
        """Returns conversations, those saved last first; `scope` None: of all scopes. `prefix`: those whose id begins
        with this; None: all but those with an unlisted id. `before`: (updated_ns, scope, id) of the last one of the
        previous page."""
        at = before or _NEWEST
        async with self._db.reading() as conn:
            if not prefix or await sql.cipher_of(conn, project_id) is None:
                return await _page(conn, project_id, scope, prefix, limit, at)
            # The beginning of an encrypted id is not that of its token.
            found: list[ConversationRow] = []
            while True:
                page = await _page(conn, project_id, scope, kept_prefix(prefix), _AT_A_TIME, at)
                found += [row for row in page if row.id.startswith(prefix)]
                if len(found) >= limit or len(page) < _AT_A_TIME:
                    return found[:limit]
                at = page[-1].updated_ns, page[-1].scope, page[-1].id

    async def save(self, project_id: int, new: ConversationSave) -> SaveOutcome:
        """Saves a head if nobody else has saved the conversation since the writer read it. What was saved already and
        is sent again counts as saved."""
        return await self._db.transact(lambda conn: self._save(conn, project_id, new))

    async def delete(self, project_id: int, conversation: str, scope: str) -> bool:
        """Deletes a conversation; what only it named goes with the next sweep. Returns False when there is none."""
        async with self._db.transaction() as conn:
            where = {"scope": scope, "conversation": conversation}
            if not await sql.value(conn, "delete_conversation", project_id=project_id, **where):
                return False
            await sql.run(conn, "sweep_later", project_id=project_id, now=self._clock())
            return True

    async def records(self, project_id: int, row: ConversationRow, after: int, limit: int) -> ReadRecords:
        """Returns the records of a conversation behind the first `after`: at most `limit`, and about 4 MiB."""
        if row.log is None:
            return ReadRecords([])
        async with self._db.reading() as conn:
            return await conversation_records.read(conn, self._packs, project_id, row.log, after, limit)

    async def _save(self, conn: Conn, project_id: int, new: ConversationSave) -> SaveOutcome:
        # Before the row is locked: a sweep that runs now learns of what is named, and does not delete it.
        lost = await self._lost(conn, project_id, new)
        if lost is not None:
            return SaveOutcome(None, saved=False, missing=lost)
        where = {"project_id": project_id, "scope": new.scope, "conversation": new.id}
        stored = await sql.row(conn, "lock_conversation", **where)
        if stored is None:
            return await self._begin(conn, where, new) if new.revision == 0 else SaveOutcome(None, saved=False)
        found = _conversation(stored)
        if (found.log is None) is not (new.records is None):
            return SaveOutcome(found, saved=False, is_other_kind=True)
        before = None if new.replaces else found.head
        head = new.head if new.records is None else conversation_records.head_of(new.records, before)
        if found.revision != new.revision:
            is_sent_again = found.revision == new.revision + new.saves and found.head == _sent_head(new, head)
            return SaveOutcome(found, saved=is_sent_again and not new.unrepeated)
        if new.previous is not None and found.head != new.previous:
            return SaveOutcome(found, saved=False)
        messages = await self._count(conn, project_id, new, 0 if new.replaces else found.messages)
        if messages <= found.messages:  # it does not go on from what was there, which nobody may name any more
            await sql.run(conn, "sweep_later", project_id=project_id, now=self._clock())
        digest = None if head is None else head.digest
        row = await sql.row(conn, "move_conversation", **where, head=digest, messages=messages, saves=new.saves)
        if new.records is not None and found.log is not None:
            if new.replaces:
                await sql.run(conn, "clear_records", log=found.log)
            after = messages - len(new.records)
            await conversation_records.add(conn, project_id, found.log, after, new.records, new.masked)
        return SaveOutcome(found if row is None else _conversation(row), saved=row is not None)

    async def _begin(self, conn: Conn, where: Mapping[str, Any], new: ConversationSave) -> SaveOutcome:
        project_id: int = where["project_id"]
        head = new.head if new.records is None else conversation_records.head_of(new.records, None)
        messages = await self._count(conn, project_id, new, 0)
        parent, parent_revision = new.parent or (None, None)
        row = await sql.row(
            conn, "begin_conversation", **where, head=None if head is None else head.digest, messages=messages,
            saves=new.saves, parent=parent, parent_revision=parent_revision, is_log=new.records is not None,
        )  # fmt: skip
        if row is None:
            raise Collision("a conversation was begun by two at once")
        if new.records is not None:
            await conversation_records.add(conn, project_id, row["log"], 0, new.records, new.masked)
        return SaveOutcome(_conversation(row), saved=True)

    async def _lost(self, conn: Conn, project_id: int, new: ConversationSave) -> ContentRef | None:
        """Returns what is named and not stored; None: all is."""
        write_context = await begin_write(conn, project_id)
        if new.records is not None:
            named = conversation_records.refs_of(new.records)
        else:
            named = [] if new.head is None else [new.head]
        missing = await content_rows.missing(conn, self._packs, write_context, named, date_of(self._clock()))
        if missing:
            return missing[0]
        is_thread = new.head is None or await threads.length(conn, self._packs, project_id, new.head) is not None
        return None if is_thread else new.head

    async def _count(self, conn: Conn, project_id: int, new: ConversationSave, before: int) -> int:
        """The number of messages of the thread, or of records."""
        if new.records is not None:
            return before + len(new.records)
        return 0 if new.head is None else await threads.length(conn, self._packs, project_id, new.head) or 0


async def _page(
    conn: Conn, project_id: int, scope: str | None, prefix: str | None, limit: int, before: tuple[int, str, str]
) -> list[ConversationRow]:
    before_ns, before_scope, before_id = before
    rows = await sql.rows(
        conn, "conversations", project_id=project_id, scope=scope, prefix=prefix, unlisted=list(UNLISTED_ID_PREFIXES),
        how_many=limit, before_ns=before_ns, before_scope=before_scope, before_conversation=before_id,
    )  # fmt: skip
    return [_conversation(row) for row in rows]


def _sent_head(new: ConversationSave, head: ContentRef | None) -> ContentRef | None:
    """The head that this save has made if it came before. Of records, from the head that the writer has read."""
    if new.records is None:
        return head
    return conversation_records.head_of(new.records, None if new.replaces else new.previous)


def _conversation(row: Record) -> ConversationRow:
    parent = None if row["parent_id"] is None else (row["parent_id"], row["parent_revision"])
    return ConversationRow(
        row["conversation_id"], row["scope"], row["revision"],
        None if row["head"] is None else ContentRef.from_digest(row["head"]), row["messages"], parent,
        row["created_ns"], row["updated_ns"], row["log"],
    )  # fmt: skip
