"""pytest → [pytest_plugin] → server.  The fixture `mock_model_server`; imports nothing of ours until it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playhead.testing import MockModelServer


@pytest.fixture
def mock_model_server() -> Iterator[MockModelServer]:
    """A running `playhead.testing.MockModelServer`, closed after the test."""
    from playhead.testing import MockModelServer  # noqa: PLC0415 - every pytest session imports this file

    with MockModelServer() as server:
        yield server
