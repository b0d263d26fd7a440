"""The oldest supported versions, in environments of their own: `make test-oldest`.

In any other environment nothing here is collected.
"""

import pytest

from tests.oldest.pinned import is_environment_of

CLIENTS = is_environment_of("constraints-oldest.txt", ("anthropic", "openai"))
FRAMEWORKS = is_environment_of("constraints-oldest-frameworks.txt", ("langgraph", "openai-agents"))
collect_ignore_glob = [
    *([] if CLIENTS else ["clients/*"]),
    *([] if FRAMEWORKS else ["frameworks/*"]),
]


def pytest_configure(config: pytest.Config) -> None:
    if CLIENTS or FRAMEWORKS:
        # Warnings of old versions are not ours to mend; those of our own modules stay errors.
        config.addinivalue_line("filterwarnings", "ignore")
        config.addinivalue_line("filterwarnings", "error:::playhead")
