"""`playhead compressions`: what was dropped from contexts, and what of it was needed later."""

from collections.abc import Iterable
from typing import Annotated, Any, cast

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, first
from playhead.model.message import Message
from playhead.wire.answers.analysis.compression import Compression, CompressionAudit, ContextMessage, FactNeeded


def compressions(
    ctx: typer.Context,
    run: Run,
    seq: Annotated[str | None, typer.Argument(help=f"{MOMENT}.", show_default=False)] = None,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """List where the context lost messages; with SEQ, show what went, which facts, and which were needed later."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        found = run_id(client, run)
        one = client.compression(found, seq) if seq is not None else None
        rows = first(ctx, "compressions", client.compressions(found, limit=limit + 1), limit) if one is None else []
    if json:
        output.as_json(one or rows)
    elif one is not None:
        _audit(one)
    else:
        columns = ("seq", "time", "actor", "strategy", "origin", "messages", "kept", "summarised", "dropped", "tokens")
        output.table(columns, map(_line, rows))


def _line(row: Compression) -> tuple[object, ...]:
    counts, tokens = row["messages"], row["tokens"]
    changed = None if tokens["saved"] is None else f"{tokens['before']} to {tokens['after']}"
    what = (f"{counts['before']} to {counts['after']}", counts["kept"], counts["summarised"], counts["dropped"])
    return (row["seq"], row["time"][11:23], row["actor"], row["strategy"], row["origin"], *what, changed)


def _audit(one: CompressionAudit) -> None:
    names = ("run", "seq", "actor", "origin", "strategy", "strength", "rule", "reason", "call", "messages", "tokens")
    facts: dict[str, Any] = {name: cast(dict[str, Any], one)[name] for name in names}
    counts = {"facts lost": one["lost_total"], "needed later": one["needed_total"], "preserved": one["preserved_total"]}
    output.facts({**facts, **counts})
    typer.echo()
    if one["summary"] is not None:
        summary = cast(Message, one["summary"])
        output.message("summary: ", summary["role"], summary)
    gone = [
        *(("summarised", message) for message in one["summarised"]),
        *(("dropped", message) for message in one["dropped"]),
    ]
    output.table(("fate", "seq", "role", "message"), (_gone(fate, message) for fate, message in gone))
    typer.echo()
    rows = (
        (fact["kind"], fact["text"], fact["label"], _seqs(fact["quotes"]), _needs(fact["needed"]))
        for fact in one["lost"]
    )
    output.table(("lost", "fact", "called", "said at", "needed later"), rows)
    typer.echo()
    kept = (
        (fact["kind"], fact["text"], fact["label"], _seqs(fact["quotes"]), [kept["where"] for kept in fact["kept_in"]])
        for fact in one["preserved"]
    )
    output.table(("preserved", "fact", "called", "said at", "stands in"), kept)


def _gone(fate: str, message: ContextMessage) -> tuple[object, ...]:
    return (
        fate,
        message["seq"],
        message["role"],
        output.shortened(output.spoken(cast(Message | None, message.get("value")))),
    )


def _seqs(quotes: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(str(message["seq"]) for message in quotes))


def _needs(needs: Iterable[FactNeeded]) -> str:
    return "; ".join(
        f"{need['how']} at {need['seq']}" + (f": {need['value']}" if need["value"] else "") for need in needs
    )
