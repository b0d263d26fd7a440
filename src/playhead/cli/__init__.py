"""The `playhead` command: reads what a collector has recorded, and starts one.

    read    runs, show, events, state, context, messages, content      start    serve, demo, ship, doctor
    why     decisions, why                                             change   diff, compressions
    comparing  compare
    thought tokens, reasoning, explain
    rewinding  resume, fork
    asking  the collector, and which run is meant                      shown    tables, texts and JSON

It works without any extra; a command that needs one says which.
"""

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from playhead.cli import change, comparing, read, rewinding, start, thought, why
from playhead.cli.asking import Collector
from playhead.errors import CollectorUnreachable, NotFound, PlayheadError

OK, NOT_FOUND, USAGE, UNREACHABLE = 0, 1, 2, 3
HELP = """A flight recorder with a rewind handle for LLM agents.

RUN is a run's id, the beginning of one, or `last`. Every option is also an environment variable.

Exit codes: 0 it worked; 1 not found, or `serve` could not start; 2 a command or a setting is wrong; 3 the collector
cannot be reached.
"""


class Commands(TyperGroup):
    """Turns our errors into one sentence and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        try:
            return super().invoke(ctx)
        except PlayheadError as error:
            typer.echo(f"playhead: {error}", err=True)
            raise typer.Exit(exit_code(error)) from error


def exit_code(error: PlayheadError) -> int:
    """What an error means to a script."""
    match error:
        case NotFound():
            return NOT_FOUND
        case CollectorUnreachable():
            return UNREACHABLE
        case _:
            return USAGE


app = typer.Typer(
    cls=Commands,
    help=HELP,
    no_args_is_help=True,
    context_settings={"auto_envvar_prefix": "PLAYHEAD", "help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"playhead {version('playhead')}")
        except PackageNotFoundError:
            typer.echo("playhead, from a source tree that was never installed")
        raise typer.Exit


@app.callback()
def _common(
    ctx: typer.Context,
    url: Annotated[
        str | None, typer.Option(envvar="PLAYHEAD_COLLECTOR_URL", help="The collector to ask.", show_default=False)
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(envvar="PLAYHEAD_API_KEY", help="The collector's key.", show_default=False)
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, allow_from_autoenv=False, help="Say it, and stop."
        ),
    ] = False,
) -> None:
    ctx.obj = Collector(url, api_key)


read.register(app)
why.register(app)
change.register(app)
comparing.register(app)
thought.register(app)
rewinding.register(app)
start.register(app)


def main() -> None:
    """The `playhead` command."""
    app()
