"""The command line: one table of all commands, options for the collector, printing of errors, exit codes.

A command's module is imported when the command is called, or when its help is needed: importing all of them takes
longer than reading a run from the journal.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_group

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


# --- all commands -----------------------------------------------------------------------------------------------------


class Command(NamedTuple):
    """Where a command is, and where help lists it."""

    module: str
    """Module in `playhead.cli`."""
    function: str
    """Name of the command's function in the module, or of a `typer.Typer` with several commands."""
    panel: str
    """Heading of the help page below which the command stands."""
    context_settings: dict[str, Any] | None = None
    """Settings for the parser of this command's arguments."""


# All arguments of `run` are passed to the program that it starts.
_AS_GIVEN = {"ignore_unknown_options": True, "allow_interspersed_args": False}
# In the order of the help page.
COMMANDS: Mapping[str, Command] = {
    "runs": Command("runs", "runs", "Look"),
    "show": Command("runs", "show", "Look"),
    "verdict": Command("turns", "verdict", "Look"),
    "turns": Command("turns", "turns", "Look"),
    "turn": Command("turns", "turn", "Look"),
    "find": Command("turns", "find", "Look"),
    "scores": Command("scores", "scores", "Look"),
    "tree": Command("tree", "tree", "Look"),
    "events": Command("read", "events", "Look"),
    "state": Command("read", "state", "Look"),
    "context": Command("read", "context", "Look"),
    "messages": Command("read", "messages", "Look"),
    "tokens": Command("contexts", "tokens", "Look"),
    "content": Command("read", "content", "Look"),
    "conversations": Command("conversations", "conversations", "Look"),
    "conversation": Command("conversations", "conversation", "Look"),
    "watch": Command("read", "watch", "Look"),
    "why": Command("why", "why", "Ask"),
    "suspects": Command("suspects", "suspects", "Ask"),
    "decisions": Command("why", "decisions", "Ask"),
    "reasoning": Command("reasoning", "reasoning", "Ask"),
    "compressions": Command("contexts", "compressions", "Ask"),
    "diff": Command("differences", "diff", "Ask"),
    "compare": Command("differences", "compare", "Ask"),
    "explain": Command("reasoning", "explain", "Ask"),
    "ask-again": Command("reasoning", "ask_again", "Ask"),
    "score": Command("scores", "score", "Score"),
    "note": Command("notes", "note", "Score"),
    "notes": Command("notes", "notes", "Score"),
    "resume": Command("rewinding", "resume", "Rewind"),
    "fork": Command("rewinding", "fork", "Rewind"),
    "checkpoints": Command("read", "checkpoints", "Rewind"),
    "promises": Command("promises", "promises", "Wait"),
    "approve": Command("promises", "approve", "Wait"),
    "deny": Command("promises", "deny", "Wait"),
    "answer": Command("promises", "answer", "Wait"),
    "interrupt": Command("promises", "interrupt", "Wait"),
    "serve": Command("start", "serve", "Operate"),
    "run": Command("start", "run", "Operate", _AS_GIVEN),
    "demo": Command("start", "demo", "Operate"),
    "doctor": Command("doctor", "doctor", "Operate"),
    "journal": Command("journal", "journal", "Operate"),
    "ship": Command("start", "ship", "Operate"),
    "migrate": Command("start", "migrate", "Operate"),
    "rewrap": Command("start", "rewrap", "Operate"),
    "storage": Command("storage", "storage", "Operate"),
    "export": Command("archives.commands", "export", "Operate"),
    "delete": Command("storage", "delete", "Operate"),
    "gc": Command("storage", "gc", "Operate"),
    "pin": Command("retention", "pin", "Operate"),
    "unpin": Command("retention", "unpin", "Operate"),
    "import": Command("archives.commands", "import_files", "Operate"),
    "across": Command("across", "app", "Ask"),
    "search": Command("search", "app", "Ask"),
    "keys": Command("keys", "app", "Operate"),
    "projects": Command("projects", "app", "Operate"),
    "forward": Command("forward", "app", "Operate"),
    "retain": Command("retention", "app", "Operate"),
}


class _LazyCommands(MutableMapping[str, Any]):
    """The commands of the table by name, for Typer's group: each is imported when it is read."""

    def __getitem__(self, name: str) -> Any:
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: object) -> None:
        raise TypeError(f"the command {name} has to be listed in COMMANDS")

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"the command {name} has to be removed from COMMANDS")


@cache
def _load(name: str) -> Any:
    """Imports a command of the table and returns it as Typer's group needs it. Raises KeyError."""
    module, attribute, panel, settings = COMMANDS[name]
    found = getattr(import_module(f"playhead.cli.{module}"), attribute)
    application = typer.Typer()
    if isinstance(found, typer.Typer):
        application.add_typer(found, name=name, rich_help_panel=panel)
    else:
        application.command(name, rich_help_panel=panel, context_settings=settings)(found)
    return get_group(application).commands[name]


# --- the command line -------------------------------------------------------------------------------------------------

# Options for the collector, which may stand anywhere. These two have a value.
_WITH_VALUE = ("--url", "--api-key")
_LOCAL = "--local"
# Options after `run` may belong to the program that it starts.
_STARTED = ["run"]


class Commands(TyperGroup):
    """The commands of the table. Prints our errors as one sentence, and exits with their code. Accepts the options for
    the collector anywhere."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _LazyCommands()

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


app = typer.Typer(
    cls=Commands,
    help=HELP,
    no_args_is_help=True,
    context_settings={"auto_envvar_prefix": "PLAYHEAD", "help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - reads files: 10 ms

        try:
            typer.echo(f"playhead {version('playhead')}")
        except PackageNotFoundError:
            typer.echo("playhead, from a source tree that was never installed")
        raise typer.Exit


@app.callback()
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
