"""`playhead projects redaction`: what is masked in the data of a project."""

import json as json_text
from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.connection import ask_collector
from playhead.cli.options import Json
from playhead.wire.operations.redaction import RedactionAnswer, RedactionJob, RedactionTest

app = typer.Typer(
    no_args_is_help=True,
    help="What is masked in the data of a project before it is stored, with a key of the scope admin.",
)
Project = Annotated[
    str | None, typer.Option("--project", help="Its name; default: that of the key.", show_default=False)
]


@app.command()
def show(ctx: typer.Context, project: Project = None, json: Json = False) -> None:
    """Show the rules of a project, and how far the last job is that ran them over what is stored."""
    with ask_collector(ctx, project=project) as client:
        redaction = client.redaction()
    output.answer_as(json, redaction, _print_redaction)


@app.command(name="set")
def set_rules(
    ctx: typer.Context,
    key: Annotated[
        list[str] | None,
        typer.Option(help="A name of members and attributes, `*` for any characters. Repeat it.", show_default=False),
    ] = None,
    pattern: Annotated[
        list[str] | None, typer.Option(help="A pattern: NAME=REGULAR-EXPRESSION. Repeat it.", show_default=False)
    ] = None,
    preset: Annotated[
        list[str] | None, typer.Option(help="A built-in pattern (see `show`). Repeat it.", show_default=False)
    ] = None,
    hook: Annotated[bool, typer.Option(help="Call the operator's function (PLAYHEAD_REDACTION_HOOK).")] = False,
    project: Project = None,
    json: Json = False,
) -> None:
    """Set all rules of a project: what is left out is no rule any more."""
    patterns = dict(_pattern(text) for text in pattern or ())
    with ask_collector(ctx, project=project) as client:
        redaction = client.set_redaction(keys=key or (), patterns=patterns, presets=preset or (), hook=hook)
    output.answer_as(json, redaction, _print_redaction)


def _pattern(text: str) -> tuple[str, str]:
    name, sign, pattern = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"{text!r} has no name: write it as NAME=REGULAR-EXPRESSION")
    return name, pattern


@app.command(name="test")
def try_rules(
    ctx: typer.Context,
    value: Annotated[str, typer.Argument(help="A text, or a JSON object or list.")],
    project: Project = None,
    json: Json = False,
) -> None:
    """Show what the rules leave of a text or of JSON. Nothing is stored."""
    with ask_collector(ctx, project=project) as client:
        left = client.try_redaction(_value(value))
    output.answer_as(json, left, _print_test)


def _value(text: str) -> Any:
    if text[:1] not in ("{", "["):
        return text
    try:
        return json_text.loads(text)
    except ValueError:
        return text


@app.command()
def apply(ctx: typer.Context, project: Project = None, json: Json = False) -> None:
    """Run the rules over what is stored, in the background. Look at its progress with `show`."""
    with ask_collector(ctx, project=project) as client:
        job = client.apply_redaction()
    output.answer_as(json, job, _print_job)


@app.command()
def stop(ctx: typer.Context, project: Project = None, json: Json = False) -> None:
    """Stop the job. What it has masked stays masked."""
    with ask_collector(ctx, project=project) as client:
        job = client.stop_redaction()
    output.answer_as(json, job, _print_job)


def _print_redaction(redaction: RedactionAnswer) -> None:
    hook = "yes" if redaction["hook"] else "no"
    output.facts(
        {
            "keys": ", ".join(redaction["keys"]) or "-",
            "patterns": "; ".join(f"{name}: {text}" for name, text in redaction["patterns"].items()) or "-",
            "presets": ", ".join(redaction["presets"]) or "-",
            "hook": hook if redaction["has_hook"] or not redaction["hook"] else "yes, but the collector has none",
            "available presets": ", ".join(preset["name"] for preset in redaction["available_presets"]),
        }
    )
    if redaction["job"] is not None:
        _print_job(redaction["job"])


def _print_test(left: RedactionTest) -> None:
    value = left["value"]
    output.echo(value if isinstance(value, str) else json_text.dumps(value, ensure_ascii=False))


def _print_job(job: RedactionJob) -> None:
    state = job["state"] if job["ended"] is not None else f"{job['state']}, at {job['phase']}"
    counts = {
        kind.replace("_", " "): f"{count['changed']:,} of {count['looked_at']:,} changed"
        for kind, count in job["counts"].items()
    }
    facts: dict[str, object] = {"job": state, "started": job["started"], **counts}
    if job["failed"] is not None:
        facts["waits for"] = job["failed"]
    if job["outdated"]:
        facts["rules"] = "changed since it was started: apply them again"
    output.facts(facts)
    output.echo("it cannot change:")
    for what in job["unchanged"]:
        output.echo(f"  {what}")
