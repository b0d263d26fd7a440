"""Tests of clients of providers with an environment of their own: `make test-clients` (pyproject's dependency groups).

In any other environment nothing here is collected.
"""

import gc
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

IS_HERE = find_spec("cohere") is not None
collect_ignore_glob = [] if IS_HERE else ["*"]


def pytest_configure(config: pytest.Config) -> None:
    if IS_HERE:
        # Warnings of two hundred packages are not ours to mend; those of our own modules stay errors.
        config.addinivalue_line("filterwarnings", "ignore")
        config.addinivalue_line("filterwarnings", "error:::playhead")


@pytest.fixture(autouse=True, scope="session")
def what_packages_leave_open_is_found_in_a_test() -> Iterator[None]:
    """At the end of the session their warnings would be errors: filters that are added above hold for tests alone."""
    yield
    gc.collect()
