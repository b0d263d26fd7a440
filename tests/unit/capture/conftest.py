from collections.abc import Iterator

import pytest

from playhead.kernel import guard


@pytest.fixture(autouse=True)
def every_cause_is_said_again() -> Iterator[None]:
    guard.reset_logged_causes()
    yield
    guard.reset_logged_causes()
