"""Tests of frameworks of agents with an environment of their own: `make test-agents` (pyproject's dependency groups).

In any other environment nothing here is collected.
"""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

IS_HERE = find_spec("agno") is not None
collect_ignore_glob = [] if IS_HERE else ["*"]


def pytest_configure(config: pytest.Config) -> None:
    if IS_HERE:
        # DSPy imports LiteLLM, which else asks the network for prices; programs that tests start have it, too.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        # Warnings of two hundred packages are not ours to mend; those of our own modules stay errors.
        config.addinivalue_line("filterwarnings", "ignore")
        config.addinivalue_line("filterwarnings", "error:::playhead")


@pytest.fixture(autouse=True, scope="session")
def what_packages_leave_open_is_found_in_a_test() -> Iterator[None]:
    """At the end of the session their warnings would be errors: filters that are added above hold for tests alone."""
    yield
    gc.collect()
