"""Commands for differences: `playhead compare` (between two runs) and `playhead diff` (between two events of a run)."""

from typing import Annotated, Any, cast

import typer

from playhead.cli import output
from playhead.cli.connection import ask, run_id
from playhead.cli.options import MOMENT, Json, Limit, Run, note_if_more
from playhead.model.message import Message
from playhead.wire.operations.compare import CallPair, ComparedCall, Comparison
from playhead.wire.operations.moments import Diff

# --- playhead compare -------------------------------------------------------------------------------------------------

_PAIR_SIGNS = {"same": " ", "similar": "≈", "changed": "~", "only_a": "-", "only_b": "+"}


def compare(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(help="A run.", show_default=False)],
    b: Annotated[str, typer.Argument(help="The run to compare it with.", show_default=False)],
    limit: Limit = 100,
    json: Json = False,
) -> None:
    """Show how two runs differ: where they part, which calls stand for which, and what came of it."""
    with ask(ctx) as client:
        answer = client.compare(run_id(client, a), run_id(client, b), limit=limit)
    note_if_more(ctx, "pairs", limit, is_more=answer["next_cursor"] is not None)
    output.answer_as(json, answer, _print_comparison)


def _print_comparison(answer: Comparison) -> None:
    output.echo(" ".join((answer["sentence"], *answer["more"])))
    typer.echo()
    output.facts(_comparison_facts(answer))
    parts = answer["parts"]
    if parts is not None:
        output.echo(f"\nthey part: {_pair_text(parts)}")
        for change in parts["changes"]:
            output.echo(f"  {change['what']}:")
            output.echo("\n".join(f"    {line}" for line in change["lines"]))
    typer.echo()
    output.rows_of(_PAIR_COLUMNS, answer["items"])


def _comparison_facts(answer: Comparison) -> dict[str, object]:
    common, counts, outcome = answer["common"], answer["counts"], answer["outcome"]
    facts: dict[str, object] = {"a": answer["a"]["run"], "b": answer["b"]["run"]}
    if common["calls"]:
        facts["common"] = f"{common['calls']} calls, up to {common['a']} and {common['b']}"
    if common["shared"]:
        facts["shared"] = f"{common['shared']} events of one record"
    facts["calls"] = ", ".join(f"{number} {op}" for op, number in counts.items())
    figures: dict[str, Any] = {**outcome}
    differing = outcome["differs"]
    for name in differing:
        value = figures["answers" if name == "answer" else name]
        facts[name] = f"{_outcome_text(value['a'])} → {_outcome_text(value['b'])}"
    return facts if differing else {**facts, "outcome": "the same"}


def _outcome_text(value: object) -> str:
    if isinstance(value, dict) and "parts" in value:
        return output.message_text(cast(Message, value))
    return value if isinstance(value, str) else output.compact(cast(object, value))


def _pair_text(pair: CallPair) -> str:
    call_a, call_b = pair["a"], pair["b"]
    call = _call_of(pair)
    label = f"{call['kind']} {call['name'] or ''}".strip() if call else ""
    if call_a is not None and call_b is not None:
        return f"{label} at {call_a['seq']} and {call_b['seq']} ({', '.join(pair['differs'])})"
    return f"{label} at {call['seq'] if call else ''}, in {'a' if call_a else 'b'} only"


def _call_of(pair: CallPair) -> ComparedCall | None:
    return pair["a"] or pair["b"]


_PAIR_COLUMNS: output.Columns[CallPair] = (
    ("", lambda pair: _PAIR_SIGNS[pair["op"]]),
    ("a", lambda pair: pair["a"] and pair["a"]["seq"]),
    ("b", lambda pair: pair["b"] and pair["b"]["seq"]),
    ("kind", lambda pair: (call := _call_of(pair)) and call["kind"]),
    ("did", lambda pair: (call := _call_of(pair)) and call["shown"]),
    ("differs", lambda pair: pair["differs"]),
)


# --- playhead diff ----------------------------------------------------------------------------------------------------

_DIFF_SIGNS = {"added": "+", "dropped": "-", "replaced": "~"}


def diff(
    ctx: typer.Context,
    run: Run,
    before: Annotated[str | None, typer.Option("--from", help=f"{MOMENT}; default: the first.")] = None,
    after: Annotated[str | None, typer.Option("--to", help=f"{MOMENT}; default: the last.")] = None,
    json: Json = False,
) -> None:
    """Show what is different between two events: the state, and what the model saw."""
    with ask(ctx) as client:
        answer = client.diff(run_id(client, run), before, after)
    output.answer_as(json, answer, _print_diff)


def _print_diff(answer: Diff) -> None:
    output.facts(
        {"run": answer["run"], "from": answer["from"]["seq"], "to": answer["to"]["seq"], **_state_facts(answer)}
    )
    context = answer["context"]
    counts = ", ".join(f"{context[op]} {op}" for op in ("kept", "added", "dropped", "replaced"))
    if context["moved"]:
        counts += f", {context['moved']} moved"
    typer.echo(f"\ncontext: {counts}\n")
    for entry in context["entries"]:
        if entry["op"] != "kept":
            value = cast(Message | None, entry.get("value"))
            output.message(f"{_DIFF_SIGNS[entry['op']]} ", entry["role"] or "?", value)


def _state_facts(answer: Diff) -> dict[str, object]:
    state = answer["state"]
    facts: dict[str, object] = {
        name: f"{_state_text(moved['from'])} → {_state_text(moved['to'])}"
        for name, moved in state["changed"].items()
        if name != "thread"
    }
    values = answer.get("values", {})
    for name, keyed in state["keyed"].items():
        for key, value in keyed["added"].items():
            facts[f"+ {name}.{key}"] = _state_value(value, values)
        for key, value in keyed["removed"].items():
            facts[f"- {name}.{key}"] = _state_value(value, values)
        for key, moved in keyed["changed"].items():
            facts[f"~ {name}.{key}"] = f"{_state_value(moved['from'], values)} → {_state_value(moved['to'], values)}"
    for name, listed in state["lists"].items():
        facts[name] = f"{len(listed['removed'])} fewer, {len(listed['added'])} more"
    return facts


def _state_value(value: object, values: dict[str, Any]) -> str:
    content = values.get(value, value) if isinstance(value, str) else value
    return output.shortened(_state_text(content))


def _state_text(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else output.compact(value)
