"""`playhead scorers`: what scores runs that have ended."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from playhead.cli import output
from playhead.cli.connection import ask_collector, complete_run
from playhead.cli.options import Json, parse_time_option
from playhead.cli.scores import shown_number
from playhead.model.canonical import parse_json
from playhead.wire.operations.scorers import ScorerAnswer, ScorerCounts, ScorerList, TriedScorer

app = typer.Typer(no_args_is_help=True, help="Score runs that have ended: by rules, functions, or a model that judges.")
Name = Annotated[str, typer.Argument(help="Its name.", show_default=False)]


@app.command(name="list")
def list_scorers(ctx: typer.Context, json: Json = False) -> None:
    """List the scorers of the project."""
    with ask_collector(ctx) as client:
        answer = client.scorers()
    output.answer_as(json, answer, _print_list)


def _print_list(answer: ScorerList) -> None:
    output.rows_of(_COLUMNS, answer["items"])
    if answer["functions"]:
        output.echo(f"functions: {', '.join(answer['functions'])}")
    if answer["models"]:
        output.echo(f"models: {', '.join(answer['models'])}")


_COLUMNS: output.Columns[ScorerAnswer] = (
    ("name", lambda scorer: scorer["name"]),
    ("kind", lambda scorer: scorer["kind"]),
    ("version", lambda scorer: str(scorer["version"])),
    ("on", lambda scorer: "yes" if scorer["enabled"] else "no"),
    ("score", lambda scorer: scorer["score"]),
    ("scored", lambda scorer: f"{scorer['total']['scored']:,}"),
    ("failed", lambda scorer: f"{scorer['total']['failed']:,}"),
    ("due", lambda scorer: f"{scorer['due']:,}"),
)


@app.command()
def show(ctx: typer.Context, name: Name, json: Json = False) -> None:
    """Show a scorer: what it does, what it did, and what waits for it."""
    with ask_collector(ctx) as client:
        answer = client.scorer(name)
    output.answer_as(json, answer, _print_scorer)


@app.command(name="set")
def set_scorer(
    ctx: typer.Context,
    name: Name,
    rule: Annotated[str | None, typer.Option(help="A rule as JSON, or @FILE with one.", show_default=False)] = None,
    function: Annotated[
        str | None, typer.Option(help="A function that the operator named.", show_default=False)
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="What a model is asked about the run, or @FILE with it.", show_default=False)
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model that judges.", show_default=False)] = None,
    score: Annotated[str | None, typer.Option(help="Name of its scores; default: its own.", show_default=False)] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only runs with NAME=VALUE: agent, status, session, user, tag, ...", show_default=False),
    ] = None,
    sample: Annotated[float, typer.Option(min=0, max=1, help="The share of runs that is scored.")] = 1.0,
    runs_per_day: Annotated[int | None, typer.Option(min=1, help="Budget of runs.", show_default=False)] = None,
    tokens_per_day: Annotated[int | None, typer.Option(min=1, help="Budget of a judge.", show_default=False)] = None,
    cost_per_day: Annotated[float | None, typer.Option(help="The same, in US dollars.", show_default=False)] = None,
    off: Annotated[bool, typer.Option("--off", help="Switch it off.")] = False,
    json: Json = False,
) -> None:
    """Make a scorer, or change it: what is left out has its default. Give one of --rule, --function and --judge."""
    kinds = {"rule": rule, "function": function, "judge": judge}
    given = [kind for kind, value in kinds.items() if value is not None]
    if len(given) != 1:
        raise typer.BadParameter("give one of --rule, --function and --judge")
    values: dict[str, Any] = {"kind": given[0]}
    if rule is not None:
        values["rule"] = _rule(_text(rule))
    elif judge is not None:
        values |= {"prompt": _text(judge), "judge_model": model}
    else:
        values["function"] = function
    values |= {"score": score, "where": _conditions(where or []), "sample": sample, "runs_per_day": runs_per_day}
    values |= {"tokens_per_day": tokens_per_day, "cost_per_day": cost_per_day, "enabled": not off}
    with ask_collector(ctx) as client:
        answer = client.set_scorer(name, **values)
    output.answer_as(json, answer, _print_scorer)


def _text(value: str) -> str:
    """The value itself, or of `@FILE` what is in the file."""
    if not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{value[1:]} cannot be read: {error}") from None


def _rule(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"the rule is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter('a rule is a JSON object, such as {"fails_if": [{"tool_error": "last"}]}')
    return cast(dict[str, Any], value)


def _conditions(given: list[str]) -> dict[str, str]:
    conditions: dict[str, str] = {}
    for item in given:
        name, found, value = item.partition("=")
        if not found:
            raise typer.BadParameter(f"{item} is no condition: write NAME=VALUE, such as agent=support")
        conditions[name] = value
    return conditions


@app.command()
def delete(ctx: typer.Context, name: Name, json: Json = False) -> None:
    """Delete a scorer. Its scores stay."""
    with ask_collector(ctx) as client:
        answer = client.delete_scorer(name)
    output.answer_as(
        json, answer, lambda done: output.echo(f"deleted {name}" if done["deleted"] else f"there is no scorer {name}")
    )


@app.command()
def backfill(
    ctx: typer.Context,
    name: Name,
    since: Annotated[str | None, typer.Option(help="Runs begun at or after this time.", show_default=False)] = None,
    until: Annotated[str | None, typer.Option(help="Runs begun at or before this time.", show_default=False)] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the pass that goes on.")] = False,
    json: Json = False,
) -> None:
    """Score stored runs, the newest first; within the sample and the budget."""
    with ask_collector(ctx) as client:
        if stop:
            answer = client.stop_backfill(name)
        else:
            answer = client.backfill_scorer(name, since=parse_time_option(since), until=parse_time_option(until))
    output.answer_as(json, answer, _print_scorer)


@app.command(name="test")
def try_scorer(
    ctx: typer.Context,
    name: Name,
    run: Annotated[
        str,
        typer.Argument(help="A run: its id, a part of it, or `last`.", show_default=False, autocompletion=complete_run),
    ],
    json: Json = False,
) -> None:
    """Ask a scorer about a run now. The scores are not stored."""
    with ask_collector(ctx) as client:
        answer = client.try_scorer(name, run)
    output.answer_as(json, answer, _print_tried)


def _print_tried(answer: TriedScorer) -> None:
    if not answer["scores"]:
        output.echo("no score")
    for score in answer["scores"]:
        label = "" if score["label"] is None else f" ({score['label']})"
        comment = "" if score["comment"] is None else f": {score['comment']}"
        output.echo(f"{score['name']} = {shown_number(score['value'])}{label}{comment}")


def _print_scorer(scorer: ScorerAnswer) -> None:
    backfill, budget = scorer["backfill"], scorer["budget"]
    limits = [f"{limit:g} {name.replace('_', ' ')}" for name, limit in budget.items() if isinstance(limit, int | float)]
    facts: dict[str, object] = {
        "name": scorer["name"],
        "kind": f"{scorer['kind']}, version {scorer['version']}",
        "on": "yes" if scorer["enabled"] else "no",
        "score": scorer["score"],
        "runs": ", ".join(f"{name}={value}" for name, value in scorer["where"].items()) or "all",
        "sample": f"{scorer['sample']:.1%}",
        "budget": ", ".join(limits) or "none",
        "today": _counted(scorer["today"]),
        "in all": _counted(scorer["total"]),
        "due": f"{scorer['due']:,}",
    }
    if backfill is not None:
        facts["backfill"] = f"{backfill['state']}: {backfill['looked']:,} runs, {backfill['queued']:,} queued"
    output.facts(facts)
    for failure in scorer["failures"]:
        output.echo(f"given up: {failure['run']}: {failure['error']}")


def _counted(counts: ScorerCounts) -> str:
    shown = [f"{counts['scored']:,} scored"]
    others = {
        "failed": counts["failed"],
        "not in the sample": counts["not_sampled"],
        "over the budget": counts["over_budget"],
        "tokens": counts["tokens"],
    }
    shown += [f"{count:,} {name}" for name, count in others.items() if count]
    if counts["cost"]:
        shown.append(f"${counts['cost']:.4f}")
    return ", ".join(shown)
