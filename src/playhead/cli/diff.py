"""`playhead diff`: differences between two events of a run."""

from typing import Annotated, Any, cast

import typer

from playhead.cli import output
from playhead.cli.connection import CollectorAddress, run_id
from playhead.cli.options import MOMENT, Json, Run
from playhead.model.message import Message
from playhead.wire.operations.moments import Diff

_SIGNS = {"added": "+", "dropped": "-", "replaced": "~"}


def diff(
    ctx: typer.Context,
    run: Run,
    before: Annotated[str | None, typer.Option("--from", help=f"{MOMENT}; default: the first.")] = None,
    after: Annotated[str | None, typer.Option("--to", help=f"{MOMENT}; default: the last.")] = None,
    json: Json = False,
) -> None:
    """Show what is different between two events: the state, and what the model saw."""
    with ctx.ensure_object(CollectorAddress).ask() as client:
        answer = client.diff(run_id(client, run), before, after)
    if json:
        output.as_json(answer)
        return
    output.facts({"run": answer["run"], "from": answer["from"]["seq"], "to": answer["to"]["seq"], **_state(answer)})
    context = answer["context"]
    counts = ", ".join(f"{context[op]} {op}" for op in ("kept", "added", "dropped", "replaced"))
    typer.echo(f"\ncontext: {counts}\n")
    for entry in context["entries"]:
        if entry["op"] != "kept":
            value = cast(Message | None, entry.get("value"))
            output.message(f"{_SIGNS[entry['op']]} ", entry["role"] or "?", value)


def _state(answer: Diff) -> dict[str, object]:
    state = answer["state"]
    facts: dict[str, object] = {
        name: f"{_plain(moved['from'])} → {_plain(moved['to'])}"
        for name, moved in state["changed"].items()
        if name != "thread"
    }
    values = answer.get("values", {})
    for name, keyed in state["keyed"].items():
        for key, value in keyed["added"].items():
            facts[f"+ {name}.{key}"] = _value(value, values)
        for key, value in keyed["removed"].items():
            facts[f"- {name}.{key}"] = _value(value, values)
        for key, moved in keyed["changed"].items():
            facts[f"~ {name}.{key}"] = f"{_value(moved['from'], values)} → {_value(moved['to'], values)}"
    for name, listed in state["lists"].items():
        facts[name] = f"{len(listed['removed'])} fewer, {len(listed['added'])} more"
    return facts


def _value(value: Any, values: dict[str, Any]) -> str:
    content = values.get(value, value) if isinstance(value, str) else value
    return output.shortened(_plain(content))


def _plain(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else output.compact(value)
