"""`playhead why`: why tools were called, where their arguments come from, and the causes of an event."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, first
from playhead.errors import NotFound
from playhead.wire.operations.why import Attribution, CausalGraph

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
        full_id = run_id(client, run)
        if causes:
            if seq is None:
                raise NotFound("causes of which event? Give its seq: `playhead events RUN` lists them")
            graph = client.causes(full_id, seq)
            output.as_json(graph) if json else _causes(graph)
            return
        answer = client.why(full_id, seq) if seq is not None else None
        rows = [answer] if answer else first(ctx, "calls", client.attributions(full_id, limit=limit + 1), limit)
    if json:
        output.as_json(answer or rows)
    elif answer is not None:
        show_attribution(answer)
    else:
        output.table(
            ("seq", "tool", "why", "strength", "rule", "because", "suspects"),
            ((r["seq"], r["name"], r["kind"], r["strength"], r["rule"], r["reason"], r["suspects"]) for r in rows),
        )


def show_attribution(attribution: Attribution) -> None:
    """Prints why one tool was called."""
    output.facts({name: attribution[name] for name in ("seq", "name", "kind", "strength", "rule", "reason")})
    for evidence in attribution["evidence"]:
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
            for value in attribution["values"]
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
