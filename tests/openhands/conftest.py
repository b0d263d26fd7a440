"""Tests of the OpenHands SDK, which needs Python 3.12 and an environment of its own: `make test-openhands`.

In any other environment nothing here is collected.
"""

from importlib.util import find_spec

import pytest

IS_HERE = find_spec("openhands") is not None
collect_ignore_glob = [] if IS_HERE else ["*"]


def pytest_configure(config: pytest.Config) -> None:
    if IS_HERE:
        # Warnings of two hundred packages are not ours to mend; those of our own modules stay errors.
        config.addinivalue_line("filterwarnings", "ignore")
        config.addinivalue_line("filterwarnings", "error:::playhead")
