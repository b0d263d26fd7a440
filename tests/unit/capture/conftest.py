from collections.abc import Iterator

import pytest

from playhead.kernel import guard


@pytest.fixture(autouse=True)
def every_cause_is_said_again() -> Iterator[None]:
    guard.forget_logged()
    yield
    guard.forget_logged()
