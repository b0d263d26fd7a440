"""Private names of DSPy that have no public counterpart which serves: its model calls' requests, answers and events as
JSON, and back.

Tested with dspy 3.4; `tests/agents/test_dspy.py` fails when a version moves them.
"""

from importlib import import_module
from types import ModuleType


def serializer() -> ModuleType:
    """Returns the module whose functions are named `request_to_dict`, `response_from_dict` and the like. The public
    module `dspy.lm15` has the classes alone."""
    return import_module("dspy._vendor.lm15.serde")
