"""Conversations that are kept as records, at the collector. Every function raises ClientError.

Records of two writers may be in any order, as long as each writer's are in its own: so what was kept in the journal's
folder while no collector answered is appended to what others have saved meanwhile, and needs no branch.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from playhead.conversations.folder import PendingConversation, ThreadContents
from playhead.conversations.heads import ConversationChange, ConversationHead, ThreadPart, conflict
from playhead.errors import Conflict, MaskedContent, NotFound
from playhead.model.canonical import JSON, Content
from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from playhead.wire.operations.conversations import MOST_RECORDS

if TYPE_CHECKING:
    from playhead.client import Client

# Within the limits of a collector with its default settings.
_MOST_BYTES: Final = 4 * 2**20
_ATTEMPTS: Final = 20


def saved_records(client: "Client", change: ConversationChange) -> ConversationHead:
    """Saves a change. Raises ConversationConflict."""
    from playhead.conversations.at_collector import head_at  # noqa: PLC0415 - HTTP, only for a collector

    replaces = change.added.parent is None and change.read is not None
    try:
        return _saved(client, (change.id, change.scope), change.revision, change.read, change.added, replaces=replaces)
    except (Conflict, NotFound) as error:
        theirs = head_at(client, change.id, change.scope)
        raise conflict(change.id, 0 if theirs is None else theirs.revision, change.revision) from error


def records_at(client: "Client", head: ConversationHead, after: int) -> list[Content] | None:
    """Returns the records behind the first `after`; None: the conversation is not what the head names any more."""
    records: list[Content] = []
    while after + len(records) < head.messages:
        try:
            stored = client.conversation(head.id, scope=head.scope, records_after=after + len(records))
        except NotFound:
            return None
        if stored["revision"] != head.revision or stored["head"] != head.head or not stored["records"]:
            return None
        if stored.get("masked"):  # an older collector does not say it
            raise MaskedContent(
                f"records of {head.id} were masked by the redaction rules of its project at the collector: a program "
                "must not be given them as what was saved. Begin another conversation"
            )
        records += [Content(text.encode(), JSON) for text in stored["records"]]
    return records


def bring_records(client: "Client", pending: PendingConversation, stored: ThreadContents) -> None:
    """Appends what is pending to what is at the collector. What has arrived there before an answer was lost is not
    appended again, unless another writer has gone on: then records come twice, which changes nothing."""
    from playhead.conversations.at_collector import head_at  # noqa: PLC0415 - see above

    ours = pending.head
    before, refs = stored.path(ours.head)
    nodes = [node.ref for node in extend(refs, before)]
    for _ in range(_ATTEMPTS):
        theirs = head_at(client, ours.id, ours.scope)
        revision, head = (0, None) if theirs is None else (theirs.revision, theirs.head)
        arrived = 0 if head is None or head not in nodes else nodes.index(head) + 1
        is_replacement = theirs is not None and before is None and head == pending.base_head
        if arrived == len(refs) and not is_replacement:
            return
        added = ThreadPart(head, refs[arrived:], [*stored.contents.values()])
        with suppress(Conflict, NotFound):
            _saved(client, (ours.id, ours.scope), revision, head, added, replaces=is_replacement)
            return
    raise conflict(ours.id, pending.base + 1, pending.base)


def _saved(
    client: "Client",
    name: tuple[str, str],
    revision: int,
    head: ContentRef | None,
    added: ThreadPart,
    *,
    replaces: bool,
) -> ConversationHead:
    """Sends records, in requests that the collector takes. `name`: id and scope."""
    from playhead.conversations.at_collector import head_of, upload  # noqa: PLC0415 - see above

    records, named = added.split()
    upload(client, [named])
    (id, scope), saved = name, None  # noqa: A001 - the word for it
    for batch in _batches(records):
        saved = head_of(
            client.save_conversation(
                id,
                revision=revision,
                scope=scope,
                previous_head=head,
                records=batch,
                replaces=replaces and saved is None,
            )
        )
        revision, head = saved.revision, saved.head
    return cast(ConversationHead, saved)


def _batches(records: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cuts records; yields at least one batch, which may be empty."""
    batch: list[str] = []
    size = 0
    for record in records:
        if batch and (len(batch) >= MOST_RECORDS or size + len(record) > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += len(record)
    yield batch
