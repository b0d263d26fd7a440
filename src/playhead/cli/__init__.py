"""The `playhead` command: reads what a collector has recorded, and starts one.

    look      runs (runs, show), tree, read (events, state, context, messages, content, checkpoints, watch),
              contexts (tokens, compressions)
    ask       why (why, decisions), suspects, reasoning (reasoning, explain, ask-again), differences (diff, compare)
    score     scores (score, scores)
    across    across, search
    rewind    rewinding (resume, fork)
    wait      promises (promises, approve, deny, answer, interrupt)
    operate   start (serve, run, demo, ship, migrate), doctor, journal, keys, forward, storage (storage, delete, gc)
    archives  commands (export, import)

    all_commands  the command line with all commands        application  the command line without commands, or with one
    connection    the collector, and the run that is meant  options      arguments and options of several commands
    output        tables, texts, JSON and progress

It needs the extra `cli`; a command that needs another one says which.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from playhead.cli.all_commands import app
    from playhead.cli.application import collector_options, exit_code

__all__ = ["app", "collector_options", "exit_code", "main"]
_PARTS = {"app": "all_commands", "collector_options": "application", "exit_code": "application"}


def __getattr__(name: str) -> Any:
    """Imports the commands on first use: `main` mostly needs only one of them."""
    if name not in _PARTS:
        raise AttributeError(f"module 'playhead.cli' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only for these names

    return getattr(import_module(f"playhead.cli.{_PARTS[name]}"), name)


def command_line(args: Sequence[str]) -> "typer.Typer":
    """Returns the command line for these arguments. Where one command is enough, it has only that one, which starts
    sooner."""
    from playhead.cli.application import single  # noqa: PLC0415 - see `__getattr__`

    application = single(args)
    if application is not None:
        return application
    from playhead.cli.all_commands import app  # noqa: PLC0415 - see `__getattr__`

    return app


def main() -> None:
    """Runs the `playhead` command."""
    command_line(sys.argv[1:])()
