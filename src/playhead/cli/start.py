"""Commands that start something: a collector, a recorded program, the demo, a migration, a delivery."""

import inspect
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from playhead.cli import output
from playhead.cli.options import Json
from playhead.errors import SettingInvalid
from playhead.settings.sdk import load


def _serve_command() -> Callable[..., None]:
    """Returns the `serve` command, with an option for each of the collector's settings."""

    def serve(json: bool, **options: object) -> None:
        """Start a collector: on your Postgres, or on one that is started for you."""
        raise typer.Exit(_collector().serve(as_json=json, **options))

    made: Any = serve
    as_json = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    made.__signature__ = inspect.Signature([*map(_option, _table()), as_json])
    return serve


def _option(line: Any) -> inspect.Parameter:
    # The settings read the environment themselves, so that they know the source of each value.
    help_text = f"{line.help} ({line.env})"
    option = typer.Option("--" + line.field.replace("_", "-"), help=help_text, show_default=False, show_envvar=False)
    return inspect.Parameter(
        line.field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def _table() -> Any:
    try:
        from playhead_collector import settings  # noqa: PLC0415 - the collector is an extra

        return settings.table()
    except ImportError:
        return ()


def _collector() -> Any:
    """Returns the module that starts the collector. Raises SettingInvalid if the extra for it is not installed; the
    message says how to install it."""
    try:
        from playhead_collector import cli  # noqa: PLC0415 - the collector is an extra
    except ImportError as error:
        if (error.name or "playhead").startswith("playhead"):
            raise  # an error in our own code, not a missing extra
        problem = f"this needs the collector, and {error.name or 'a part of it'} is not installed"
        raise SettingInvalid(f'{problem}: pip install "playhead[collector]"') from error
    return cli


serve = _serve_command()


def run(
    command: Annotated[list[str] | None, typer.Argument(help="The program, as it is always started.")] = None,
) -> None:
    """Start a program that is recorded without a change of its code: playhead run -- python app.py"""
    # Mostly, `playhead.__main__` starts the program itself, without Typer.
    from playhead.launch import command as launch  # noqa: PLC0415 - `--help` does without instrumentations

    raise typer.Exit(launch.run(command or []))


def migrate(
    sql: Annotated[bool, typer.Option("--sql", help="Print what would be run, from the first table on.")] = False,
    database_url: Annotated[
        str | None, typer.Option(help="The database. (PLAYHEAD_DATABASE_URL)", show_default=False, show_envvar=False)
    ] = None,
) -> None:
    """Bring a database to the schema that this build needs; `playhead serve` does that by itself."""
    collector = _collector()
    raise typer.Exit(collector.print_migrations() if sql else collector.migrate_database(database_url=database_url))


def rewrap(
    old_key_file: Annotated[
        Path | None, typer.Option(help="The file with the key that wraps them now.", show_default=False)
    ] = None,
    old_command: Annotated[
        str | None, typer.Option(help="Or the command that unwraps them now.", show_default=False)
    ] = None,
    database_url: Annotated[
        str | None, typer.Option(help="The database. (PLAYHEAD_DATABASE_URL)", show_default=False, show_envvar=False)
    ] = None,
) -> None:
    """Wrap the keys of encrypted projects with a new operator's key, that of PLAYHEAD_ENCRYPTION_KEY."""
    raise typer.Exit(_collector().rewrap_keys(old_key_file, old_command, database_url=database_url))


def demo() -> None:
    """Record a small agent that talks to a model server of its own, and look at what was recorded."""
    _collector()
    from playhead.demo import run_demo  # noqa: PLC0415 - it needs the collector, too

    raise typer.Exit(run_demo())


def ship(
    ctx: typer.Context,
    journal_dir: Annotated[
        Path | None, typer.Option(envvar="PLAYHEAD_JOURNAL_DIR", help="The journal's folder.", show_default=False)
    ] = None,
    dead_letters: Annotated[
        bool, typer.Option("--dead-letters", help="Send again, too, what the collector refused before.")
    ] = False,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A header that only the program knew, of a destination of playhead.export_to.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Send what dead processes left in their journals, to the collector and to destinations of playhead.export_to.

    Conversations that are pending in the journal are brought to the collector, too.

    Keys of destinations are read from their own variables (LANGFUSE_*, PHOENIX_API_KEY).  Exits with 3 while anything
    is left or refused, and with 4 when a part of the journal was damaged and cannot be read."""
    from playhead.conversations.keeping import store_of  # noqa: PLC0415 - `--help` does without an HTTP library
    from playhead.export.dead_lane_delivery import ship_orphans  # noqa: PLC0415 - see above

    # A folder named by a variable may not exist yet, if nothing was recorded. A folder that is typed has to exist.
    if journal_dir is not None and _is_typed(ctx, "journal_dir") and not journal_dir.exists():
        raise SettingInvalid(f"there is no folder {journal_dir}: name the one that PLAYHEAD_JOURNAL_DIR was set to")
    report = ship_orphans(journal_dir, letters=dead_letters, headers=dict(map(_header, header or ())))
    output.answer_as(json, asdict(report), _print_shipped)
    all_brought = store_of(load(journal_dir=journal_dir)).deliver()
    if not all_brought or report.left or report.dead_letters or any(sent.left for sent in report.elsewhere.values()):
        raise typer.Exit(3)
    if report.damaged_bytes:
        raise typer.Exit(4)


def _print_shipped(report: dict[str, Any]) -> None:
    output.facts({name: value for name, value in report.items() if name != "elsewhere"})
    for name, sent in report["elsewhere"].items():
        output.facts({"to": name, **sent})


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingInvalid("--header: give NAME=VALUE")
    return name.strip(), value


def _is_typed(ctx: typer.Context, option: str) -> bool:
    source = ctx.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"
