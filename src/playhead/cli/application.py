"""The application without commands, and one with a single command.

`new_application` makes a command line with the options for the collector, the printing of errors and the exit codes;
`all_commands` adds all commands. `single` makes one with the command that was typed: loading all commands takes longer
than reading a run from the journal.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from itertools import islice
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from playhead.cli import output
from playhead.cli.connection import CollectorAddress
from playhead.errors import CollectorUnreachable, NotFound, PlayheadError

OK, NOT_FOUND, USAGE, UNREACHABLE = 0, 1, 2, 3
HELP = """A flight recorder with a rewind handle for LLM agents.

RUN is a run's id, any part of it that no other run has, or `last`. Every option is also an environment variable;
--url, --api-key and --local may stand anywhere.

Exit codes: 0 it worked; 1 not found, or `serve` could not start; 2 a command or a setting is wrong; 3 the collector
cannot be reached.
"""


# Options for the collector, which may stand anywhere. These two have a value.
_WITH_VALUE = ("--url", "--api-key")
_LOCAL = "--local"
# Options after `run` may belong to the program that it starts.
_STARTED = ["run"]


class Commands(TyperGroup):
    """Prints our errors as one sentence, and exits with their code. Accepts the options for the collector anywhere."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Moves the options for the collector before the subcommand's name. Arguments after `--` stay in place."""
        end = args.index("--") if "--" in args else len(args)
        ours, rest = collector_options(args[:end])
        return super().parse_args(ctx, [*ours, *rest, *args[end:]])

    def invoke(self, ctx: Any) -> Any:
        """Runs the command. An error of ours is printed, and becomes an exit code."""
        try:
            return super().invoke(ctx)
        except PlayheadError as error:
            output.echo(f"playhead: {error}", err=True)
            raise typer.Exit(exit_code(error)) from error


def collector_options(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits the arguments into the options for the collector, with their values, and all others, in their order."""
    ours: list[str] = []
    rest: list[str] = []
    remaining = iter(args)
    for arg in remaining:
        if arg in _WITH_VALUE:
            ours += [arg, *islice(remaining, 1)]
        elif arg.partition("=")[0] in _WITH_VALUE or (arg == _LOCAL and rest[:1] != _STARTED):
            ours.append(arg)
        else:
            rest.append(arg)
    return ours, rest


def exit_code(error: PlayheadError) -> int:
    """Returns the exit code for an error."""
    match error:
        case NotFound():
            return NOT_FOUND
        case CollectorUnreachable():
            return UNREACHABLE
        case _:
            return USAGE


def new_application() -> typer.Typer:
    """Makes a command line to which commands can be added."""
    app = typer.Typer(
        cls=Commands,
        help=HELP,
        no_args_is_help=True,
        context_settings={"auto_envvar_prefix": "PLAYHEAD", "help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback()(_keep_collector_options)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - reads files: 10 ms

        try:
            typer.echo(f"playhead {version('playhead')}")
        except PackageNotFoundError:
            typer.echo("playhead, from a source tree that was never installed")
        raise typer.Exit


def _keep_collector_options(
    ctx: typer.Context,
    url: Annotated[
        str | None, typer.Option(envvar="PLAYHEAD_COLLECTOR_URL", help="The collector to ask.", show_default=False)
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(envvar="PLAYHEAD_API_KEY", help="The collector's key.", show_default=False)
    ] = None,
    local: Annotated[
        bool,
        typer.Option(
            "--local",
            help="Ask the journal of this machine, without a collector; so it is also when nothing answers and no "
            "collector was named.",
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, allow_from_autoenv=False, help="Say it, and stop."
        ),
    ] = False,
) -> None:
    ctx.obj = CollectorAddress(url, api_key, is_local=local)


# --- one command ------------------------------------------------------------------------------------------------------

# Commands that are not in this table work as well, but start a little later.
_MODULE_OF_COMMAND = {
    "runs": "runs", "show": "runs",
    "events": "read", "state": "read", "context": "read", "messages": "read", "content": "read", "checkpoints": "read",
    "tree": "tree", "tokens": "contexts", "why": "why", "suspects": "suspects", "decisions": "why",
    "compressions": "contexts", "compare": "differences", "diff": "differences",
}  # fmt: skip
_COMPLETION_VARIABLE = "_PLAYHEAD_COMPLETE"


def single(args: Sequence[str]) -> typer.Typer | None:
    """Returns a command line with the command that these arguments begin with; None if all commands have to be
    loaded."""
    name = _first_word(args)
    if name not in _MODULE_OF_COMMAND or _COMPLETION_VARIABLE in os.environ:
        return None

    app = new_application()
    app.command()(getattr(import_module(f"playhead.cli.{_MODULE_OF_COMMAND[name]}"), name))
    return app


def _first_word(args: Sequence[str]) -> str:
    remaining = iter(args)
    for arg in remaining:
        if arg in _WITH_VALUE:
            next(remaining, None)
        elif not arg.startswith("-"):
            return arg
    return ""
