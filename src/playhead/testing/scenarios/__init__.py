"""scenarios → script.  What the mock model says in the agent patterns that people test with, one module each.

The rules look at words of the prompts and at tools only, so they hold for every provider's protocol. They keep no
state: any number of agents can play one scenario at a time (except for faults that occur once, in `error_recovery`).
"""

from __future__ import annotations

from importlib import import_module

from playhead.testing.scenarios.scenario import Scenario

NAMES = (
    "code_assistant",
    "error_recovery",
    "evaluator_optimizer",
    "orchestrator",
    "parallel_review",
    "prompt_chaining",
    "routing",
    "tool_calling",
)


def load(name: str) -> Scenario:
    """The scenario of this name; raises ValueError with the names that there are."""
    if name not in NAMES:
        raise ValueError(f"there is no scenario {name!r}; choose one of {', '.join(NAMES)}")
    found: Scenario = import_module(f"{__name__}.{name}").SCENARIO
    return found
