"""`playhead why`: why tools were called, where their arguments are from, and what an event rests on."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, first
from playhead.errors import NotFound
from playhead.wire.answers.analysis.causes import CausalGraph
from playhead.wire.answers.analysis.provenance import Attribution

SEQ_ARGUMENT = Annotated[str | None, typer.Argument(help=f"{MOMENT}.", show_default=False)]


def why(
    ctx: typer.Context,
    run: Run,
    seq: SEQ_ARGUMENT = None,
    causes: Annotated[bool, typer.Option("--causes", help="What it rests on, and what rested on it.")] = False,
    limit: Limit = 1_000,
    json: Json = False,
) -> None:
    """Say why tools were called, and where their arguments are from; with SEQ, one call, or any event's causes."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        found = run_id(client, run)
        if causes:
            if seq is None:
                raise NotFound("causes of which event? Give its seq: `playhead events RUN` lists them")
            graph = client.causes(found, seq)
            output.as_json(graph) if json else _causes(graph)
            return
        one = client.why(found, seq) if seq is not None else None
        rows = [one] if one else first(ctx, "calls", client.attributions(found, limit=limit + 1), limit)
    if json:
        output.as_json(one or rows)
    elif one is not None:
        show_attribution(one)
    else:
        output.table(
            ("seq", "tool", "why", "strength", "rule", "because", "suspects"),
            ((r["seq"], r["name"], r["kind"], r["strength"], r["rule"], r["reason"], r["suspects"]) for r in rows),
        )


def show_attribution(one: Attribution) -> None:
    """Shows why one tool was called."""
    output.facts({name: one[name] for name in ("seq", "name", "kind", "strength", "rule", "reason")})
    for evidence in one["evidence"]:
        output.echo(f"  {evidence['what']} {evidence['seq'] or ''}: {evidence['quote']}")
    output.table(
        ("argument", "value", "from", "how", "strength", "rule", "entered", "quote"),
        (
            (
                value["path"],
                _short(value["value"]),
                value["source"],
                value["how"],
                value["strength"],
                value["rule"],
                value["first"] and value["first"]["seq"],
                value["evidence"][0]["quote"] if value["evidence"] else value["note"],
            )
            for value in one["values"]
        ),
    )


def _causes(graph: CausalGraph) -> None:
    labels = {node["seq"]: f"{node['kind']}: {node['label']}" for node in graph["nodes"]}
    output.table(
        ("event", "rests on", "why", "strength", "rule", "what that was"),
        (
            (edge["effect"], edge["cause"], edge["why"], edge["strength"], edge["rule"], labels[edge["cause"]])
            for edge in sorted(graph["edges"], key=lambda edge: (edge["effect"], edge["cause"]))
        ),
    )


def _short(value: object) -> str | None:
    text = value if isinstance(value, str) or value is None else output.compact(value)
    return text if text is None or len(text) <= 100 else text[:99] + "…"
