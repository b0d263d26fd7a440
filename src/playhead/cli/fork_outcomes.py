"""What counts as the outcome of one of many forks: `playhead fork RUN --at STEP --times N --by ...`."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from playhead.cli.scores import shown_value
from playhead.client.operations import BlockingClient
from playhead.errors import SettingInvalid

BY_HELP = (
    "What counts as a fork's outcome: `line` (exit code and last printed line), `exit` (exit code), MODULE:FUNCTION "
    "(gets the printed text and the exit code), or the name of a score of the fork's run."
)
_MAX_SHOWN = 100
NO_SCORE = "no score"


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How one execution of the program ended: its exit code, and what it printed."""

    code: int
    text: str


def judge_of(by: str) -> Callable[[ProgramResult], str] | None:
    """Returns the function that says the outcome of an execution; None: a score of this name says it. Raises
    SettingInvalid for a function that cannot be imported."""
    match by:
        case "line":
            return lambda result: f"exit {result.code}  {_last_line(result.text)}".rstrip()
        case "exit":
            return lambda result: f"exit {result.code}"
        case _ if ":" in by:
            function = _function(by)
            return lambda result: str(function(result.text, result.code))[:_MAX_SHOWN]
        case _:
            return None


def score_outcomes(client: BlockingClient, runs: Iterable[str], name: str) -> list[str]:
    """Returns the latest score of this name of each run, as text."""
    return [_score_of(client, run, name) for run in runs]


def _score_of(client: BlockingClient, run: str, name: str) -> str:
    latest = [score for score in client.scores(run, name=name) if score["span"] is None]
    return f"{name} {shown_value(latest[0])}" if latest else f"{NO_SCORE} {name}"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:_MAX_SHOWN] if lines else ""


def _function(by: str) -> Callable[[str, int], Any]:
    module, _, name = by.partition(":")
    sys.path.insert(0, "")  # as `python -m` does: the function is usually beside the program
    try:
        function: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingInvalid(f"--by {by}: cannot be imported ({error}): give MODULE:FUNCTION") from error
    if not callable(function):
        raise SettingInvalid(f"--by {by}: {name} is no function")
    return function
