"""The commands that read: each asks one question, and shows the answer or prints it as JSON."""

import base64
from datetime import datetime
from typing import Annotated, Any, Literal, cast

import typer

from playhead.cli import shown
from playhead.cli.asking import Collector, run_id
from playhead.model.answers import Completeness, HistoryEntry, RunSummary
from playhead.model.message import Message

Run = Annotated[str, typer.Argument(help="A run's id, the beginning of one, or `last`.", show_default=False)]
At = Annotated[str | None, typer.Option(help="A seq or an event id; default: the last.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Limit = Annotated[int, typer.Option(min=1, help="Show at most so many.")]
Word = Annotated[str | None, typer.Option(show_default=False)]

_RUN_COLUMNS = (
    *("run", "status", "started", "took", "name"),
    *("events", "model calls", "tool calls", "tokens", "record"),
)


def register(app: typer.Typer) -> None:
    """Adds the commands, in the order in which --help lists them."""
    for command in (runs, show, events, state, context, messages, content):
        app.command()(command)


def runs(
    ctx: typer.Context,
    agent: Word = None,
    status: Annotated[
        Literal["running", "completed", "failed", "cancelled"] | None, typer.Option(show_default=False)
    ] = None,
    session: Word = None,
    user: Word = None,
    tag: Word = None,
    model: Word = None,
    tool: Word = None,
    text: Annotated[
        str | None, typer.Option(help="In name, session, user, agents or tags.", show_default=False)
    ] = None,
    since: Annotated[str | None, typer.Option(help="Begun at or after: 2026-01-31T12:00.", show_default=False)] = None,
    until: Annotated[str | None, typer.Option(help="Begun at or before.", show_default=False)] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List runs, newest first; all conditions must hold."""
    with _collector(ctx).ask() as client:
        rows = list(
            client.runs(
                agent=agent,
                status=status,
                session=session,
                user=user,
                tag=tag,
                model=model,
                tool=tool,
                text=text,
                since=since,
                until=until,
                limit=limit,
            )
        )
    if json:
        shown.as_json(rows)
        return
    shown.table(_RUN_COLUMNS, map(_run_line, rows))


def show(ctx: typer.Context, run: Run, json: Json = False) -> None:
    """Say what a run was, in a few words."""
    with _collector(ctx).ask() as client:
        answer = client.run(run_id(client, run))
    if json:
        shown.as_json(answer)
        return
    facts: dict[str, Any] = {**answer, "took": shown.seconds(answer["elapsed_ms"])}
    facts["record"] = _record(answer["completeness"])
    for name in ("elapsed_ms", "completeness", "links"):
        del facts[name]
    shown.facts(facts)


def events(
    ctx: typer.Context,
    run: Run,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; repeatable.", show_default=False)] = None,
    priority: Annotated[Literal["critical", "normal"] | None, typer.Option(show_default=False)] = None,
    after: Annotated[int, typer.Option(min=0, help="Only events behind this seq.")] = 0,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """List what happened in a run, in order."""
    with _collector(ctx).ask() as client:
        found = client.events(run_id(client, run), kinds=kind or (), priority=priority, after=after, limit=limit)
        rows = list(found)
    if json:
        shown.as_json(rows)
        return
    shown.table(
        ("seq", "time", "kind", "actor", "data"),
        ((row["seq"], row["time"][11:23], row["kind"], row["actor"], row["data"] or None) for row in rows),
    )


def state(
    ctx: typer.Context,
    run: Run,
    at: At = None,
    hydrate: Annotated[bool, typer.Option(help="Also the values that refs name.")] = False,
    json: Json = False,
) -> None:
    """Show the state of a run right after an event."""
    with _collector(ctx).ask() as client:
        answer = client.state(run_id(client, run), at=at, hydrate=hydrate)
    if json:
        shown.as_json(answer)
        return
    facts: dict[str, Any] = {**answer, "history": f"{len(answer['history'])} messages"}
    values = facts.pop("values", None)
    if values is not None:
        facts |= {
            "user_state": values["user_state"] or None,
            "plan": values["plan"],
            "checkpoint": values["checkpoint"],
        }
    shown.facts(facts)


def context(
    ctx: typer.Context,
    run: Run,
    at: At = None,
    form: Annotated[Literal["parts", "openai"], typer.Option(help="The shape of messages in JSON.")] = "parts",
    json: Json = False,
) -> None:
    """Show exactly what the model saw at a call: the one that the event belongs to."""
    with _collector(ctx).ask() as client:
        answer = client.context(run_id(client, run), at=at, form=form if json else "parts")
    if json:
        shown.as_json(answer)
        return
    call = answer["call"]
    tools = cast(list[Any] | None, answer["tools"])
    shown.facts(
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
        shown.message(f"{number} ", value["role"] if value else "?", value)


def messages(ctx: typer.Context, run: Run, at: At = None, limit: Limit = 1_000, json: Json = False) -> None:
    """Replay the conversation: each message once, when it entered the run, also what was taken out of context later."""
    with _collector(ctx).ask() as client:
        rows = list(client.messages(run_id(client, run), at=at, limit=limit))
    if json:
        shown.as_json(rows)
        return
    for row in rows:
        shown.message(_head(row), row["role"], cast(Message | None, row.get("value")))


def content(ctx: typer.Context, ref: Annotated[str, typer.Argument(help="sha256:...")], json: Json = False) -> None:
    """Write the bytes that a ref names."""
    with _collector(ctx).ask() as client:
        found = client.content(ref)
    if json:
        text = None if shown.is_binary(found) else found.data.decode("utf-8", "replace")
        coded = base64.b64encode(found.data).decode() if text is None else None
        answer = {"media_type": found.media_type, "size": len(found.data), "text": text, "base64": coded}
        shown.as_json({name: value for name, value in answer.items() if value is not None})
        return
    shown.content(found)


def _collector(ctx: typer.Context) -> Collector:
    return ctx.ensure_object(Collector)


def _head(row: HistoryEntry) -> str:
    removed = row["removed"]
    gone = (
        f"{removed['how']} at {removed['seq']}" if removed else "" if row["in_context"] else "not in context any more"
    )
    return f"{row['seq']} ({gone}) " if gone else f"{row['seq']} "


def _run_line(row: RunSummary) -> tuple[object, ...]:
    began, took, record = _local(row["started"]), shown.seconds(row["elapsed_ms"]), _record(row["completeness"])
    tokens = row["input_tokens"] + row["output_tokens"]
    what = (row["events"], row["llm_calls"], row["tool_calls"], tokens)
    return (row["run"], row["status"], began, took, row["name"], *what, record)


def _local(time: str) -> str:
    return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _record(complete: Completeness) -> str:
    holes = {"spans missing": complete["spans_missing"], "contents pending": complete["content_pending"]}
    return ", ".join(f"{count} {what}" for what, count in holes.items() if count) or "complete"
