"""Commands about choices: `playhead why` and `playhead decisions`.

`why` says why tools were called, where their arguments come from, and the causes of an event; `decisions` shows what
agents chose, and their other options.
"""

from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, first_rows
from playhead.errors import NotFound
from playhead.wire.operations.why import Attribution, CausalGraph, DecisionDetail

SEQ_ARGUMENT = Annotated[str | None, typer.Argument(help=f"{MOMENT}.", show_default=False)]


# --- playhead why -----------------------------------------------------------------------------------------------------


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
            output.as_json(graph) if json else _print_causes(graph)
            return
        answer = client.why(full_id, seq) if seq is not None else None
        rows = [answer] if answer else first_rows(ctx, "calls", client.attributions(full_id, limit=limit + 1), limit)
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
                _value_text(value["value"]),
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


def _print_causes(graph: CausalGraph) -> None:
    labels = {node["seq"]: f"{node['kind']}: {node['label']}" for node in graph["nodes"]}
    output.table(
        ("event", "rests on", "why", "strength", "rule", "what that was"),
        (
            (edge["effect"], edge["cause"], edge["why"], edge["strength"], edge["rule"], labels[edge["cause"]])
            for edge in sorted(graph["edges"], key=lambda edge: (edge["effect"], edge["cause"]))
        ),
    )


def _value_text(value: object) -> str | None:
    text = value if isinstance(value, str) or value is None else output.compact(value)
    return text if text is None or len(text) <= 100 else text[:99] + "…"


# --- playhead decisions -----------------------------------------------------------------------------------------------


def decisions(ctx: typer.Context, run: Run, seq: SEQ_ARGUMENT = None, limit: Limit = 1_000, json: Json = False) -> None:
    """List where the agent chose; with SEQ, show one choice, what else was open, and what was chosen elsewhere."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        full_id = run_id(client, run)
        detail = client.decision(full_id, seq) if seq is not None else None
        rows = first_rows(ctx, "decisions", client.decisions(full_id, limit=limit + 1), limit) if seq is None else []
    if json:
        output.as_json(detail or rows)
    elif detail is not None:
        _print_decision(detail)
    else:
        output.table(
            ("seq", "time", "kind", "actor", "chosen", "reason"),
            (
                (
                    row["seq"],
                    row["time"][11:23],
                    row["kind"],
                    row["actor"],
                    _choice_text(row["chosen"]),
                    _choice_text(row["reason"]),
                )
                for row in rows
            ),
        )


def _print_decision(detail: DecisionDetail) -> None:
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
                (
                    len(e["calls"]),
                    "yes" if e["same"] else "",
                    _choice_text(e["chosen"]),
                    [c["run"] for c in e["calls"][:3]],
                )
                for e in detail["elsewhere"]
            ),
        )
    for attribution in detail["attributions"]:
        typer.echo()
        show_attribution(attribution)


def _choice_text(value: object) -> str | None:
    return None if value is None else output.shortened(value if isinstance(value, str) else output.compact(value))
