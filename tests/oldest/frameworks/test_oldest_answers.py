"""What the oldest supported frameworks wait for is answered as in the newest; the tests are those of `tests/wire`."""

import pytest

from tests.wire.frameworks.test_framework_answers import (
    desk,
    files,
    later_process,
    recording,
    test_a_later_process_finds_the_answer,
    test_it_goes_on_as_a_person_has_decided_once,
    test_two_that_wait_at_once_have_each_their_own_answer,
    test_what_the_program_decides_itself_answers_the_promise,
)

pytestmark = pytest.mark.slow
__all__ = [
    "desk",
    "files",
    "later_process",
    "recording",
    "test_a_later_process_finds_the_answer",
    "test_it_goes_on_as_a_person_has_decided_once",
    "test_two_that_wait_at_once_have_each_their_own_answer",
    "test_what_the_program_decides_itself_answers_the_promise",
]
