"""[scenarios] → script.  Scripts of the mock model for agent patterns that people often test, by name.

Their rules use only words of the prompts and tools, so they work for every provider's protocol. They keep no state: any
number of agents can use one at a time (except for the faults of `errors` and `error_recovery` that occur once).
"""

from playhead.testing.scenarios.faults import ERROR_RECOVERY, ERRORS
from playhead.testing.scenarios.tool_use import CODE_ASSISTANT, TOOL_CALLING
from playhead.testing.scenarios.workflows import (
    CODE_REVIEW,
    DOCUMENT_PROCESSING,
    EVALUATOR_OPTIMIZER,
    ORCHESTRATOR,
    PARALLEL_REVIEW,
    PROMPT_CHAINING,
    ROUTING,
    TICKET_ROUTING,
)
from playhead.testing.script import Script

__all__ = ["NAMES", "load"]

_SCRIPTS = {
    "code_assistant": CODE_ASSISTANT,
    "code_review": CODE_REVIEW,
    "document_processing": DOCUMENT_PROCESSING,
    "error_recovery": ERROR_RECOVERY,
    "errors": ERRORS,
    "evaluator_optimizer": EVALUATOR_OPTIMIZER,
    "orchestrator": ORCHESTRATOR,
    "parallel_review": PARALLEL_REVIEW,
    "prompt_chaining": PROMPT_CHAINING,
    "routing": ROUTING,
    "ticket_routing": TICKET_ROUTING,
    "tool_calling": TOOL_CALLING,
}
NAMES = tuple(_SCRIPTS)
"""The names of all scenarios."""


def load(name: str) -> Script:
    """Returns the script of this name; its `description` says which prompts and tools it expects.

    Scripts are merged with `+`. Raises ValueError, with the names that there are, for another name.
    """
    if name not in _SCRIPTS:
        raise ValueError(f"there is no scenario {name!r}; choose one of {', '.join(NAMES)}")
    return _SCRIPTS[name]
