"""serve → [store]: conversations. A head names a thread, so that nothing is stored for each message.

A head keeps its thread with all messages from being swept (`mark_stated` in gc.sql).
"""

from collections.abc import Callable, Sequence

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead_collector.store.ports.conversations import ConversationRow, ConversationSave, SaveOutcome
from playhead_collector.store.postgres import content_rows, threads
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Collision, Database, begin_write
from playhead_collector.store.postgres.ingest import date_of
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.runs import BIGINT
from playhead_collector.store.postgres.statements import Conn


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
        self, project_id: int, *, scope: str | None, limit: int, before: tuple[int, str, str] | None = None
    ) -> Sequence[ConversationRow]:
        """Returns conversations, those saved last first; `scope` None: of all scopes. `before`: (updated_ns, scope, id)
        of the last one of the previous page."""
        before_ns, before_scope, before_id = before or (BIGINT, "", "")
        behind = {"before_ns": before_ns, "before_scope": before_scope, "before_conversation": before_id}
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "conversations", project_id=project_id, scope=scope, how_many=limit, **behind)
        return [_conversation(row) for row in rows]

    async def save(self, project_id: int, new: ConversationSave) -> SaveOutcome:
        """Saves a head if nobody else has saved the conversation since the writer read it. What was saved already and
        is sent again counts as saved."""
        return await self._db.transact(lambda conn: self._save(conn, project_id, new))

    async def delete(self, project_id: int, conversation: str, scope: str) -> bool:
        """Deletes a conversation; what only it named goes with the next sweep. Returns False when there is none."""
        async with self._db.transaction() as conn:
            where = {"scope": scope, "conversation": conversation}
            if not await sql.run(conn, "delete_conversation", project_id=project_id, **where):
                return False
            await sql.run(conn, "sweep_later", project_id=project_id, now=self._clock())
            return True

    async def _save(self, conn: Conn, project_id: int, new: ConversationSave) -> SaveOutcome:
        # Before the row is locked: a sweep that runs now learns of the head, and does not delete it.
        messages = await self._length(conn, project_id, new.head)
        if messages is None:
            return SaveOutcome(None, saved=False, is_head_stored=False)
        where = {"project_id": project_id, "scope": new.scope, "conversation": new.id}
        head = {"head": None if new.head is None else new.head.digest, "messages": messages, "saves": new.saves}
        stored = await sql.row(conn, "lock_conversation", **where)
        if stored is None:
            if new.revision > 0:
                return SaveOutcome(None, saved=False)
            parent, parent_revision = new.parent or (None, None)
            row = await sql.row(
                conn, "begin_conversation", **where, **head, parent=parent, parent_revision=parent_revision
            )
            if row is None:
                raise Collision("a conversation was begun by two at once")
            return SaveOutcome(_conversation(row), saved=True)
        found = _conversation(stored)
        if found.revision != new.revision:
            is_sent_again = found.revision == new.revision + new.saves and found.head == new.head
            return SaveOutcome(found, saved=is_sent_again and not new.unrepeated)
        if new.previous is not None and found.head != new.previous:
            return SaveOutcome(found, saved=False)
        row = await sql.row(conn, "move_conversation", **where, **head)
        return SaveOutcome(found if row is None else _conversation(row), saved=row is not None)

    async def _length(self, conn: Conn, project_id: int, head: ContentRef | None) -> int | None:
        """The number of messages of a thread; None: it is not stored."""
        write_context = await begin_write(conn, project_id)
        if head is None:
            return 0
        today = date_of(self._clock())
        if await content_rows.missing(conn, self._packs, write_context, [head], today):
            return None
        return await threads.length(conn, self._packs, project_id, head)


def _conversation(row: Record) -> ConversationRow:
    parent = None if row["parent_id"] is None else (row["parent_id"], row["parent_revision"])
    return ConversationRow(
        row["conversation_id"], row["scope"], row["revision"],
        None if row["head"] is None else ContentRef.from_digest(row["head"]), row["messages"], parent,
        row["created_ns"], row["updated_ns"],
    )  # fmt: skip
