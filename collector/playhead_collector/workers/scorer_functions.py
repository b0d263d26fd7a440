"""app → [workers]: functions that score runs, as the operator named them: `module:function` in PLAYHEAD_SCORERS, and
entry points of the group `playhead.scorers` of installed packages.

They run in a process of their own (`scorer_process`), which has no connection to the store: a function that hangs,
raises, exits, prints or takes too much memory fails alone.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from typing import Final

from playhead.model.scored_run import GivenScore, ScoredRun
from playhead_collector.errors import BadSetting, Refused
from playhead_collector.workers.ports import Analysis
from playhead_collector.workers.questions import AnalysisQuestion

GROUP: Final = "playhead.scorers"
"""Group of the entry points of functions that score runs."""
SCORER_PROCESS: Final = "playhead_collector.workers.scorer_process"
"""Module of the program that calls them."""


def named_functions(named: Sequence[str]) -> Mapping[str, str]:
    """Returns the functions that scorers may name, as `module:function`: those of entry points by the name of the entry
    point, others by themselves. Nothing is imported. Raises BadSetting for a name that is no function's."""
    functions = {entry.name: f"{entry.module}:{entry.attr}" for entry in entry_points(group=GROUP) if entry.attr}
    for name in named:
        module, _, function = name.partition(":")
        if not all(part.isidentifier() for part in [*module.split("."), *function.split(".")]):
            raise BadSetting(f"PLAYHEAD_SCORERS has {name!r}: name functions as module:function")
        functions[name] = name
    return functions


@dataclass(frozen=True, slots=True)
class ScorerFunctions:
    """The functions that scorers may name, and the process that calls them."""

    functions: Mapping[str, str]
    process: Analysis
    close: Callable[[], Awaitable[None]]
    """Ends the process."""

    async def call(self, function: str, run: ScoredRun) -> Sequence[GivenScore]:
        """Returns the scores that a function gives a run. Raises Refused: there is no such function, or it failed."""
        where = self.functions.get(function)
        if where is None:
            raise Refused(
                422,
                "no_such_function",
                f"there is no function {function!r} for scorers: name it in PLAYHEAD_SCORERS, or install the package "
                "that brings it",
            )
        answer = json.loads(await self.process.ask(AnalysisQuestion(where, 0, (), {"run": asdict(run)})))
        return [GivenScore(**score) for score in answer]
