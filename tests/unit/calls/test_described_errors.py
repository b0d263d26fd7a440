"""An exception that leaves many calls is described once, in bounded time and space, and is not kept alive by that."""

import gc
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.span import STATUS_ERROR, Span
from tests.support.journal_reader import Journaled, Recording

DEPTH = 40


class Counted(Exception):
    """Counts how often it is asked what it says."""

    asked = 0

    def __str__(self) -> str:
        Counted.asked += 1
        return "counted"


class Slotted(Exception):
    """Has no weak references, as Python's own exceptions."""

    __slots__ = ()


def error_of(seen: Journaled, span: Span) -> Any:
    return seen.value(span, names.ERROR_REF)


@observe
def down(levels: int, leave: Callable[[], Any]) -> None:
    if levels == 0:
        leave()
    down(levels - 1, leave)


def raises(error: Callable[[], BaseException]) -> Callable[[], None]:
    def leave() -> None:
        raise error()

    return leave


@pytest.mark.parametrize("make", [Counted, ValueError, lambda: KeyError("a"), lambda: Slotted(1, [2])])
def test_an_exception_is_described_once_for_all_calls_that_it_leaves(recording: Recording, make: Any):
    Counted.asked = 0
    with pytest.raises(Exception), playhead.run("r"):  # noqa: B017 - whichever is raised
        down(DEPTH, raises(make))
    seen = recording.read()
    calls = seen.calls("down")
    assert len(calls) == DEPTH + 1
    assert {call.status for call in calls} == {STATUS_ERROR}
    assert len({call.attributes[names.ERROR_REF] for call in calls}) == 1
    assert len({call.status_message for call in calls}) == 1
    assert Counted.asked <= 3
    assert "in leave" in error_of(seen, calls[0])["stacktrace"]


def test_what_fails_for_want_of_stack_is_described_once_there_is_enough(recording: Recording):
    @observe
    def deeper() -> None:
        deeper()

    with pytest.raises(RecursionError), playhead.run("r"):
        deeper()
    refs = {call.attributes.get(names.ERROR_REF) for call in recording.read().calls("deeper")} - {None}
    assert 1 <= len(refs) <= 3


@pytest.mark.parametrize("kind", [ValueError, Counted, AssertionError])
def test_an_exception_after_another_one_is_described_by_itself(recording: Recording, kind: type[Exception]):
    @observe
    def first() -> None:
        raise kind

    def second() -> None:
        raise kind

    @observe
    def outer() -> None:
        with suppress(kind):
            first()
        # It is freed, and the next one may have its place in memory.
        second()

    with pytest.raises(kind), playhead.run("r"):
        outer()
    seen = recording.read()
    assert "in first" in error_of(seen, seen.call("first"))["stacktrace"]
    assert "in second" in error_of(seen, seen.call("outer"))["stacktrace"]
    assert "in first" not in error_of(seen, seen.call("outer"))["stacktrace"]


@pytest.mark.parametrize("kind", [ValueError, Counted])
def test_what_was_added_to_an_exception_is_described(recording: Recording, kind: Any):
    @observe
    def inner() -> None:
        raise kind("a")

    @observe
    def noted() -> None:
        try:
            inner()
        except kind as error:
            error.add_note("while at it")
            raise

    @observe
    def caused() -> None:
        try:
            noted()
        except kind as error:
            raise error from LookupError("the cause")

    with pytest.raises(kind), playhead.run("r"):
        caused()
    seen = recording.read()
    assert "while at it" not in error_of(seen, seen.call("inner"))["stacktrace"]
    assert "while at it" in error_of(seen, seen.call("noted"))["stacktrace"]
    assert "LookupError: the cause" in error_of(seen, seen.call("caused"))["stacktrace"]


def test_a_tool_around_a_step_has_what_it_needs_to_raise_the_exception_again(recording: Recording):
    @observe
    def step() -> None:
        raise ValueError("a")

    @observe(kind="tool")
    def tool() -> None:
        step()

    @observe
    def around() -> None:
        tool()

    with pytest.raises(ValueError), playhead.run("r"):
        around()
    seen = recording.read()
    assert "restore" not in error_of(seen, seen.call("step"))
    assert error_of(seen, seen.call("tool"))["restore"]["class"] == "builtins:ValueError"
    assert seen.call("around").attributes[names.ERROR_REF] == seen.call("tool").attributes[names.ERROR_REF]


def test_each_call_s_own_hook_sees_the_exception(recording: Recording):
    def hide(value: Any) -> Any:
        return {"hidden": True}

    @observe(redact=hide)
    def inner() -> None:
        raise ValueError("secret")

    @observe
    def outer() -> None:
        inner()

    with pytest.raises(ValueError), playhead.run("r"):
        outer()
    seen = recording.read()
    assert error_of(seen, seen.call("inner")) == {"hidden": True}
    assert error_of(seen, seen.call("outer"))["message"] == "secret"


@pytest.mark.parametrize("kind", [ValueError, Counted])
def test_an_exception_that_was_caught_is_not_kept_alive(recording: Recording, kind: type[Exception]):
    class Large:
        pass

    @observe
    def fail() -> "weakref.ref[Large]":
        large = Large()
        places.append(weakref.ref(large))
        raise kind

    places: list[weakref.ref[Large]] = []
    with playhead.run("r"), observe("around"):
        with suppress(kind):
            fail()
        gc.collect()
        assert places[0]() is None


def test_long_chains_and_large_groups_are_described_in_part(recording: Recording):
    Counted.asked = 0

    @observe
    def fail() -> None:
        error = Counted()
        for _ in range(1_000):
            after = Counted()
            after.__cause__ = error
            error = after
        raise ExceptionGroup("many", [error, *(Counted() for _ in range(10_000))])

    with pytest.raises(ExceptionGroup), playhead.run("r"):
        fail()
    seen = recording.read()
    trace = error_of(seen, seen.call("fail"))["stacktrace"]
    assert len(trace) <= 16_384
    assert "... and 9991 more exceptions" in trace
    assert Counted.asked < 50


def test_causes_come_first_as_python_prints_them(recording: Recording):
    @observe
    def fail() -> None:
        try:
            try:
                raise LookupError("first")
            except LookupError as error:
                raise ValueError("second") from error
        except ValueError:
            raise RuntimeError("third")  # noqa: B904 - without a cause

    with pytest.raises(RuntimeError), playhead.run("r"):
        fail()
    seen = recording.read()
    trace = error_of(seen, seen.call("fail"))["stacktrace"]
    order = ["LookupError: first", "direct cause", "ValueError: second", "During handling", "RuntimeError: third"]
    assert [*map(trace.index, order)] == sorted(map(trace.index, order))
