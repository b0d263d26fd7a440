"""The OpenHands SDK, whose capture is a package of its own through the public contract (captures/openhands).

Run with its newest version and with its oldest, which has no streams, no asynchronous conversations, and no tools at
the same time.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead.testing.captures import CHECKS, AgentProgram, CaptureCheck, check_capture
from tests.oldest.pinned import is_environment_of
from tests.support.brought_package import import_path_of

SCRIPT = Path(__file__).parent / "programs/openhands_agent.py"
PACKAGE = Path(__file__).parents[2] / "captures/openhands"
# It looks for prices of models on the network, and prints a banner.
ENVIRON = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}
IS_OLDEST = is_environment_of("constraints-oldest-openhands.txt", ("openhands-sdk",))
not_in_oldest = pytest.mark.skipif(IS_OLDEST, reason="the oldest version cannot do this")
KILLED = [name for name in CHECKS if name.startswith("killed at")]


@pytest.fixture(scope="module", autouse=True)
def installed_capture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The import path as if captures/openhands was installed; the programs inherit it."""
    folders = import_path_of(PACKAGE, tmp_path_factory.mktemp("installed"))
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)


def check(name: str, *arguments: str) -> CaptureCheck:
    program = AgentProgram(SCRIPT, arguments, streamed=["stream"], environ=ENVIRON, seconds=300)
    [found] = check_capture(program, [name]).checks
    return found


def assert_passed(name: str, *arguments: str) -> None:
    found = check(name, *arguments)
    assert found.passed, found


@pytest.mark.slow
def test_with_and_without_playhead_it_says_and_does_the_same():
    assert_passed("output")


@pytest.mark.slow
@pytest.mark.covers("openhands", "spans", "messages", "tools", "usage", "reasoning", "oldest")
def test_what_it_does_is_recorded_once():
    program = AgentProgram(SCRIPT, environ=ENVIRON, seconds=300)
    report = check_capture(program, ["spans", "messages", "tools", "usage", "reasoning"])
    assert report.failures == [], f"\n{report}"


@pytest.mark.slow
@not_in_oldest
@pytest.mark.covers("openhands", "streaming")
def test_streamed_answers_are_recorded_and_come_back():
    assert_passed("streaming")


@pytest.mark.slow
@pytest.mark.covers("openhands", "errors", "oldest")
def test_errors_of_the_model_and_of_tools_are_recorded():
    assert_passed("errors")


@pytest.mark.slow
@pytest.mark.covers("openhands", "spans", "oldest")
def test_below_observe_it_is_an_agent_of_that_run():
    assert_passed("observed")


@pytest.mark.slow
@pytest.mark.covers("openhands", "resume", "oldest")
@pytest.mark.parametrize("name", ["resume", *KILLED])
def test_resumed_it_asks_the_model_nothing_twice_and_executes_no_completed_tool(name: str):
    assert_passed(name)


@pytest.mark.slow
@pytest.mark.covers("openhands", "resume", "oldest")
@pytest.mark.parametrize(
    "arguments", [(), pytest.param(("concurrent",), marks=not_in_oldest)], ids=["one by one", "concurrent"]
)
def test_a_tool_that_was_cut_off_is_named(arguments: tuple[str, ...]):
    assert_passed("killed in a tool", *arguments)


@pytest.mark.slow
@not_in_oldest
@pytest.mark.covers("openhands", "resume")
@pytest.mark.parametrize("variant", ["async", "concurrent"])
def test_other_ways_to_run_it_are_resumed_too(variant: str):
    assert_passed(KILLED[-1], variant)


@pytest.mark.slow
@pytest.mark.covers("openhands", "fork", "oldest")
def test_a_fork_gives_a_tool_another_result():
    assert_passed("fork")
