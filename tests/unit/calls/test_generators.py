"""`@observe` on generators: whatever a consumer does to them, they behave as before, and their span ends once."""

import gc
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.calls import functions
from playhead.model import names
from tests.support.journal_reader import Recording

pytestmark = pytest.mark.usefixtures("quiet")


@observe
def child() -> None: ...


@observe
def after() -> None: ...


@observe
def words(*given: Any) -> Generator[Any, Any, str]:
    child()
    got: list[Any] = []
    for word in given:
        sent = yield word
        got += [sent]
    return f"got {got}"


def test_text_is_joined_and_everything_else_is_a_list(recording: Recording):
    assert list(words("a", "b")) == ["a", "b"]
    assert list(words(1, "b")) == [1, "b"]
    seen = recording.read()
    assert [seen.value(span, names.OUTPUT_REF) for span in seen.calls("words")] == ["ab", [1, "b"]]


def test_children_nest_and_siblings_do_not(recording: Recording):
    with playhead.run("r"):
        steps = words(1, 2)
        next(steps)
        after()
        list(steps)
    seen = recording.read()
    assert (seen.parent("child"), seen.parent("after"), seen.parent("words")) == ("words", "r", "r")


def test_a_generator_that_never_started_is_not_a_call(recording: Recording):
    words(1)
    words(1).close()
    assert recording.read().spans == []


def test_send_and_return_values_pass(recording: Recording):
    steps = words(1, 2)
    assert next(steps) == 1
    assert steps.send("x") == 2
    with pytest.raises(StopIteration) as stop:
        steps.send("y")
    assert stop.value.value == "got ['x', 'y']"
    assert names.OUTCOME not in recording.read().call("words").attributes


def test_yield_from_passes_what_it_returns(recording: Recording):
    def outer() -> Iterator[str]:
        result = yield from words("a")
        yield result

    assert list(outer()) == ["a", "got [None]"]


def test_throw_reaches_the_generator_as_the_same_object(recording: Recording):
    problem = KeyError("x")
    seen: list[BaseException] = []

    @observe
    def stubborn() -> Iterator[int]:
        try:
            yield 1
        except KeyError as error:
            seen.append(error)
            yield 2

    steps = stubborn()
    next(steps)
    assert steps.throw(problem) == 2  # pyright: ignore[reportAttributeAccessIssue]
    assert seen == [problem]
    assert list(steps) == []
    assert recording.read().output("stubborn") == [1, 2]


def test_a_failing_generator_is_a_failed_call(recording: Recording):
    problem = ValueError("broken")

    @observe
    def broken() -> Iterator[int]:
        yield 1
        raise problem

    with pytest.raises(ValueError, match="broken") as caught:
        list(broken())
    assert caught.value is problem
    assert recording.read().call("broken").status_message == "broken"


def leave_by_close(steps: Any) -> None:
    next(steps)
    steps.close()


def leave_by_break(steps: Any) -> None:
    for _ in steps:
        break


def leave_by_garbage(steps: Any) -> None:
    next(steps)
    del steps


@pytest.mark.parametrize("leave", [leave_by_close, leave_by_break, leave_by_garbage])
def test_leaving_early_is_no_error_and_keeps_what_was_given(recording: Recording, leave: Callable[[Any], None]):
    with playhead.run("r"):
        leave(words("a", "b"))
        gc.collect()
        after()
    seen = recording.read()
    span = seen.call("words")
    assert (span.status, span.attributes[names.OUTCOME]) == (0, "aborted")
    assert seen.output("words") == "a"
    assert seen.parent("after") == "r"


def test_a_cycle_of_garbage_ends_its_generator(recording: Recording):
    class Holder:
        def __init__(self) -> None:
            self.me = self
            self.steps = words("a", "b")
            next(self.steps)

    with playhead.run("r"):
        Holder()
        gc.collect()
        after()
    assert recording.read().call("words").attributes[names.OUTCOME] == "aborted"


def test_cleaning_up_happens_and_may_be_observed(recording: Recording):
    done: list[str] = []

    @observe
    def cleanup() -> None:
        done.append("cleaned")

    @observe
    def tidy() -> Iterator[int]:
        try:
            yield 1
        finally:
            cleanup()

    leave_by_close(tidy())
    assert done == ["cleaned"]
    assert recording.read().parent("cleanup") == "tidy"


def test_a_generator_may_return_when_it_is_closed(recording: Recording):
    @observe
    def gentle() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            return

    leave_by_close(gentle())
    assert recording.read().call("gentle").attributes[names.OUTCOME] == "aborted"


def test_a_generator_that_ignores_closing_is_told_so(recording: Recording):
    @observe
    def deaf() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            yield 2

    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        leave_by_close(deaf())


def test_an_error_while_closing_reaches_who_closes(recording: Recording):
    @observe
    def broken() -> Iterator[int]:
        try:
            yield 1
        finally:
            raise ValueError("while closing")

    with pytest.raises(ValueError, match="while closing"):
        leave_by_close(broken())
    assert recording.read().call("broken").status == 2


def test_a_block_that_spans_steps_stays_the_parent_of_what_is_inside(recording: Recording):
    @observe
    def blocks() -> Iterator[int]:
        with observe("block"):
            yield 1
            child()
            yield 2
        after()

    with playhead.run("r"):
        assert list(blocks()) == [1, 2]
        with observe("sibling"):
            pass
    seen = recording.read()
    assert (seen.parent("child"), seen.parent("after")) == ("block", "blocks")
    assert seen.parent("sibling") == "r"


def test_interleaved_generators_keep_their_own_children(recording: Recording):
    @observe
    def numbered(n: int) -> Iterator[int]:
        with observe(f"before{n}"):
            pass
        yield 1
        with observe(f"behind{n}"):
            pass

    with playhead.run("r"):
        first, second = numbered(1), numbered(2)
        next(first)
        next(second)
        list(first)
        list(second)
    seen = recording.read()
    ids = {seen.value(span, names.INPUT_REF)["n"]: span.span_id for span in seen.calls("numbered")}
    for n in (1, 2):
        assert {seen.call(f"{place}{n}").parent_id for place in ("before", "behind")} == {ids[n]}


def test_an_endless_generator_does_not_grow(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(functions, "_MAX_ITEMS", 3)
    list(words(1, 2, 3, 4, 5))
    assert recording.read().output("words") == {"items": [1, 2, 3], "items_not_recorded": 2}


def test_large_items_are_not_held(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(functions, "_MAX_BYTES", 1_000)
    list(words(b"x" * 600, b"y" * 600))
    assert recording.read().output("words")["items_not_recorded"] == 1


def test_nothing_is_held_when_the_output_is_not_wanted(recording: Recording):
    class Thing:
        gone = 0

        def __del__(self) -> None:
            Thing.gone += 1

    @observe(capture_output=False)
    def things() -> Iterator[Thing]:
        yield Thing()
        yield Thing()

    steps = things()
    next(steps)
    assert Thing.gone == 1
    next(steps)
    assert Thing.gone == 2


def test_an_exception_thrown_in_leaves_no_cycle_behind(recording: Recording):
    class Given:
        """Held by the generator for as long as that lives."""

    given = Given()
    gone = weakref.ref(given)
    steps = words(1, given)
    next(steps)
    gc.disable()
    try:
        with suppress(KeyError):
            steps.throw(KeyError("x"))
        del steps, given
        assert gone() is None
    finally:
        gc.enable()
