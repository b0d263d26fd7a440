"""`playhead conversations` and `playhead conversation`: what goes on over runs, at the collector and in the journal.

Conversations in the journal's folder wait for a collector there. These commands read them as they are, and bring them
nowhere: a program, or `playhead ship`, does that.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.cli.options import Json, Limit, first_rows
from playhead.conversations.folder import ConversationFolder, PendingConversation
from playhead.errors import CannotRestore, NotFound
from playhead.model.message import Message
from playhead.settings.sdk import load
from playhead.wire.operations.conversations import StoredConversation, is_kept_as_records, is_listed

ConversationArgument = Annotated[
    str, typer.Argument(help="Id of the conversation, such as user-7/support.", show_default=False)
]
Scope = Annotated[str | None, typer.Option(help="Only those of this scope.", show_default=False)]
OneScope = Annotated[str, typer.Option(help="The scope of the conversation.", show_default=False)]


def conversations(ctx: typer.Context, scope: Scope = None, limit: Limit = 50, json: Json = False) -> None:
    """List conversations, those that were saved last first; `pending` ones wait in the journal for a collector."""
    rows = [
        _row(pending)
        for pending in _folder().all()
        if scope in (None, pending.head.scope) and is_listed(pending.head.id, None)
    ]
    address = ctx.ensure_object(CollectorAddress)
    if not address.asks_journal:
        here = {(row["scope"], row["id"]) for row in rows}
        with address.ask_collector() as client:
            stored = client.conversations(scope=scope, limit=limit + 1)
            rows += [row for row in stored if (row["scope"], row["id"]) not in here]
    rows.sort(key=lambda row: row["updated"], reverse=True)
    waiting = {(pending.head.scope, pending.head.id) for pending in _folder().all()}
    columns: output.Columns[StoredConversation] = (
        ("id", lambda row: row["id"]),
        ("scope", lambda row: row["scope"]),
        ("revision", lambda row: row["revision"]),
        ("messages", lambda row: row["messages"]),
        ("branch of", lambda row: row["parent"] and row["parent"]["id"]),
        ("saved", lambda row: row["updated"]),
        ("kept", lambda row: "pending" if (row["scope"], row["id"]) in waiting else None),
    )
    output.list_as(json, first_rows(ctx, "conversations", rows, limit), columns)


def conversation(
    ctx: typer.Context,
    conversation: ConversationArgument,
    scope: OneScope = "",
    delete: Annotated[bool, typer.Option("--delete", help="Delete it.")] = False,
    json: Json = False,
) -> None:
    """Show a conversation with its messages; with --delete, delete it."""
    address = ctx.ensure_object(CollectorAddress)
    if delete:
        deleted = False
        if not address.asks_journal:  # first: if it does not answer, nothing is deleted
            with address.ask_collector() as client:
                deleted = client.delete_conversation(conversation, scope=scope)["deleted"]
        deleted = _folder().delete(conversation, scope) or deleted
        output.answer_as(json, {"deleted": deleted}, output.facts)
        return
    pending = _folder().read(conversation, scope)
    if pending is not None:
        row, messages = _row(pending), _messages(pending)
    elif address.asks_journal:
        raise NotFound(f"there is no conversation {conversation} in the journal: `playhead conversations` lists them")
    else:
        with address.ask_collector() as client:
            row = client.conversation(conversation, scope=scope)
            head = None if is_kept_as_records(conversation) else row["head"]
            messages = [] if head is None else client.thread(head)["messages"]
    if json:
        output.as_json({**row, "thread": messages})
        return
    output.facts({name: value for name, value in row.items() if name != "parent"})
    before = row["messages"] - len(messages) if messages else 0
    if before:
        output.echo(f"{output.counted(before, 'message')} before these: only at the collector, not shown")
    for number, message in enumerate(messages, 1 + before):
        value = message if output.is_message(message) else None
        output.message(f"{number} ", output.role_of(value), value)


def _folder() -> ConversationFolder:
    return ConversationFolder(load().journal_dir)


def _row(pending: PendingConversation) -> StoredConversation:
    head = pending.head
    parent = head.parent
    return {
        "id": head.id, "scope": head.scope, "revision": head.revision, "head": head.head, "messages": head.messages,
        "records": [], "masked": False, "parent": None if parent is None else {"id": parent[0], "revision": parent[1]},
        "created": head.created, "updated": head.updated,
    }  # fmt: skip


def _messages(pending: PendingConversation) -> Sequence[Message | None]:
    """The messages that are in the folder; None for one that was redacted, or that only the collector has."""
    from playhead.conversations.messages import restored_message  # noqa: PLC0415 - loads the dialects of all clients

    if is_kept_as_records(pending.head.id):
        return []
    threads = _folder().threads(pending)
    _, refs = threads.path(pending.head.head)
    messages: list[Message | None] = []
    for ref in refs:
        try:
            messages.append(restored_message(ref, threads.contents))
        except CannotRestore:
            messages.append(None)
    return messages
