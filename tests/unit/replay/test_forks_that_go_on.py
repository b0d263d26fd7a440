"""A fork that ended before it parted is resumed with the outcome that it was given, whatever kind of value that is."""

import contextlib
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.errors import ReplayError
from playhead.model import names
from playhead.replaying.fork_options import ForkOptions
from tests.support.journal_reader import Recording

executed: list[str] = []


class CutOff(Exception):
    """Ends a run before it has completed."""


@dataclass
class Slot:
    day: datetime
    seats: tuple[int, ...]


@observe(kind="tool")
def look(what: str) -> Any:
    executed.append(f"look {what}")
    return what


@observe(kind="tool")
def book(what: str) -> Any:
    executed.append(f"book {what}")
    return what


@pytest.fixture(autouse=True)
def nothing_executed() -> None:
    executed.clear()


def go(*, until: str = "") -> tuple[str, list[Any]]:
    said: list[Any] = []
    with playhead.run("trip") as run:
        for name, tool in (("look", look), ("book", book)):
            if until == name:
                raise CutOff
            try:
                said.append(tool("LX1"))
            except TimeoutError as error:
                said.append(error)
    assert run.id is not None
    return run.id, said


def forked(parent: str, outcome: Any, *, until: str = "book", **how: Any) -> str:
    """A fork that ends before its second tool."""
    with contextlib.suppress(CutOff), playhead.fork(parent, at="book", outcome=outcome, **how) as fork:
        go(until=until)
    return fork.id


@pytest.fixture
def parent() -> str:
    run_id, _ = go()
    executed.clear()
    return run_id


@pytest.mark.parametrize(
    "value",
    [None, "gone", {"z": 1, "a": [1, 2]}, (1, 2), b"\x00", Slot(datetime(2027, 1, 2, tzinfo=UTC), (3, 4))],
    ids=repr,
)
def test_a_value_comes_back_as_it_was_given(parent: str, value: Any) -> None:
    with playhead.resume(forked(parent, {"result": value})):
        _, said = go()
    assert said == ["LX1", value]
    assert type(said[1]) is type(value)
    assert executed == []


def test_an_exception_comes_back_as_it_was_given(parent: str) -> None:
    with playhead.resume(forked(parent, {"error": TimeoutError("30 s", 7)})):
        _, [_, error] = go()
    assert (type(error), error.args) == (TimeoutError, ("30 s", 7))
    assert executed == []


def test_an_object_that_no_record_can_have_is_asked_for_again(parent: str) -> None:
    class Local:
        pass

    fork = forked(parent, {"result": Local()})
    with pytest.raises(ReplayError, match=r"outcomes=\{'book': \.\.\.\}"), playhead.resume(fork):
        pass
    with playhead.resume(fork, outcomes={"book": {"result": 5}}):
        assert go()[1] == ["LX1", 5]
    assert executed == []


def test_an_outcome_that_a_hook_redacts_is_asked_for_again(recording: Recording, parent: str) -> None:
    def redact(value: Any) -> Any:
        return "(secret)" if "hunter2" in repr(value) else value

    recording.configure(redact=redact)
    fork = forked(parent, {"result": "hunter2"})
    with pytest.raises(ReplayError, match="redaction hook"), playhead.resume(fork):
        pass
    assert executed == []
    assert "hunter2" not in repr(recording.read().contents)


def test_the_options_of_a_fork_are_in_its_record_before_its_first_call(recording: Recording, parent: str) -> None:
    with contextlib.suppress(CutOff), playhead.fork(parent, at="book", outcome="gone", live="llm") as fork:
        go(until="look")
    announced = [span for span in recording.read().announced if span.attributes[names.RUN_ID] == fork.id]
    assert names.FORK_OUTCOME_REF in announced[0].attributes
    assert '"live":"llm"' in announced[0].attributes[names.FORK_OPTIONS]


@pytest.mark.parametrize("damaged", ["{}", "[", '{"live": "some"}'])
def test_options_that_cannot_be_read_stop_a_resume(parent: str, damaged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForkOptions, "to_attribute", lambda _: damaged)
    fork = forked(parent, "gone")
    with pytest.raises(ReplayError, match="the options of this fork cannot be read"), playhead.resume(fork):
        pass


def test_a_fork_of_an_earlier_version_is_not_guessed_at(parent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForkOptions, "describe_root", lambda *_, **__: None)
    fork = forked(parent, "gone")
    with pytest.raises(ReplayError, match="does not say what it was asked for"), playhead.resume(fork):
        pass
    with playhead.fork(parent, at="book", outcome="gone") as done:
        go()
    with playhead.resume(done.id):  # it has completed: its results are given again
        assert go()[1] == ["LX1", "gone"]


def test_what_is_to_answer_tools_is_no_option_where_tools_are_executed(parent: str) -> None:
    with pytest.raises(ReplayError, match="tools are executed"):
        playhead.fork(parent, at="book", tools="deny")
    with pytest.raises(ReplayError, match="tools are executed"), playhead.resume(forked(parent, "gone"), tools="deny"):
        pass
    assert executed == []


def test_options_that_hold_for_the_fork_itself_are_those_of_a_resume(
    parent: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "playhead")
    fork = forked(parent, "gone", renamed={"journey": "trip"}, in_doubt=lambda _: "?")
    with playhead.resume(fork):
        assert go()[1] == ["LX1", "gone"]
    assert executed == []
