"""The command line with one command: to load all commands takes longer than to read a run of the journal."""

import os
from collections.abc import Sequence
from importlib import import_module

import typer

# Commands that are not in this table work as well, but start a little later.
_MODULES = {
    "runs": "runs", "show": "runs",
    "events": "read", "state": "read", "context": "read", "messages": "read", "content": "read", "checkpoints": "read",
    "tree": "trees.calls", "tokens": "tokens", "why": "provenance", "suspects": "suspects", "decisions": "decisions",
    "compressions": "compression", "compare": "compare", "diff": "diff",
}  # fmt: skip
_VALUED = frozenset({"--url", "--api-key"})
_COMPLETES = "_PLAYHEAD_COMPLETE"


def single(args: Sequence[str]) -> typer.Typer | None:
    """Returns a command line with the command that these arguments begin with; None if all commands have to be
    loaded."""
    name = _first_word(args)
    if name not in _MODULES or _COMPLETES in os.environ:
        return None
    from playhead.cli.application.group import new_application  # noqa: PLC0415 - not needed for other commands

    app = new_application()
    app.command()(getattr(import_module(f"playhead.cli.{_MODULES[name]}"), name))
    return app


def _first_word(args: Sequence[str]) -> str:
    remaining = iter(args)
    for arg in remaining:
        if arg in _VALUED:
            next(remaining, None)
        elif not arg.startswith("-"):
            return arg
    return ""
