"""A value's form does not depend on its content: what looks like another kind of value comes back as what it was."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.calls import runtime
from playhead.errors import InDoubt
from playhead.model import names
from tests.support.journal_reader import Recording

ALIKE: list[Any] = [
    '{"price":5}', {"price": 5}, '{"price": 5}', "5", 5, "5.0", 5.0, True, "true", 1, "null", None, "", [], {},
    '"a"', "a", b"a", b"5", b"{}", b"", bytearray(b"a"), "[1]", [1], (1,), b"\xff", "NaN", float("inf"), "\ud800",
    '{"$":"tuple","items":[]}', {"$": "tuple", "items": []}, {"$playhead": "too large"}, '{"$playhead":"too large"}',
    {"$cut": {"why": "size"}}, '{"$cut":{"why":"size"}}', {"$bytes": "YQ=="}, {"$set": [1]}, {1},
    "sha256:" + "0" * 64, {"type": "text", "content": "a"}, " 5 ", "1e5", 10**30, str(10**30), -0.0,
]  # fmt: skip


class CutOff(Exception):
    """Ends a run before it has completed."""


def cut_off(program: Callable[[], Any]) -> str:
    with contextlib.suppress(CutOff), playhead.run("p") as run:
        program()
        raise CutOff
    assert run.id is not None
    return run.id


def form(value: Any) -> Any:
    """The value with the types of all in it: Python says `1 == True == 1.0`."""
    if isinstance(value, dict):
        return dict, [(form(key), form(item)) for key, item in value.items()]
    if isinstance(value, list | tuple | set):
        return type(value), [form(item) for item in value]
    return type(value), repr(value)


def results(program: Callable[[], Any]) -> Any:
    """What a program gives when its calls are answered from the record; nothing is executed."""
    run = cut_off(program)
    with playhead.resume(run) as resumed, playhead.run("p"):
        back = program()
    assert resumed.report.live == 0
    return back


def test_results(recording: Recording):
    @observe(kind="tool")
    def give(number: int) -> Any:
        return ALIKE[number]

    back = results(lambda: [give(number) for number in range(len(ALIKE))])
    assert [*map(form, back)] == [*map(form, ALIKE)]


def test_results_in_which_they_stand(recording: Recording):
    @observe(kind="tool")
    def give(number: int) -> Any:
        return {"b": [ALIKE[number]], "a": (ALIKE[number],)}

    back = results(lambda: [give(number) for number in range(len(ALIKE))])
    assert [*map(form, back)] == [form({"b": [value], "a": (value,)}) for value in ALIKE]


def test_items_of_generators(recording: Recording):
    @observe(kind="tool")
    def give(values: int) -> Any:
        yield from ALIKE[values : values + 3]

    back = results(lambda: [list(give(number)) for number in range(len(ALIKE))])
    assert [*map(form, back)] == [form(ALIKE[number : number + 3]) for number in range(len(ALIKE))]


def test_arguments_of_exceptions(recording: Recording):
    @observe(kind="tool")
    def fail(number: int) -> None:
        raise LookupError(ALIKE[number])

    def program() -> list[Any]:
        raised: list[Any] = []
        for number in range(len(ALIKE)):
            try:
                fail(number)
            except LookupError as error:
                raised.append(error.args[0])
        return raised

    assert [*map(form, results(program))] == [*map(form, ALIKE)]


def test_arguments_that_look_alike_are_other_questions(recording: Recording):
    values = [value for value in ALIKE if type(value) is not bytearray]  # bytes are recorded alike

    @observe(kind="tool")
    def give(value: Any) -> int:
        return next(number for number, other in enumerate(values) if other is value)

    run = cut_off(lambda: [give(value) for value in values])
    refs = [span.attributes[names.TOOL_ARGUMENTS_REF] for span in recording.read().calls("give")]
    different = {str(form(value)) for value in values}
    # A tuple is recorded as a list, and a description as what it describes.
    assert len(set(refs)) >= len(different) - 3
    with playhead.resume(run), playhead.run("p"):
        assert [give(value) for value in values] == [*range(len(values))]


@pytest.mark.parametrize("value", ALIKE, ids=range(len(ALIKE)))
def test_states_and_outcomes(recording: Recording, value: Any):
    @observe(kind="tool")
    def give() -> Any:
        return "another"

    def program() -> Any:
        playhead.checkpoint(state=value)
        return give()

    with contextlib.suppress(CutOff), playhead.run("p") as run:
        program()
        raise CutOff
    assert run.id is not None
    with playhead.fork(run.id, at="give", outcome={"result": value}), playhead.run("p") as forked:
        assert form(program()) == form(value)
    assert forked.id is not None


# --- what was not kept ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["x" * 5_000, b"x" * 5_000, {"a": "x" * 5_000}, ["x" * 5_000], ("x" * 5_000,)])
@pytest.mark.parametrize("how", ["too large", "journal full"])
def test_a_marker_is_never_given_back_as_the_value(recording: Recording, value: Any, how: str):
    recorder: Any = runtime.recorder()

    @observe(kind="tool")
    def give() -> Any:
        recorder.intake._max_bytes, recorder.intake.full = (1_000, False) if how == "too large" else (2**20, True)
        return value

    run = cut_off(give)
    recorder.intake._max_bytes, recorder.intake.full = 2**20, False
    with playhead.resume(run), pytest.raises(InDoubt, match="room|larger"), playhead.run("p"):
        give()


def test_elements_of_an_array_that_were_not_kept_are_not_made_up(recording: Recording):
    np: Any = pytest.importorskip("numpy")
    recorder: Any = runtime.recorder()

    @observe(kind="tool")
    def give() -> Any:
        recorder.intake.full = True
        return np.zeros(20_000, dtype=np.uint8)

    run = cut_off(give)
    recorder.intake.full = False
    with playhead.resume(run), pytest.raises(InDoubt, match="room"), playhead.run("p"):
        give()


def test_arguments_for_which_there_was_no_room_are_compared_by_their_digest(recording: Recording):
    recorder: Any = runtime.recorder()
    executed: list[str] = []

    @observe(kind="tool")
    def give(text: str) -> str:
        recorder.intake.full = False
        executed.append(text)
        return "done"

    def program(last: str) -> None:
        for text in ("a" * 100, last):
            recorder.intake.full = not executed or len(executed) == 1
            give(text)

    run = cut_off(lambda: program("b" * 100))
    executed.clear()
    executed += ["", ""]
    with playhead.resume(run), playhead.run("p"):
        program("b" * 100)
    assert executed == ["", ""]
    with playhead.resume(run), pytest.raises(playhead.ReplayDiverged), playhead.run("p"):
        program("c" * 100)
