"""Commands about choices: `playhead why` and `playhead decisions`.

`why` says why tools were called, where their arguments come from, and the causes of an event; `decisions` shows what
agents chose, and their other options.
"""

from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import ask, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, first_rows
from playhead.errors import NotFound
from playhead.wire.operations.why import (
    Attribution,
    CausalEdge,
    CausalGraph,
    Decision,
    DecisionDetail,
    ElsewhereChoice,
    Option,
    ValueOrigin,
)

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
    with ask(ctx) as client:
        full_id = run_id(client, run)
        if causes:
            if seq is None:
                raise NotFound("causes of which event? Give its seq: `playhead events RUN` lists them")
            graph = client.causes(full_id, seq)
            output.answer_as(json, graph, _print_causes)
        elif seq is not None:
            output.answer_as(json, client.why(full_id, seq), _print_attribution)
        else:
            rows = first_rows(ctx, "calls", client.attributions(full_id, limit=limit + 1), limit)
            output.list_as(json, rows, _ATTRIBUTION_COLUMNS)


def _print_attribution(attribution: Attribution) -> None:
    """Prints why one tool was called."""
    output.facts({name: attribution[name] for name in ("seq", "name", "kind", "strength", "rule", "reason")})
    for evidence in attribution["evidence"]:
        output.echo(f"  {evidence['what']} {evidence['seq'] or ''}: {evidence['quote']}")
    output.rows_of(_ARGUMENT_COLUMNS, attribution["values"])


def _print_causes(graph: CausalGraph) -> None:
    labels = {node["seq"]: f"{node['kind']}: {node['label']}" for node in graph["nodes"]}
    columns: output.Columns[CausalEdge] = (
        ("event", lambda edge: edge["effect"]),
        ("rests on", lambda edge: edge["cause"]),
        ("why", lambda edge: edge["why"]),
        ("strength", lambda edge: edge["strength"]),
        ("rule", lambda edge: edge["rule"]),
        ("what that was", lambda edge: labels[edge["cause"]]),
    )
    output.rows_of(columns, sorted(graph["edges"], key=lambda edge: (edge["effect"], edge["cause"])))


def _value_text(value: object) -> str | None:
    text = value if isinstance(value, str) or value is None else output.compact(value)
    return text if text is None or len(text) <= 100 else text[:99] + "…"


_ATTRIBUTION_COLUMNS: output.Columns[Attribution] = (
    ("seq", lambda row: row["seq"]),
    ("tool", lambda row: row["name"]),
    ("why", lambda row: row["kind"]),
    ("strength", lambda row: row["strength"]),
    ("rule", lambda row: row["rule"]),
    ("because", lambda row: row["reason"]),
    ("suspects", lambda row: row["suspects"]),
)
_ARGUMENT_COLUMNS: output.Columns[ValueOrigin] = (
    ("argument", lambda value: value["path"]),
    ("value", lambda value: _value_text(value["value"])),
    ("from", lambda value: value["source"]),
    ("how", lambda value: value["how"]),
    ("strength", lambda value: value["strength"]),
    ("rule", lambda value: value["rule"]),
    ("entered", lambda value: value["first"] and value["first"]["seq"]),
    ("quote", lambda value: value["evidence"][0]["quote"] if value["evidence"] else value["note"]),
)


# --- playhead decisions -----------------------------------------------------------------------------------------------


def decisions(ctx: typer.Context, run: Run, seq: SEQ_ARGUMENT = None, limit: Limit = 1_000, json: Json = False) -> None:
    """List where the agent chose; with SEQ, show one choice, what else was open, and what was chosen elsewhere."""
    with ask(ctx) as client:
        full_id = run_id(client, run)
        if seq is not None:
            output.answer_as(json, client.decision(full_id, seq), _print_decision)
        else:
            rows = first_rows(ctx, "decisions", client.decisions(full_id, limit=limit + 1), limit)
            output.list_as(json, rows, _DECISION_COLUMNS)


def _print_decision(detail: DecisionDetail) -> None:
    facts: dict[str, Any] = {name: detail[name] for name in ("seq", "kind", "actor", "call", "chosen", "reason")}
    output.facts({**facts, "reasoning": detail["reasoning"], "messages before": detail["context"]["messages"]})
    typer.echo()
    output.rows_of(_OPTION_COLUMNS, detail["options"])
    if detail["elsewhere"]:
        typer.echo("\nchosen elsewhere in exactly this context:")
        output.rows_of(_ELSEWHERE_COLUMNS, detail["elsewhere"])
    for attribution in detail["attributions"]:
        typer.echo()
        _print_attribution(attribution)


def _choice_text(value: object) -> str | None:
    return None if value is None else output.shortened(value if isinstance(value, str) else output.compact(value))


_DECISION_COLUMNS: output.Columns[Decision] = (
    ("seq", lambda row: row["seq"]),
    ("time", lambda row: row["time"][11:23]),
    ("kind", lambda row: row["kind"]),
    ("actor", lambda row: row["actor"]),
    ("chosen", lambda row: _choice_text(row["chosen"])),
    ("reason", lambda row: _choice_text(row["reason"])),
)
_OPTION_COLUMNS: output.Columns[Option] = (
    ("option", lambda option: option["name"]),
    ("chosen", lambda option: "yes" if option["chosen"] else ""),
    ("from", lambda option: option["origin"]),
    ("considered", lambda option: option["considered"]),
)
_ELSEWHERE_COLUMNS: output.Columns[ElsewhereChoice] = (
    ("calls", lambda other: len(other["calls"])),
    ("same", lambda other: "yes" if other["same"] else ""),
    ("chosen", lambda other: _choice_text(other["chosen"])),
    ("runs", lambda other: [call["run"] for call in other["calls"][:3]]),
)
