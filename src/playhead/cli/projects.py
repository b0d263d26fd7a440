"""`playhead projects`: tenants of one collector, and their limits."""

from typing import Annotated

import typer

from playhead.cli import output, redaction
from playhead.cli.connection import ask_collector
from playhead.cli.options import Json
from playhead.wire.operations.projects import ProjectAnswer, ProjectLimits, ProjectUsage

app = typer.Typer(
    no_args_is_help=True,
    help="Make, limit, list and delete projects, with the operator's key (PLAYHEAD_ADMIN_KEY of the collector).",
)
app.add_typer(redaction.app, name="redaction")
Name = Annotated[str, typer.Argument(help="Its name.")]


@app.command(name="list")
def list_projects(ctx: typer.Context, json: Json = False) -> None:
    """List the projects with their limits."""
    with ask_collector(ctx) as client:
        projects = client.projects()["items"]
    output.list_as(json, projects, _COLUMNS)


def _limit(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


_COLUMNS: output.Columns[ProjectAnswer] = (
    ("name", lambda project: project["name"]),
    ("created", lambda project: project["created"][:10]),
    ("spans/s", lambda project: _limit(project["limits"]["spans_per_second"])),
    ("bytes/day", lambda project: _limit(project["limits"]["bytes_per_day"])),
    ("stored bytes", lambda project: _limit(project["limits"]["stored_bytes"])),
    ("encryption", lambda project: project["encryption"].replace("_", " ")),
)


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Its name; default: that of the key.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Show a project: its limits, and what it sent today."""
    with ask_collector(ctx, project=name) as client:
        project = client.project()
    output.answer_as(json, project, _print_usage)


def _print_usage(project: ProjectUsage) -> None:
    limits = project["limits"]
    output.facts(
        {
            "name": project["name"],
            "created": project["created"],
            "today": f"{project['spans_today']:,} spans and log events, {output.size(project['bytes_today'])}",
            "encryption": project["encryption"].replace("_", " "),
            **_limit_facts(limits),
            "refused": project["refused"] or "no",
        }
    )


def _limit_facts(limits: ProjectLimits) -> dict[str, object]:
    return {
        "spans per second": _limit(limits["spans_per_second"]),
        "bytes per day": _limit(limits["bytes_per_day"]),
        "stored bytes": _limit(limits["stored_bytes"]),
    }


@app.command()
def create(
    ctx: typer.Context,
    name: Name,
    encrypted: Annotated[
        bool,
        typer.Option("--encrypt", help="Encrypt what is stored of it, with a key of its own. Cannot be changed later."),
    ] = False,
    json: Json = False,
) -> None:
    """Make a project. Make keys for it with `playhead keys create --project NAME`."""
    with ask_collector(ctx) as client:
        project = client.create_project(name, encrypted=encrypted)
    output.answer_as(json, project, _print_created)


def _print_created(project: ProjectAnswer) -> None:
    output.echo(f"project {project['name']}: make a key with `playhead keys create NAME --project {project['name']}`")


@app.command()
def limit(
    ctx: typer.Context,
    name: Name,
    spans_per_second: Annotated[
        int | None, typer.Option(min=1, help="Spans and log events, at each collector.", show_default=False)
    ] = None,
    bytes_per_day: Annotated[
        int | None, typer.Option(min=1, help="Of requests, not compressed; days are UTC.", show_default=False)
    ] = None,
    stored_bytes: Annotated[
        int | None, typer.Option(min=1, help="Of its rows and indexes in the database.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Set all limits of a project: one that is left out is no limit any more."""
    with ask_collector(ctx) as client:
        project = client.limit_project(
            name, spans_per_second=spans_per_second, bytes_per_day=bytes_per_day, stored_bytes=stored_bytes
        )
    output.answer_as(json, project, lambda made: output.facts(_limit_facts(made["limits"])))


@app.command()
def delete(
    ctx: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Delete a project with all its runs, contents and keys, for good."""
    if not yes:
        typer.confirm(f"Delete project {output.visible(name)} with all its runs for good?", abort=True, err=True)
    with ask_collector(ctx) as client:
        answer = client.delete_project(name)
    output.answer_as(json, answer, lambda _: output.echo(f"deleted {name}"))


@app.command(name="destroy-key")
def destroy_key(
    ctx: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Destroy the key of an encrypted project: nobody can read it any more, also not in backups without the key."""
    if not yes:
        question = f"Destroy the key of project {output.visible(name)}, so that nobody can read it any more?"
        typer.confirm(question, abort=True, err=True)
    with ask_collector(ctx) as client:
        answer = client.destroy_key(name)
    said = f"destroyed the key of {name}" if answer["destroyed"] else f"the key of {name} was destroyed before"
    output.answer_as(json, answer, lambda _: output.echo(said))
