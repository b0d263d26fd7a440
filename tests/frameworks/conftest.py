"""Tests of libraries that live in an environment of their own: `make test-frameworks` (pyproject's dependency groups).

In any other environment nothing here is collected.
"""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("litellm") else ["*"]


def pytest_configure(config: pytest.Config) -> None:
    # Warnings of two hundred packages are not ours to mend; those of our own modules stay errors.
    config.addinivalue_line("filterwarnings", "ignore")
    config.addinivalue_line("filterwarnings", "error:::playhead")
