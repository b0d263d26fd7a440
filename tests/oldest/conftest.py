"""The oldest supported versions, in environments of their own: `make test-oldest`.

In any other environment nothing here is collected.
"""

import pytest

from tests.oldest.pinned import is_environment_of

CLIENTS = is_environment_of("constraints-oldest.txt", ("anthropic", "openai"))
FRAMEWORKS = is_environment_of("constraints-oldest-frameworks.txt", ("langgraph", "openai-agents"))
AGENTS = is_environment_of("constraints-oldest-agents.txt", ("ag2", "semantic-kernel"))
collect_ignore_glob = [
    *([] if CLIENTS else ["clients/*"]),
    *([] if FRAMEWORKS else ["frameworks/*"]),
    *([] if AGENTS else ["agents/*"]),
]


def pytest_configure(config: pytest.Config) -> None:
    if CLIENTS or FRAMEWORKS or AGENTS:
        # Warnings of old versions are not ours to mend; those of our own modules stay errors.
        config.addinivalue_line("filterwarnings", "ignore")
        config.addinivalue_line("filterwarnings", "error:::playhead")
