"""Commands that read a run: events (also live), state, context, messages, content."""

import base64
from collections.abc import Callable
from typing import Annotated, Any, Literal, cast

import typer

from playhead.cli import output
from playhead.cli.connection import ask, complete_run, run_id
from playhead.cli.options import At, Json, Limit, Run, first_rows
from playhead.model.canonical import Content
from playhead.model.message import Message
from playhead.wire.operations import CheckpointEntry, ContextAt, EventsMoved, HistoryEntry, RecordedEvent, StateAt
from playhead.wire.operations.content import ContentAbout, ContentRun

# Characters of a value beside an event, and with `--values`: the maximum that the API returns.
_SHORT, _LONG = 120, 10_000
_Kinds = Annotated[
    list[str] | None, typer.Option(help="Only these kinds, separated by commas, or repeated.", show_default=False)
]
_INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended
_ID_END = 8  # digits shown of a run's id, from its end, which is random
# Fields that are not shown: messages have events of their own, and `--json` and `context` show the rest.
_NOT_SHOWN = frozenset({"request", "response", "tools", "system"})


def events(
    ctx: typer.Context,
    run: Run,
    kinds: _Kinds = None,
    priority: Annotated[Literal["critical", "normal"] | None, typer.Option(show_default=False)] = None,
    after: Annotated[int, typer.Option(min=0, help="Only events behind this seq.")] = 0,
    values: Annotated[
        bool, typer.Option("--values", help=f"Values up to {_LONG:,} characters each, instead of {_SHORT}.")
    ] = False,
    last: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Only the last so many.", show_default=False)
    ] = None,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """List what happened in a run, in order, with arguments, results and messages.

    Branches that ran at the same time are told apart by `playhead tree`.
    """
    preview = _LONG if values else 0 if json else _SHORT
    with ask(ctx) as client:
        listing = client.events(
            run_id(client, run), kinds=kinds or (), priority=priority, after=after, preview=preview, last=last,
            limit=limit + 1,
        )  # fmt: skip
        rows = first_rows(ctx, "events", listing, limit)
    output.list_as(json, rows, _EVENT_COLUMNS)


def watch(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            help="A run's id, any part of it that no other run has, or `last`; without it, all runs from now on.",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = None,
    kinds: _Kinds = None,
    priority: Annotated[Literal["critical", "normal"] | None, typer.Option(show_default=False)] = None,
    after: Annotated[int, typer.Option(min=0, help="Only events behind this seq.")] = 0,
    values: Annotated[
        bool, typer.Option("--values", help=f"Values up to {_LONG:,} characters each, instead of {_SHORT}.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print each event as JSON on a line.")] = False,
) -> None:
    """Follow a run as it happens, until it has ended. Ctrl-C stops watching, not the run.

    Events that are there already come first. A connection that is lost is made again, and nothing is missed.
    """
    preview = _LONG if values else 0 if json else _SHORT
    columns = _EVENT_COLUMNS if run is not None else (_RUN_COLUMN, *_EVENT_COLUMNS)
    try:
        with ask(ctx) as client:
            stream = client.watch(
                run, after=after, kinds=kinds or (), priority=priority, preview=preview, on_moved=_note_move
            )
            for number, event in enumerate(stream):
                if not number and not json:  # only after the first event: the run may be unknown
                    output.line([title for title, _ in columns])
                output.line_as(json, event, columns)
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None


def state(
    ctx: typer.Context,
    run: Run,
    at: At = None,
    hydrate: Annotated[bool, typer.Option(help="The values that refs name, or only the refs.")] = True,
    json: Json = False,
) -> None:
    """Show the state of a run right after an event."""
    with ask(ctx) as client:
        answer = client.state(run_id(client, run), at=at, hydrate=hydrate)
    output.answer_as(json, answer, lambda state: output.facts(_state(state)))


def checkpoints(
    ctx: typer.Context,
    run: Run,
    values: Annotated[
        bool, typer.Option("--values", help=f"States up to {_LONG:,} characters each, instead of {_SHORT}.")
    ] = False,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """List the states that a run can go on from; `playhead content REF` has a whole one."""
    preview = _LONG if values else 0 if json else _SHORT
    with ask(ctx) as client:
        listing = client.checkpoints(run_id(client, run), preview=preview, limit=limit + 1)
        rows = first_rows(ctx, "checkpoints", listing, limit)
    output.list_as(json, rows, _CHECKPOINT_COLUMNS)


def context(
    ctx: typer.Context,
    run: Run,
    at: At = None,
    form: Annotated[Literal["parts", "openai"], typer.Option(help="The shape of messages in JSON.")] = "parts",
    exact: Annotated[bool, typer.Option("--exact", help="The request's body as it was sent, as JSON.")] = False,
    without: Annotated[
        str | None,
        typer.Option(help="A compression before the call: show the context that it did not cut.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Show exactly what the model saw at a call: the one that the event belongs to."""
    with ask(ctx) as client:
        messages = form if json else "parts"
        answer = client.context(run_id(client, run), at=at, form=messages, exact=exact, without=without)
    if exact and not json:
        output.as_json(answer.get("request"))
    else:
        output.answer_as(json, answer, _print_context)


def _print_context(answer: ContextAt) -> None:
    call = answer["call"]
    tools = cast(list[Any] | None, answer["tools"])
    output.facts(
        {
            "run": answer["run"],
            "call": call["seq"],
            "model": call["model"],
            "status": call["status"],
            "tools": len(tools) if isinstance(tools, list) else None,
            "settings": answer["settings"],
            "context_tokens": answer["context_tokens"],
            "missing": answer["missing"],
            "system": answer["system"],
            "input": answer["input"],
        }
    )
    typer.echo()
    for number, value in enumerate(cast(list[Message | None], answer["messages"]), 1):
        output.message(f"{number} ", output.role_of(value), value)


def messages(ctx: typer.Context, run: Run, at: At = None, limit: Limit = 1_000, json: Json = False) -> None:
    """Replay the conversation: each message once, when it entered the run, also what was taken out of context later."""
    with ask(ctx) as client:
        rows = first_rows(ctx, "messages", client.messages(run_id(client, run), at=at, limit=limit + 1), limit)
    output.answer_as(json, rows, _print_messages)


def _print_messages(rows: list[HistoryEntry]) -> None:
    for row in rows:
        output.message(_head(row), row["role"], cast(Message | None, row.get("value")))


def content(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(help="sha256:...")],
    about: Annotated[
        bool, typer.Option("--about", help="What it is, and which runs and calls had it, instead of its bytes.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the bytes that a ref names."""
    with ask(ctx) as client:
        if about:
            output.answer_as(json, client.about(ref), _print_about)
            return
        payload = client.content(ref)
    if json:
        output.as_json(_content_as_json(payload))
    else:
        output.content(payload)


def _content_as_json(payload: Content) -> dict[str, Any]:
    text = None if output.is_binary(payload) else payload.data.decode("utf-8", "replace")
    coded = base64.b64encode(payload.data).decode() if text is None else None
    answer = {"media_type": payload.media_type, "size": len(payload.data), "text": text, "base64": coded}
    return {name: value for name, value in answer.items() if value is not None}


def _print_about(about: ContentAbout) -> None:
    names = ("ref", "kind", "role", "media_type", "size", "first_seen", "last_seen", "runs", "calls", "bytes_sent")
    output.facts({name: about[name] for name in names})
    typer.echo()
    output.rows_of(_CONTENT_RUN_COLUMNS, about["items"])
    if about["next_cursor"] is not None or not about["complete"]:
        typer.echo("there are more runs than these", err=True)


def _note_move(moved: EventsMoved) -> None:
    text = f"late events came: from {moved['from']} on, events of run {moved['run'][-_ID_END:]} have other seqs now"
    typer.echo(text, err=True)


def _event_summary(row: RecordedEvent) -> str | None:
    values = {name: text for name, text in row.get("previews", {}).items() if name not in _NOT_SHOWN}
    return ", ".join(filter(None, [output.pairs(row["data"]), output.pairs(values)])) or None


def _state(answer: StateAt) -> dict[str, Any]:
    """Returns names and values to print: counts instead of lists of refs, errors with their texts."""
    facts: dict[str, Any] = {**answer, "history": output.counted(len(answer["history"]), "message")}
    facts["compressions"] = f"at {', '.join(map(str, answer['compressions']))}" if answer["compressions"] else None
    facts["errors"] = [f"{entry['error_type']}: {entry['message']} (at {entry['seq']})" for entry in answer["errors"]]
    facts["open_calls"] = [f"{entry['kind']} {entry['name']} (since {entry['seq']})" for entry in answer["open_calls"]]
    values = facts.pop("values", None)
    if values is not None:
        point = answer["checkpoint"]
        facts |= {
            "thread": output.counted(len(values["thread"]), "message"),
            "user_state": values["user_state"] or None,
            "plan": values["plan"],
            "checkpoint": f"{output.compact(values['checkpoint'])} (at {point['seq']})" if point else None,
        }
    return facts


def _head(row: HistoryEntry) -> str:
    removed = row["removed"]
    gone = (
        f"{removed['how']} at {removed['seq']}" if removed else "" if row["in_context"] else "not in context any more"
    )
    return f"{row['seq']} ({gone}) " if gone else f"{row['seq']} "


_RUN_COLUMN: tuple[str, Callable[[RecordedEvent], object]] = ("run", lambda row: row["run"][-_ID_END:])
_EVENT_COLUMNS: output.Columns[RecordedEvent] = (
    ("seq", lambda row: row["seq"]),
    ("time", lambda row: row["time"][11:23]),
    ("kind", lambda row: row["kind"]),
    ("actor", lambda row: row["actor"]),
    ("data", _event_summary),
)
_CHECKPOINT_COLUMNS: output.Columns[CheckpointEntry] = (
    ("seq", lambda row: row["seq"]),
    ("time", lambda row: row["time"][11:23]),
    ("name", lambda row: row["name"]),
    ("ref", lambda row: row["state"]),
    ("state", lambda row: row.get("preview")),
)
_CONTENT_RUN_COLUMNS: output.Columns[ContentRun] = (
    ("run", lambda row: row["run"]),
    ("name", lambda row: row["name"]),
    ("status", lambda row: row["status"]),
    ("started", lambda row: row["started"][:19]),
    ("calls", lambda row: row["calls"]),
    ("where", lambda row: [f"{place['use']} at {place['seq']}" for place in row["places"]]),
)
