"""Where conversations are kept: at the collector while it answers, else in the journal's folder, as pending.

What is pending is brought to the collector when that answers again: before anything else is saved or read there, and
by `playhead.flush()`. If another writer has saved the conversation there meanwhile, the pending one becomes a branch,
with a warning.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, TypeVar

from playhead.conversations.folder import ConversationFolder, PendingConversation, ThreadContents, moved
from playhead.conversations.heads import ConversationChange, ConversationHead, ThreadPart, conflict
from playhead.conversations.kept_notes import KeptNotes
from playhead.conversations.records import bring_records, records_at, saved_records
from playhead.errors import BadRequest, CannotRestore, ClientError, Conflict, NotFound
from playhead.export.http import without_instrumentation
from playhead.kernel.guard import guarded
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.recording import RecordingProcess, current_settings
from playhead.settings.sdk import Settings
from playhead.wire.operations.conversations import HISTORY_ID_PREFIX, is_kept_as_records, is_listed

if TYPE_CHECKING:
    from playhead.client import Client

log = logging.getLogger("playhead")
T = TypeVar("T")

# A collector that takes longer counts as down, and is not asked again for a while: a turn must not wait for it.
REQUEST_SECONDS = 5.0
_TRY_AGAIN_SECONDS: Final = 10.0
_BRANCH_DIGITS: Final = 8


class ConversationStore:
    """Keeps conversations. Safe for threads. Methods raise JournalUnusable, and ClientError for what the collector
    refuses as invalid."""

    def __init__(
        self,
        folder: ConversationFolder,
        client: "Callable[[], Client] | None",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`client` makes a client of the collector; None: there is none, and all stays in the folder."""
        self._folder = folder
        self._make = client
        self._now = now
        self._next_try = float("-inf")
        self.notes = KeptNotes(folder.journal_dir, self.ask)

    @property
    def is_away(self) -> bool:
        """Whether the collector did not answer a moment ago, so that what it has is not known."""
        return self._make is not None and self._now() < self._next_try

    # --- heads -------------------------------------------------------------------------------------------------------

    def read(self, conversation: str, scope: str, known: ConversationHead | None = None) -> ConversationHead | None:
        """Returns a conversation; None: there is none. While the collector does not answer, that of the folder, else
        `known`, which the caller has read before."""
        from playhead.conversations.at_collector import head_at  # noqa: PLC0415 - HTTP, only for a collector

        def ask(client: "Client") -> tuple[ConversationHead | None] | None:
            if not self._is_brought(client, conversation, scope):
                return None
            return (head_at(client, conversation, scope),)

        found = self.ask(ask)
        if found is not None:
            return found[0]
        pending = self._folder.read(conversation, scope)
        if pending is None and self._make is not None:
            if known is not None:
                return known
            log.warning(
                "the collector does not answer: the conversation %s goes on without what is stored there, if anything; "
                "what is saved now becomes a branch if there is",
                conversation,
            )
        return None if pending is None else pending.head

    def save(self, change: ConversationChange) -> ConversationHead:
        """Saves a conversation: durably, at the collector or in the folder, once this returns. Raises
        ConversationConflict."""

        def ask(client: "Client") -> ConversationHead | None:
            if not self._is_brought(client, change.id, change.scope):
                return None
            return saved_records(client, change) if is_kept_as_records(change.id) else _saved_at(client, change)

        saved = self.ask(ask)
        return self._folder.save(change) if saved is None else saved

    def heads(self, scope: str | None, limit: int | None, prefix: str | None = None) -> list[ConversationHead]:
        """Returns conversations, those saved last first: of this scope, or of all (None). `prefix`: those whose id
        begins with this; None: those that people hold, without what is only kept as one."""
        from playhead.conversations.at_collector import head_of  # noqa: PLC0415 - see above

        self.deliver()
        stored = self.ask(
            lambda client: [head_of(each) for each in client.conversations(scope=scope, prefix=prefix, limit=limit)]
        )
        here = [
            pending.head
            for pending in self._folder.all()
            if scope in (None, pending.head.scope) and is_listed(pending.head.id, prefix)
        ]
        by_name = {(head.scope, head.id): head for head in (*(stored or ()), *here)}
        return sorted(by_name.values(), key=lambda head: head.updated, reverse=True)[:limit]

    def delete(self, conversation: str, scope: str) -> bool:
        """Deletes a conversation, here and at the collector. Returns whether there was one. Raises
        CollectorUnreachable, and deletes nothing, if the collector may have it and does not answer."""
        deleted = False
        if self._make is not None:
            with without_instrumentation(), self._make() as client:
                deleted = client.delete_conversation(conversation, scope=scope)["deleted"]
        return self._folder.delete(conversation, scope) or deleted

    # --- messages ----------------------------------------------------------------------------------------------------

    def threads(
        self, heads: Sequence[ContentRef], of: ConversationHead | None = None, last: int | None = None
    ) -> ThreadContents:
        """Returns the messages of threads (`last`: at least so many of each): those in the folder (of the conversation
        `of`), and the others from the collector. Raises CollectorUnreachable, and CannotRestore for what is not
        stored."""
        from playhead.conversations.at_collector import stored_threads  # noqa: PLC0415 - see above

        known = ThreadContents()
        if of is not None and of.is_pending and (pending := self._folder.read(of.id, of.scope)) is not None:
            known = self._folder.threads(pending)
        if all(known.path(head)[0] is None for head in heads):
            return known
        if self._make is None:
            raise CannotRestore("these messages are not in the journal's folder, and there is no collector")
        with without_instrumentation(), self._make() as client:
            return stored_threads(client, heads, known, last)

    def records(self, head: ConversationHead, after: int) -> list[Content] | None:
        """Returns the records of a conversation that is kept as records, behind the first `after`, first to last. None:
        it is not what the head names any more. Raises CollectorUnreachable, and CannotRestore if some are at a
        collector that does not answer."""
        if head.is_pending:
            return self._pending_records(head, after)
        if self._make is None:
            raise CannotRestore(f"{head.id} is not in the journal's folder, and there is no collector")
        with without_instrumentation(), self._make() as client:
            return records_at(client, head, after)

    def _pending_records(self, head: ConversationHead, after: int) -> list[Content] | None:
        pending = self._folder.read(head.id, head.scope)
        if pending is None or pending.head != head:
            return None
        here = self._folder.threads(pending)
        before, refs = here.path(head.head)
        records = [here.contents[ref] for ref in refs]
        if before is None or head.messages - len(refs) <= after:
            return records[max(0, after - (head.messages - len(refs))) :]
        if self.is_away or self._make is None:
            raise CannotRestore(
                f"{head.id} has been begun at the collector, which does not answer: it can be read when it does"
            )
        scope = f" --scope {quote(head.scope)}" if head.scope else ""
        raise CannotRestore(
            f"{head.id} cannot be read: the collector refuses what is pending of it, since what that follows was "
            f"deleted. To begin it anew, delete it: `playhead conversation {quote(head.id)}{scope} --delete`"
        )

    def fetch(self, refs: Sequence[ContentRef], known: ThreadContents, of: ConversationHead | None) -> None:
        """Adds the contents and threads with these refs to what is known: what is in the folder of the conversation
        `of`, and the others from the collector; of threads, the nodes. Leaves out what is not stored. Raises
        CollectorUnreachable."""
        from playhead.conversations.at_collector import fetch  # noqa: PLC0415 - see above

        if of is not None and of.is_pending and (pending := self._folder.read(of.id, of.scope)) is not None:
            here = self._folder.threads(pending)
            known.contents.update(here.contents)
            known.nodes.update(here.nodes)
        rest = [ref for ref in refs if ref not in known.contents and not known.is_whole(ref)]
        if rest and self._make is not None:
            with without_instrumentation(), self._make() as client:
                fetch(client, rest, known)

    def persist_thread(self, part: ThreadPart, scope: str) -> bool:
        """Stores a thread at the collector, where it stays until it is deleted. Returns whether the collector has
        acknowledged it. Sends only what is not stored there."""
        from playhead.conversations.at_collector import upload, without_stored  # noqa: PLC0415 - see above

        def ask(client: "Client") -> bool:
            upload(client, [without_stored(client, part)])
            name = f"{HISTORY_ID_PREFIX}{part.head}"
            client.save_conversation(name, part.head, revision=0, scope=scope)
            return True

        try:
            return self.ask(ask) or False
        except ClientError as error:  # such as messages that are too large for it
            log.warning("the collector does not take a history (%s): it is handed on as a list", error)
            return False

    def delete_thread(self, head: ContentRef, scope: str) -> bool:
        """Frees a thread. Returns whether there was one. Raises ClientError."""
        return self.delete(f"{HISTORY_ID_PREFIX}{head}", scope)

    # --- what is pending ----------------------------------------------------------------------------------------------

    def deliver(self, seconds: float = 60.0) -> bool:
        """Brings to the collector what is pending in the folder, with the notes. Begins no other conversation after so
        many seconds. Returns whether nothing is left there."""
        if self._make is None:
            return True
        until = self._now() + seconds
        for pending in [*self._folder.all()]:
            head = pending.head
            if self._now() < until:
                try:
                    self.ask(lambda client, head=head: self._deliver_one(client, head.id, head.scope))
                except ClientError as error:  # the others are brought all the same
                    log.warning("the conversation %s stays in the journal's folder: %s", head.id, error)
        all_notes = self.notes.deliver()
        return all_notes and next(self._folder.all(), None) is None

    def _is_brought(self, client: "Client", conversation: str, scope: str) -> bool:
        """Brings what is pending of a conversation. Returns False if the collector refuses it: it goes on in the folder
        then."""
        try:
            self._deliver_one(client, conversation, scope)
        except BadRequest as error:  # such as a message that is too large for it
            log.warning("the conversation %s stays in the journal's folder: %s", conversation, error)
            return False
        return True

    def _deliver_one(self, client: "Client", conversation: str, scope: str) -> None:
        if self._folder.read(conversation, scope) is None:
            return
        with self._folder.locked(conversation, scope):
            pending = self._folder.read(conversation, scope)
            if pending is not None:
                stored = self._folder.threads(pending)
                if is_kept_as_records(conversation):
                    bring_records(client, pending, stored)
                else:
                    bring(client, pending, stored)
                self._folder.delete_locked(conversation, scope)

    def ask(self, question: "Callable[[Client], T]") -> T | None:
        """Returns the collector's answer; None: it does not answer now. Raises ClientError for what it refuses."""
        if self._make is None or self._now() < self._next_try:
            return None
        try:
            with without_instrumentation(), self._make() as client:  # closed: a forked child would share it
                return question(client)
        except (BadRequest, Conflict, NotFound):
            raise
        except ClientError as error:  # it is not there, wants another key, or fails
            self._next_try = self._now() + _TRY_AGAIN_SECONDS
            log.warning("conversations are kept in the journal's folder for now, as pending: %s", error)
            return None


def _saved_at(client: "Client", change: ConversationChange) -> ConversationHead:
    from playhead.conversations.at_collector import head_at, head_of, upload  # noqa: PLC0415 - see above

    def put() -> ConversationHead:
        parent_id, parent_revision = change.parent if change.parent is not None else (None, None)
        return head_of(
            client.save_conversation(
                change.id, change.added.head, revision=change.revision, scope=change.scope, previous_head=change.read,
                parent_id=parent_id, parent_revision=parent_revision, unrepeated=change.unrepeated,
            )
        )  # fmt: skip

    try:
        upload(client, [change.added])
        try:
            return put()
        except BadRequest as error:  # the thread that these messages follow was deleted
            if error.code != "thread_not_stored":
                raise
            whole = change.whole()
            if whole.parent is not None:
                theirs = head_at(client, change.id, change.scope)
                raise conflict(change.id, 0 if theirs is None else theirs.revision, change.revision) from error
            upload(client, [whole])
            return put()
    except (Conflict, NotFound) as error:
        theirs = head_at(client, change.id, change.scope)
        ours = change.added.head if change.added.messages and not change.unrepeated else None
        if theirs is not None and ours is not None and _is_beginning_of(client, ours, theirs.head):
            return theirs  # sent again by a resumed run, after others went on
        raise conflict(change.id, 0 if theirs is None else theirs.revision, change.revision) from error


def bring(client: "Client", pending: PendingConversation, stored: ThreadContents) -> ConversationHead:
    """Saves a pending conversation at the collector: where it began, where the collector's goes on to, or as a branch.
    Sent again after a lost answer, it is saved once. Raises ClientError."""
    from playhead.conversations.at_collector import head_at, upload  # noqa: PLC0415 - see above

    ours = pending.head
    parent, messages = stored.path(ours.head)
    upload(client, [ThreadPart(parent, messages, [*stored.contents.values()])])
    try:
        return _put(client, pending, pending.base, pending.base_head, ours.revision - pending.base)
    except (Conflict, NotFound):
        pass
    except BadRequest as error:
        if error.code != "thread_not_stored" or parent is None or not messages:
            raise
        return _bring_rest(client, pending, ThreadPart(None, messages, [*stored.contents.values()]))
    theirs = head_at(client, ours.id, ours.scope)
    if theirs is None:  # it was deleted meanwhile
        return _put(client, pending, 0, None, ours.revision)
    if theirs.head == ours.head or _is_beginning_of(client, ours.head, theirs.head):
        return theirs
    if theirs.head is None or theirs.head in stored.nodes:
        return _put(client, pending, theirs.revision, theirs.head, max(1, ours.revision - theirs.revision))
    return _branched(client, pending, theirs)


def _bring_rest(client: "Client", pending: PendingConversation, rest: ThreadPart) -> ConversationHead:
    """Saves a pending conversation without the messages before it, which were deleted at the collector meanwhile."""
    ours = pending.head
    log.warning(
        "%d messages of the conversation %s that were saved before are not stored any more: what was saved here while "
        "no collector answered goes on without them",
        ours.messages - len(rest.messages), ours.id,
    )  # fmt: skip
    stored = ThreadContents()
    stored.add(rest)
    head = replace(ours, head=rest.head, messages=len(rest.messages))
    return bring(client, PendingConversation(head, 0, None, pending.size), stored)


def _is_beginning_of(client: "Client", ours: ContentRef | None, theirs: ContentRef | None) -> bool:
    """Whether the thread at the collector has all messages of the pending one, and more."""
    if ours is None or theirs is None:
        return ours is None
    threads = ThreadContents()
    pack, _ = client.content_pack([theirs])
    for extension in pack.threads:
        threads.add(ThreadPart(extension.parent, extension.messages))
    return ours in threads.nodes


def _branched(client: "Client", pending: PendingConversation, theirs: ConversationHead) -> ConversationHead:
    digest = (pending.head.head or ContentRef("sha256:0")).partition(":")[2]
    branch = moved(pending, f"{pending.head.id}/branch-{digest[:_BRANCH_DIGITS]}")
    saved = _put(client, branch, 0, None, 1)
    log.warning(
        "another writer has saved the conversation %s while no collector answered here (it has revision %d): what was "
        "saved here is the branch %s",
        pending.head.id, theirs.revision, saved.id,
    )  # fmt: skip
    return saved


def _put(
    client: "Client", pending: PendingConversation, revision: int, previous: ContentRef | None, saves: int
) -> ConversationHead:
    from playhead.conversations.at_collector import head_of  # noqa: PLC0415 - see above

    head = pending.head
    parent_id, parent_revision = head.parent if head.parent is not None else (None, None)
    return head_of(
        client.save_conversation(
            head.id, head.head, revision=revision, scope=head.scope, previous_head=previous, saves=saves,
            parent_id=parent_id, parent_revision=parent_revision,
        )
    )  # fmt: skip


# --- the store of this process ----------------------------------------------------------------------------------------


class _ProcessStore:
    key: tuple[Path, str | None, str | None, str | None] | None = None
    store: ConversationStore | None = None


def conversation_store() -> ConversationStore:
    """Returns the store for the settings of this process. Raises SettingInvalid."""
    settings = current_settings()
    key = (settings.journal_dir, _endpoint(settings), settings.api_key, settings.project)
    store = _ProcessStore.store
    if store is None or _ProcessStore.key != key:
        store = store_of(settings)
        _ProcessStore.key, _ProcessStore.store = key, store
    RecordingProcess.deliver_conversations = deliver_conversations
    return store


def store_of(settings: Settings) -> ConversationStore:
    """Makes a store for these settings."""
    client = None if _endpoint(settings) is None else lambda: _client(settings)
    return ConversationStore(ConversationFolder(settings.journal_dir), client)


def deliver_conversations(seconds: float) -> bool:
    """Brings to the collector what is pending in the journal's folder. Returns whether nothing is left there."""
    with guarded("bring conversations to the collector"):
        return conversation_store().deliver(seconds)
    return False


def _endpoint(settings: Settings) -> str | None:
    """Where conversations go; None: nowhere. With PLAYHEAD_CAPTURE_CONTENT=false, no message leaves the machine."""
    return settings.endpoint if settings.capture_content else None


def _client(settings: Settings) -> "Client":
    from playhead.client import Client  # noqa: PLC0415 - HTTP, only for a collector

    return Client(settings.collector, settings.api_key, project=settings.project, timeout_seconds=REQUEST_SECONDS)
