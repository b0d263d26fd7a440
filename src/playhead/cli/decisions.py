"""`playhead decisions`: the decisions of agents, and their other options."""

from typing import Any

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import Json, Limit, Run, first
from playhead.cli.provenance import SEQ_ARGUMENT, show_attribution
from playhead.wire.operations.why import DecisionDetail


def decisions(ctx: typer.Context, run: Run, seq: SEQ_ARGUMENT = None, limit: Limit = 1_000, json: Json = False) -> None:
    """List where the agent chose; with SEQ, show one choice, what else was open, and what was chosen elsewhere."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        full_id = run_id(client, run)
        detail = client.decision(full_id, seq) if seq is not None else None
        rows = first(ctx, "decisions", client.decisions(full_id, limit=limit + 1), limit) if seq is None else []
    if json:
        output.as_json(detail or rows)
    elif detail is not None:
        _decision(detail)
    else:
        output.table(
            ("seq", "time", "kind", "actor", "chosen", "reason"),
            (
                (
                    row["seq"],
                    row["time"][11:23],
                    row["kind"],
                    row["actor"],
                    _text(row["chosen"]),
                    _text(row["reason"]),
                )
                for row in rows
            ),
        )


def _decision(detail: DecisionDetail) -> None:
    facts: dict[str, Any] = {name: detail[name] for name in ("seq", "kind", "actor", "call", "chosen", "reason")}
    output.facts({**facts, "reasoning": detail["reasoning"], "messages before": detail["context"]["messages"]})
    typer.echo()
    output.table(
        ("option", "chosen", "from", "considered"),
        ((o["name"], "yes" if o["chosen"] else "", o["origin"], o["considered"]) for o in detail["options"]),
    )
    if detail["elsewhere"]:
        typer.echo("\nchosen elsewhere in exactly this context:")
        output.table(
            ("calls", "same", "chosen", "runs"),
            (
                (len(e["calls"]), "yes" if e["same"] else "", _text(e["chosen"]), [c["run"] for c in e["calls"][:3]])
                for e in detail["elsewhere"]
            ),
        )
    for attribution in detail["attributions"]:
        typer.echo()
        show_attribution(attribution)


def _text(value: object) -> str | None:
    return None if value is None else output.shortened(value if isinstance(value, str) else output.compact(value))
