"""`playhead compressions`: messages dropped from contexts, and facts in them that were needed later."""

from collections.abc import Iterable
from typing import Annotated, Any, cast

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, first
from playhead.model.message import Message
from playhead.wire.operations.compression import Compression, CompressionAudit, ContextMessage, FactNeeded


def compressions(
    ctx: typer.Context,
    run: Run,
    seq: Annotated[str | None, typer.Argument(help=f"{MOMENT}.", show_default=False)] = None,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """List where the context lost messages; with SEQ, show what went, which facts, and which were needed later."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        full_id = run_id(client, run)
        audit = client.compression(full_id, seq) if seq is not None else None
        rows = first(ctx, "compressions", client.compressions(full_id, limit=limit + 1), limit) if audit is None else []
    if json:
        output.as_json(audit or rows)
    elif audit is not None:
        _audit(audit)
    else:
        columns = ("seq", "time", "actor", "strategy", "origin", "messages", "kept", "summarised", "dropped", "tokens")
        output.table(columns, map(_line, rows))


def _line(row: Compression) -> tuple[object, ...]:
    counts, tokens = row["messages"], row["tokens"]
    changed = None if tokens["saved"] is None else f"{tokens['before']} to {tokens['after']}"
    cells = (f"{counts['before']} to {counts['after']}", counts["kept"], counts["summarised"], counts["dropped"])
    return (row["seq"], row["time"][11:23], row["actor"], row["strategy"], row["origin"], *cells, changed)


def _audit(audit: CompressionAudit) -> None:
    names = ("run", "seq", "actor", "origin", "strategy", "strength", "rule", "reason", "call", "messages", "tokens")
    facts: dict[str, Any] = {name: cast(dict[str, Any], audit)[name] for name in names}
    counts = {
        "facts lost": audit["lost_total"],
        "needed later": audit["needed_total"],
        "preserved": audit["preserved_total"],
    }
    output.facts({**facts, **counts})
    typer.echo()
    if audit["summary"] is not None:
        summary = cast(Message, audit["summary"])
        output.message("summary: ", summary["role"], summary)
    gone = [
        *(("summarised", message) for message in audit["summarised"]),
        *(("dropped", message) for message in audit["dropped"]),
    ]
    output.table(("fate", "seq", "role", "message"), (_gone(fate, message) for fate, message in gone))
    typer.echo()
    rows = (
        (fact["kind"], fact["text"], fact["label"], _seqs(fact["quotes"]), _needs(fact["needed"]))
        for fact in audit["lost"]
    )
    output.table(("lost", "fact", "called", "said at", "needed later"), rows)
    typer.echo()
    kept = (
        (fact["kind"], fact["text"], fact["label"], _seqs(fact["quotes"]), [kept["where"] for kept in fact["kept_in"]])
        for fact in audit["preserved"]
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
