"""What the tests of questions share."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from playhead.model.canonical import parse_json


@pytest.fixture
def read_json() -> Callable[[Any], Any]:
    """An answer as its reader gets it: written as JSON, fragments and all, and read again."""
    return lambda answer: parse_json(orjson.dumps(answer))
