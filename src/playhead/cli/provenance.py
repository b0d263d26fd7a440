"""The commands that explain: which decisions there were, and why."""

from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import Collector, run_id
from playhead.cli.options import Json, Limit, Run
from playhead.errors import NotFound
from playhead.wire.answers.provenance import Attribution, CausalGraph, DecisionDetail

Seq = Annotated[str | None, typer.Argument(help="A seq or an event id.", show_default=False)]


def decisions(ctx: typer.Context, run: Run, seq: Seq = None, limit: Limit = 1_000, json: Json = False) -> None:
    """List where the agent chose; with SEQ, show one choice, what else was open, and what was chosen elsewhere."""
    with ctx.ensure_object(Collector).ask() as client:
        found = run_id(client, run)
        one = client.decision(found, seq) if seq is not None else None
        rows = list(client.decisions(found, limit=limit)) if seq is None else []
    if json:
        output.as_json(one or rows)
    elif one is not None:
        _decision(one)
    else:
        output.table(
            ("seq", "time", "kind", "actor", "chosen", "reason"),
            (
                (
                    row["seq"],
                    row["time"][11:23],
                    row["kind"],
                    row["actor"],
                    _short(row["chosen"]),
                    _short(row["reason"]),
                )
                for row in rows
            ),
        )


def why(
    ctx: typer.Context,
    run: Run,
    seq: Seq = None,
    causes: Annotated[bool, typer.Option("--causes", help="What it rests on, and what rested on it.")] = False,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """Say why tools were called, and where their arguments are from; with SEQ, one call, or any event's causes."""
    with ctx.ensure_object(Collector).ask() as client:
        found = run_id(client, run)
        if causes:
            if seq is None:
                raise NotFound("causes of which event? Give its seq: `playhead events RUN` lists them")
            graph = client.causes(found, seq)
            output.as_json(graph) if json else _causes(graph)
            return
        one = client.why(found, seq) if seq is not None else None
        rows = list(client.attributions(found, limit=limit)) if one is None else [one]
    if json:
        output.as_json(one or rows)
    elif one is not None:
        _attribution(one)
    else:
        output.table(
            ("seq", "tool", "why", "sure", "because", "suspects"),
            ((r["seq"], r["name"], r["kind"], r["confidence"], r["reason"], r["suspects"]) for r in rows),
        )


def _decision(one: DecisionDetail) -> None:
    facts: dict[str, Any] = {name: one[name] for name in ("seq", "kind", "actor", "call", "chosen", "reason")}
    output.facts({**facts, "reasoning": one["reasoning"], "messages before": one["context"]["messages"]})
    typer.echo()
    output.table(
        ("option", "chosen", "from", "considered"),
        ((o["name"], "yes" if o["chosen"] else "", o["origin"], o["considered"]) for o in one["options"]),
    )
    if one["elsewhere"]:
        typer.echo("\nchosen elsewhere in exactly this context:")
        output.table(
            ("calls", "same", "chosen", "runs"),
            (
                (len(e["calls"]), "yes" if e["same"] else "", _short(e["chosen"]), [c["run"] for c in e["calls"][:3]])
                for e in one["elsewhere"]
            ),
        )
    for attribution in one["attributions"]:
        typer.echo()
        _attribution(attribution)


def _attribution(one: Attribution) -> None:
    output.facts({name: one[name] for name in ("seq", "name", "kind", "confidence", "reason")})
    for evidence in one["evidence"]:
        typer.echo(output.visible(f"  {evidence['what']} {evidence['seq'] or ''}: {evidence['quote']}"))
    output.table(
        ("argument", "value", "from", "how", "sure", "entered", "quote"),
        (
            (
                value["path"],
                _short(value["value"]),
                value["source"],
                value["how"],
                value["confidence"],
                value["first"] and value["first"]["seq"],
                value["evidence"][0]["quote"] if value["evidence"] else value["note"],
            )
            for value in one["values"]
        ),
    )


def _causes(graph: CausalGraph) -> None:
    labels = {node["seq"]: f"{node['kind']}: {node['label']}" for node in graph["nodes"]}
    output.table(
        ("event", "rests on", "why", "sure", "what that was"),
        (
            (edge["effect"], edge["cause"], edge["why"], edge["confidence"], labels[edge["cause"]])
            for edge in sorted(graph["edges"], key=lambda edge: (edge["effect"], edge["cause"]))
        ),
    )


def _short(value: object) -> str | None:
    text = value if isinstance(value, str) or value is None else output.compact(value)
    return text if text is None or len(text) <= 100 else text[:99] + "…"
