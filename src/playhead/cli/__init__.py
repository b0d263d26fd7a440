"""The `playhead` command: reads what a collector has recorded, and starts one.

    look     runs (runs, show), trees (tree), read (events, state, context, messages, content, checkpoints, watch),
             tokens
    ask      provenance (why), suspects, decisions, reasoning (reasoning, explain), compression, diff,
             compare
    across   scores (score, scores), analytics (across), search
    rewind   rewinding (resume, fork)
    answering  promises (promises, approve, deny, answer, interrupt)
    operate  start (serve, run, demo, ship, migrate), doctor, deletion, keys, forward, storage
    moving   commands (export, import)

    connection  the collector, and which run is meant       options  what several commands take
    output      tables, texts and JSON

It works without any extra; a command that needs one says which.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from playhead.cli import (
    compare,
    compression,
    decisions,
    diff,
    output,
    provenance,
    read,
    reasoning,
    rewinding,
    runs,
    suspects,
    tokens,
)
from playhead.cli.across import analytics, scores, search
from playhead.cli.answering import promises
from playhead.cli.connection import CollectorAddress
from playhead.cli.moving import commands as moving
from playhead.cli.operate import deletion, doctor, forward, keys, start, storage
from playhead.cli.trees import calls
from playhead.errors import CollectorUnreachable, NotFound, PlayheadError

OK, NOT_FOUND, USAGE, UNREACHABLE = 0, 1, 2, 3
HELP = """A flight recorder with a rewind handle for LLM agents.

RUN is a run's id, any part of it that no other run has, or `last`. Every option is also an environment variable;
--url, --api-key and --local may stand anywhere.

Exit codes: 0 it worked; 1 not found, or `serve` could not start; 2 a command or a setting is wrong; 3 the collector
cannot be reached.
"""


_ANYWHERE = ("--url", "--api-key")
_LOCAL = "--local"
# Options behind it may be those of the program that it starts.
_STARTED = ["run"]


class Commands(TyperGroup):
    """Turns our errors into one sentence and an exit code; takes the options about the collector anywhere."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Options of the whole command are its own also behind a subcommand's name; what is behind `--` stays."""
        end = args.index("--") if "--" in args else len(args)
        ours, rest = collector_options(args[:end])
        return super().parse_args(ctx, [*ours, *rest, *args[end:]])

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        try:
            return super().invoke(ctx)
        except PlayheadError as error:
            output.echo(f"playhead: {error}", err=True)
            raise typer.Exit(exit_code(error)) from error


def collector_options(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options that say which collector to ask, with their values; and all other arguments, in their order."""
    ours: list[str] = []
    rest: list[str] = []
    left = iter(args)
    for arg in left:
        if arg in _ANYWHERE:
            ours += [arg, *islice(left, 1)]
        elif arg.partition("=")[0] in _ANYWHERE or (arg == _LOCAL and rest[:1] != _STARTED):
            ours.append(arg)
        else:
            rest.append(arg)
    return ours, rest


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
            "--version", callback=_say_version, is_eager=True, allow_from_autoenv=False, help="Say it, and stop."
        ),
    ] = False,
) -> None:
    ctx.obj = CollectorAddress(url, api_key, is_local=local)


_GROUPS: dict[str, Sequence[Callable[..., None]]] = {
    "Look": (runs.runs, runs.show, scores.scores, calls.tree, read.events, read.state, read.context, read.messages,
             tokens.tokens, read.content, read.watch),
    "Ask": (provenance.why, suspects.suspects, decisions.decisions, reasoning.reasoning, compression.compressions,
            diff.diff, compare.compare, reasoning.explain, reasoning.ask_again),
    "Score": (scores.score,),
    "Rewind": (rewinding.resume, rewinding.fork, read.checkpoints),
    "Wait": (promises.promises, promises.approve, promises.deny, promises.answer, promises.interrupt),
}  # fmt: skip
for _group, _commands in _GROUPS.items():
    for _command in _commands:
        app.command(rich_help_panel=_group)(_command)
app.add_typer(analytics.app, name="across", rich_help_panel="Ask")
_SERVE = "Start a collector: on your Postgres, or on one that is started for you."
app.command("serve", help=_SERVE, rich_help_panel="Operate")(start.serve_command())
app.command("run", help=start.RUN, rich_help_panel="Operate", context_settings=start.AS_GIVEN)(start.run)
for _command in (start.demo, doctor.doctor, start.ship, start.migrate, storage.storage, moving.export, deletion.delete,
                 deletion.gc):  # fmt: skip
    app.command(rich_help_panel="Operate")(_command)
app.command("import", rich_help_panel="Operate")(moving.import_files)
app.add_typer(search.app, name="search", rich_help_panel="Ask")
app.add_typer(keys.app, name="keys", rich_help_panel="Operate")
app.add_typer(forward.app, name="forward", rich_help_panel="Operate")


def main() -> None:
    """The `playhead` command."""
    app()
