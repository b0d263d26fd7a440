"""`playhead retain`: how long runs are kept and in which form; `playhead pin` and `unpin`."""

import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import ask_collector, run_id
from playhead.cli.options import Json, Limit, Run
from playhead.wire.operations.retention import PlannedMove, ProjectRetention, RetentionPlan, RunRemoval, UpcomingMove

app = typer.Typer(invoke_without_command=True)


@app.callback()
def retain(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and why; change nothing.")] = False,
    limit: Limit = 100,
    json: Json = False,
) -> None:
    """Do now what the retention policy says; `serve` does it once a day."""
    if ctx.invoked_subcommand is not None:
        return
    if dry_run:
        with ask_collector(ctx) as client:
            plan = client.retention_plan(limit=limit)
        output.answer_as(json, plan, _print_plan)
        return
    moved, freed, complete = Counter[str](), 0, False
    with ask_collector(ctx) as client:
        while not complete:
            done = client.retain()
            moved.update({str(tier): runs for tier, runs in done["runs"].items()})
            freed, complete = freed + done["bytes"], done["complete"]
    answer: dict[str, Any] = {"runs": dict(moved), "bytes": freed, "complete": True}
    output.answer_as(json, answer, lambda _: _print_moved(moved, freed))


def _print_moved(moved: Counter[str], freed: int) -> None:
    if not moved:
        output.echo("nothing is due")
        return
    output.facts({f"{tier}": f"{runs:,} runs" for tier, runs in moved.items()} | {"bytes of rows": output.size(freed)})


def _print_plan(plan: RetentionPlan) -> None:
    whole = "" if plan["all_looked_at"] else f" (of the first {plan['looked_at']:,} runs)"
    output.facts(
        {
            "would go": f"{plan['runs']:,} runs, {output.size(plan['bytes'])} of rows{whole}",
            "stay although due": f"{plan['kept']:,} runs",
        }
    )
    output.rows_of(_PLAN_COLUMNS, plan["items"])


_PLAN_COLUMNS: output.Columns[PlannedMove] = (
    ("run", lambda move: move["run"]),
    ("is", lambda move: move["tier"]),
    ("goes to", lambda move: move["to"] if move["kept"] is None else "-"),
    ("why", lambda move: move["why"]),
    ("stays because", lambda move: move["kept"] or "-"),
    ("bytes", lambda move: output.size(move["bytes"])),
)


@app.command(name="set")
def set_policy(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="The policy, in TOML.", show_default=False)] = None,
    none: Annotated[bool, typer.Option("--none", help="No policy: keep runs for ever.")] = False,
    json: Json = False,
) -> None:
    """Set the policy of the project from a TOML file. See what it would do with `playhead retain --dry-run`."""
    if none == (file is not None):
        raise typer.BadParameter("give a file, or --none")
    with ask_collector(ctx) as client:
        answer = client.set_retention(None if file is None else _read(file))
    output.answer_as(json, answer, _print_retention)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} is not TOML: {error}") from None


@app.command()
def show(ctx: typer.Context, json: Json = False) -> None:
    """Show the policy of the project, how many runs are in each tier, and what goes when."""
    with ask_collector(ctx) as client:
        answer = client.retention()
    output.answer_as(json, answer, _print_retention)


def _print_retention(answer: ProjectRetention) -> None:
    facts: dict[str, object] = {f"{tier}": f"{runs:,} runs" for tier, runs in answer["tiers"].items()}
    if answer["policy"] is None:
        facts["policy"] = "none: runs are kept for ever"
    elif not answer["object_store"]:
        facts["object store"] = "none: warm runs stay as they are"
    output.facts(facts)
    for name, rule in _rules(answer["policy"] or {}):
        output.echo(f"{name}: {', '.join(f'{key} = {value}' for key, value in rule.items()) or 'kept for ever'}")
    print_upcoming(answer["upcoming"])


def print_upcoming(moves: Iterable[UpcomingMove]) -> None:
    """Prints what goes when."""
    for move in moves:
        days = "a day" if move["days"] == 1 else f"{move['days']} days"
        output.echo(f"within {days}: {move['runs']:,} runs to {move['tier']}")


def _rules(policy: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    rules: list[dict[str, Any]] = policy.get("rules", [])
    named = [(str(rule.get("name", f"rule {number}")), rule) for number, rule in enumerate(rules, 1)]
    shown = [(name, {key: value for key, value in rule.items() if key != "name"}) for name, rule in named]
    return [*shown, ("default", policy.get("default", {}))] if policy else []


@app.command()
def log(ctx: typer.Context, limit: Limit = 20, json: Json = False) -> None:
    """List what was thinned and deleted by rules, latest first."""
    with ask_collector(ctx) as client:
        rows = [row for row, _ in zip(client.removals(), range(limit), strict=False)]
    output.list_as(json, rows, _LOG_COLUMNS)


_LOG_COLUMNS: output.Columns[RunRemoval] = (
    ("time", lambda row: row["time"][:19]),
    ("rule", lambda row: row["rule"]),
    ("from", lambda row: row["tier"]),
    ("to", lambda row: row["to"]),
    ("runs", lambda row: len(row["runs"])),
    ("contents", lambda row: row["contents"]),
    ("bytes", lambda row: output.size(row["bytes"])),
)


def pin(
    ctx: typer.Context,
    run: Run,
    reason: Annotated[str | None, typer.Option(help="Why it is kept.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Pin a run: no retention rule thins or deletes it."""
    with ask_collector(ctx) as client:
        answer = client.pin_run(run_id(client, run), reason)
    output.answer_as(json, answer, lambda made: output.echo(f"pinned {made['run']}"))


def unpin(ctx: typer.Context, run: Run, json: Json = False) -> None:
    """Take the pin of a run away: retention rules are about it again."""
    with ask_collector(ctx) as client:
        named = run_id(client, run)
        answer = client.unpin_run(named)
    output.answer_as(
        json, answer, lambda done: output.echo(f"unpinned {named}" if done["unpinned"] else f"{named} was not pinned")
    )
