"""Commands that read a run: events (also live), state, context, messages, content."""

import base64
from typing import Annotated, Any, Literal, cast

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, complete_run, run_id
from playhead.cli.options import At, Json, Limit, Run, first_rows
from playhead.model.message import Message
from playhead.wire.operations import EventsMoved, HistoryEntry, RecordedEvent, StateAt
from playhead.wire.operations.content import ContentAbout

# Characters of a value beside an event, and with `--values`: the maximum that the API returns.
_SHORT, _LONG = 120, 10_000
_COLUMNS = ("seq", "time", "kind", "actor", "data")
_INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended
_ID_END = 8  # digits shown of a run's id, from its end, which is random
# Fields that are not shown: messages have events of their own, and `--json` and `context` show the rest.
_NOT_SHOWN = frozenset({"request", "response", "tools", "system"})


def events(
    ctx: typer.Context,
    run: Run,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; repeatable.", show_default=False)] = None,
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
    with ctx.ensure_object(CollectorAddress).ask() as client:
        listing = client.events(
            run_id(client, run), kinds=kind or (), priority=priority, after=after, preview=preview, last=last,
            limit=limit + 1,
        )  # fmt: skip
        rows = first_rows(ctx, "events", listing, limit)
    if json:
        output.as_json(rows)
        return
    output.table(_COLUMNS, map(_event, rows))


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
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; repeatable.", show_default=False)] = None,
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
    try:
        with ctx.ensure_object(CollectorAddress).ask() as client:
            stream = client.watch(
                run, after=after, kinds=kind or (), priority=priority, preview=preview, on_moved=_note_move
            )
            for number, event in enumerate(stream):
                if not number and not json:  # only after the first event: the run may be unknown
                    output.line(_COLUMNS if run is not None else ("run", *_COLUMNS))
                _show(event, with_run=run is None, as_json=json)
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
    with ctx.ensure_object(CollectorAddress).ask() as client:
        answer = client.state(run_id(client, run), at=at, hydrate=hydrate)
    if json:
        output.as_json(answer)
    else:
        output.facts(_state(answer))


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
    with ctx.ensure_object(CollectorAddress).ask() as client:
        listing = client.checkpoints(run_id(client, run), preview=preview, limit=limit + 1)
        rows = first_rows(ctx, "checkpoints", listing, limit)
    if json:
        output.as_json(rows)
        return
    lines = ((row["seq"], row["time"][11:23], row["name"], row["state"], row.get("preview")) for row in rows)
    output.table(("seq", "time", "name", "ref", "state"), lines)


def context(
    ctx: typer.Context,
    run: Run,
    at: At = None,
    form: Annotated[Literal["parts", "openai"], typer.Option(help="The shape of messages in JSON.")] = "parts",
    exact: Annotated[bool, typer.Option("--exact", help="The request's body as it was sent, as JSON.")] = False,
    json: Json = False,
) -> None:
    """Show exactly what the model saw at a call: the one that the event belongs to."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        answer = client.context(run_id(client, run), at=at, form=form if json else "parts", exact=exact)
    if exact and not json:
        output.as_json(answer.get("request"))
        return
    if json:
        output.as_json(answer)
        return
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
    with ctx.ensure_object(CollectorAddress).ask() as client:
        rows = first_rows(ctx, "messages", client.messages(run_id(client, run), at=at, limit=limit + 1), limit)
    if json:
        output.as_json(rows)
        return
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
    with ctx.ensure_object(CollectorAddress).ask() as client:
        if about:
            _about(client.about(ref), json=json)
            return
        payload = client.content(ref)
    if json:
        text = None if output.is_binary(payload) else payload.data.decode("utf-8", "replace")
        coded = base64.b64encode(payload.data).decode() if text is None else None
        answer = {"media_type": payload.media_type, "size": len(payload.data), "text": text, "base64": coded}
        output.as_json({name: value for name, value in answer.items() if value is not None})
        return
    output.content(payload)


def _about(about: ContentAbout, *, json: bool) -> None:
    if json:
        output.as_json(about)
        return
    names = ("ref", "kind", "role", "media_type", "size", "first_seen", "last_seen", "runs", "calls", "bytes_sent")
    output.facts({name: about[name] for name in names})
    typer.echo()
    output.table(
        ("run", "name", "status", "started", "calls", "where"),
        (
            (
                *(run["run"], run["name"], run["status"], run["started"][:19], run["calls"]),
                [f"{place['use']} at {place['seq']}" for place in run["places"]],
            )
            for run in about["items"]
        ),
    )
    if about["next_cursor"] is not None or not about["complete"]:
        typer.echo("there are more runs than these", err=True)


def _show(event: RecordedEvent, *, with_run: bool, as_json: bool) -> None:
    if as_json:
        output.as_json_line(event)
    else:
        output.line((event["run"][-_ID_END:], *_event(event)) if with_run else _event(event))


def _note_move(moved: EventsMoved) -> None:
    text = f"late events came: from {moved['from']} on, events of run {moved['run'][-_ID_END:]} have other seqs now"
    typer.echo(text, err=True)


def _event(row: RecordedEvent) -> tuple[object, ...]:
    values = {name: text for name, text in row.get("previews", {}).items() if name not in _NOT_SHOWN}
    summary = ", ".join(filter(None, [output.pairs(row["data"]), output.pairs(values)]))
    return (row["seq"], row["time"][11:23], row["kind"], row["actor"], summary or None)


def _state(answer: StateAt) -> dict[str, Any]:
    """Returns names and values to print: counts instead of lists of refs, errors with their texts."""
    facts: dict[str, Any] = {**answer, "history": f"{len(answer['history'])} messages"}
    facts["compressions"] = f"at {', '.join(map(str, answer['compressions']))}" if answer["compressions"] else None
    facts["errors"] = [f"{entry['error_type']}: {entry['message']} (at {entry['seq']})" for entry in answer["errors"]]
    facts["open_calls"] = [f"{entry['kind']} {entry['name']} (since {entry['seq']})" for entry in answer["open_calls"]]
    values = facts.pop("values", None)
    if values is not None:
        point = answer["checkpoint"]
        facts |= {
            "thread": f"{len(values['thread'])} messages",
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
