"""Commands to read a run: what came of it, its turns line by line, one turn, and where a text stands in it."""

from typing import Annotated

import typer

from playhead.cli import output
from playhead.cli.connection import ask, run_id
from playhead.cli.options import Json, Limit, Run, first_rows
from playhead.wire.operations.turns import RunHit, RunTurn, ShownCall, TurnCall, TurnRow
from playhead.wire.operations.verdict import AgentNow, ErrorStep, RunError, RunVerdict, SourceLine

Number = Annotated[int, typer.Argument(min=1, help="The number of the turn, from 1.", show_default=False)]
Text = Annotated[str, typer.Argument(help="The text; upper and lower case are the same.", show_default=False)]
Why = Annotated[bool, typer.Option("--why", help="Also why, where arguments are from, and what followed.")]


def verdict(ctx: typer.Context, run: Run, json: Json = False) -> None:
    """Say what came of a run: its error and the way that it took, what it waits for, its agents, the last answer."""
    with ask(ctx) as client:
        output.answer_as(json, client.verdict(run_id(client, run)), _print_verdict)


def turns(ctx: typer.Context, run: Run, limit: Limit = 200, json: Json = False) -> None:
    """List a run line by line: agents, words of users, turns with the tools that they called, cuts, waits."""
    with ask(ctx) as client:
        found = client.turns(run_id(client, run), limit=limit + 1)
        output.list_as(json, first_rows(ctx, "lines", found, limit), _ROW_COLUMNS)


def turn(ctx: typer.Context, run: Run, number: Number, why: Why = False, json: Json = False) -> None:
    """Show one turn: what the model saw, what was new, what it answered, what it called, and what came back."""
    with ask(ctx) as client:
        output.answer_as(json, client.turn(run_id(client, run), number, why=why), _print_turn)


def find(ctx: typer.Context, run: Run, text: Text, limit: Limit = 50, json: Json = False) -> None:
    """Find a text in a run: in messages, reasoning, arguments, results, errors, state and names."""
    with ask(ctx) as client:
        found = client.search_run(run_id(client, run), text, limit=limit + 1)
        output.list_as(json, first_rows(ctx, "places", found, limit), _HIT_COLUMNS)


# --- playhead verdict ------------------------------------------------------------------------------------------------


def _print_verdict(answer: RunVerdict) -> None:
    outcome, task = answer["outcome"], answer["task"]
    value = "" if outcome["value"] is None else f" (it is {output.compact(outcome['value'])})"
    by_task = (
        None
        if task is None or task["runs"] < 2
        else f"{task['succeeded']} of {task['scored']} scored, {task['runs']} runs ({task['task']})"
    )
    output.facts(
        {
            "run": answer["run"],
            "outcome": outcome["word"],
            "because": f"{outcome['because']}{value}",
            "succeeded": by_task,
            "turns": answer["turns"],
            "errors that were handled": answer["other_errors"] or None,
            "waits for": [promise["action"] or promise["name"] or promise["kind"] for promise in answer["waits_for"]],
            "last answer": answer["answer"],
        }
    )
    if answer["error"] is not None:
        typer.echo()
        _print_error(answer["error"])
    if answer["agents"]:
        typer.echo()
        output.rows_of(_AGENT_COLUMNS, answer["agents"])


def _print_error(error: RunError) -> None:
    causes = [f"{cause['type']}: {cause['message']}" for cause in error["causes"]]
    output.facts(
        {
            "error": f"{error['type']}: {error['message']}",
            "in": error["call"],
            "seq": error["seq"],
            "turn": error["turn"],
            "at": None if error["at"] is None else _line_of(error["at"]),
            "because": causes,
            "went through": [_step(step) for step in error["went_through"]],
        }
    )
    for frame in error["frames"]:
        if not frame["library"]:
            output.echo(f"  {_line_of(frame)}")


def _step(step: ErrorStep) -> str:
    return f"{step['kind']} {step['name']}".strip()


def _line_of(line: SourceLine) -> str:
    place = line["file"] if line["line"] is None else f"{line['file']}:{line['line']}"
    return f"{place} in {line['function']}" if line["function"] else place


_AGENT_COLUMNS: output.Columns[AgentNow] = (
    ("agent", lambda agent: agent["name"]),
    ("status", lambda agent: agent["status"]),
    ("seq", lambda agent: agent["seq"]),
    ("turn", lambda agent: agent["turn"]),
    ("took", lambda agent: output.seconds(agent["elapsed_ms"])),
    ("last", lambda agent: output.shortened(agent["text"] or "")),
)


# --- playhead turns --------------------------------------------------------------------------------------------------


def _call(call: ShownCall | TurnCall) -> str:
    mark = {"failed": " ✕", "open": " …"}.get(call["status"], "")
    return f"{call['name']}({call['shown']}){mark}"


def _words(row: TurnRow) -> str:
    said = [row["text"] or "", *map(_call, row["calls"])]
    return output.shortened("; ".join(filter(None, said)))


_ROW_COLUMNS: output.Columns[TurnRow] = (
    ("seq", lambda row: row["seq"]),
    ("turn", lambda row: row["turn"]),
    ("kind", lambda row: row["kind"]),
    ("agent", lambda row: row["agent"]),
    ("status", lambda row: "raised" if row["raised"] else row["status"]),
    ("took", lambda row: output.seconds(row["elapsed_ms"])),
    ("what", _words),
)


# --- playhead turn ---------------------------------------------------------------------------------------------------


def _print_turn(answer: RunTurn) -> None:
    new = answer["new"]
    output.facts(
        {
            "turn": f"{answer['number']} of {answer['total']}",
            "seq": answer["seq"],
            "agent": answer["agent"],
            "model": answer["model"],
            "status": answer["status"],
            "took": output.seconds(answer["elapsed_ms"]),
            "tokens": output.pairs(answer["usage"]) or None,
            "cost": output.cost(answer["cost"]),
            "saw": _saw(answer),
            "parts": ", ".join(f"{part['kind']} {part['tokens']}" for part in answer["saw"]["parts"]) or None,
            "new": _new(answer),
            "since turn": new["since"],
            "why": answer["choice"] and answer["choice"]["reason"],
        }
    )
    for thought in answer["thoughts"]:
        output.echo(f"\n[{thought['basis']}] {thought['text']}")
    text = "\n".join(
        str(part.get("content")) for part in (answer["answer"] or {}).get("parts", ()) if part.get("type") == "text"
    )
    if text:
        output.echo(f"\n{text}")
    for call in answer["calls"]:
        _print_call(call)
    if answer["error"] is not None:
        typer.echo()
        _print_error(answer["error"])
    for effect in answer["then"]:
        output.echo(f"then {effect['seq']}: {effect['text']} ({effect['why']}, {effect['strength']})")
    for change in answer["state"]:
        output.echo(f"state {change['path']}: {output.compact(change['before'])} -> {output.compact(change['after'])}")


def _saw(answer: RunTurn) -> str:
    saw = answer["saw"]
    tokens = "" if saw["tokens"] is None else f", {output.counted(saw['tokens'], 'token')} ({saw['basis']})"
    return f"{output.counted(saw['messages'], 'message')}{tokens}"


def _new(answer: RunTurn) -> str:
    new = answer["new"]
    counts = (("added", new["added_total"]), ("dropped", new["dropped_total"]), ("summarised", new["summarised_total"]))
    return ", ".join(f"{count} {word}" for word, count in counts)


def _print_call(call: TurnCall) -> None:
    output.echo(f"\n{_call(call)}")
    for argument in call["arguments"]:
        origin = argument["origin"]
        source = "" if origin is None else f"  ({origin['source']}{', suspect' if origin['suspect'] else ''})"
        output.echo(f"  {argument['path']} = {output.shortened(output.compact(argument['value']))}{source}")
    if call["error"] is not None:
        output.echo(f"  raised {call['error']['type']}: {call['error']['message']}")
    elif call["result_text"] is not None:
        output.echo(f"  -> {output.shortened(call['result_text'])}")


# --- playhead find ---------------------------------------------------------------------------------------------------


_HIT_COLUMNS: output.Columns[RunHit] = (
    ("seq", lambda hit: hit["seq"]),
    ("turn", lambda hit: hit["turn"]),
    ("where", lambda hit: hit["where"]),
    ("quote", lambda hit: hit["quote"]),
)
