"""scenarios → script. Answers of the mock model for agent patterns that people often test, one module each.

The rules use only words of the prompts and tools, so they work for every provider's protocol. They keep no state: any
number of agents can use one scenario at a time (except for faults that occur once, in `error_recovery`).
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
    """Returns the scenario of this name; raises ValueError with the names that there are."""
    if name not in NAMES:
        raise ValueError(f"there is no scenario {name!r}; choose one of {', '.join(NAMES)}")
    scenario: Scenario = import_module(f"{__name__}.{name}").SCENARIO
    return scenario
