"""What is too large, or takes too long to read, is recorded in part: it is not given back, and arguments are compared
by what was read."""

import base64
import contextlib
import dataclasses
import logging
from collections.abc import Callable
from typing import Any

import pydantic
import pytest

import playhead
from playhead import observe
from playhead.calls import runtime
from playhead.errors import InDoubt, ReplayDiverged
from playhead.model import names
from playhead.model.objects.limits import ValueLimits
from playhead.replaying.cut_arguments import agree
from tests.support.journal_reader import Recording

np: Any = pytest.importorskip("numpy")
LARGE = list(range(100_000))


class CutOff(Exception):
    """Ends a run before it has completed."""


def cut_off(program: Callable[[], Any]) -> str:
    with contextlib.suppress(CutOff), playhead.run("p") as run:
        program()
        raise CutOff
    assert run.id is not None
    return run.id


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """What the program's own code takes is measured by it."""
    clock = Clock()
    recorder: Any = runtime.recorder()
    recorder.intake.limits = ValueLimits(seconds=0.002, clock=clock)
    return clock


class Client:
    """An argument whose `repr` takes as long as it is told to."""

    seconds = 0.0

    def __init__(self, clock: Clock, name: str):
        self.clock, self.name = clock, name

    def __repr__(self) -> str:
        self.clock.now += Client.seconds
        return f"Client({self.name})"


# --- results ----------------------------------------------------------------------------------------------------------


def test_a_large_result_is_not_given_back(recording: Recording, caplog: pytest.LogCaptureFixture):
    @observe(kind="tool")
    def give() -> list[int]:
        return LARGE

    with caplog.at_level(logging.WARNING, "playhead"):
        run = cut_off(give)
    assert "give would be executed again on resume: it is larger than what is recorded of a value" in caplog.text
    span = recording.read().call("give")
    assert span.attributes[names.OUTPUT_CUT] == "size"
    assert names.RESTORE_REF not in span.attributes
    with playhead.resume(run), pytest.raises(InDoubt, match="PLAYHEAD_MAX_VALUE_SIZE"), playhead.run("p"):
        give()


def test_a_large_result_of_a_retriever_is_found_again(recording: Recording):
    executed: list[int] = []

    @observe(kind="retriever")
    def search(query: str) -> list[int]:
        executed.append(1)
        return LARGE

    run = cut_off(lambda: search("a"))
    with playhead.resume(run), playhead.run("p"):
        assert search("a") == LARGE
    assert len(executed) == 2


def test_what_only_the_restored_form_has_is_bounded_too(recording: Recording):
    class Hiding(pydantic.BaseModel):
        name: str
        hidden: list[int] = pydantic.Field(exclude=True)

    globals()["Hiding"] = Hiding
    Hiding.__qualname__ = "Hiding"

    @observe(kind="tool")
    def give() -> Any:
        return Hiding(name="a", hidden=LARGE)

    cut_off(give)
    span = recording.read().call("give")
    assert "PLAYHEAD_MAX_VALUE_SIZE" in span.attributes[names.UNRESTORABLE]


def test_a_generator_s_items_are_bounded(recording: Recording):
    @observe(kind="tool")
    def give() -> Any:
        for _ in range(9_000):
            yield [[1], [2]]

    cut_off(lambda: list(give()))
    span = recording.read().call("give")
    assert "PLAYHEAD_MAX_VALUE_SIZE" in span.attributes[names.UNRESTORABLE]


def test_a_result_that_was_not_read_in_time_is_given_back_if_it_was_kept(recording: Recording, clock: Clock):
    class Slow(pydantic.BaseModel):
        name: str

        @pydantic.field_serializer("name")
        def dump(self, name: str) -> str:
            clock.now += 1
            return name

    globals()["Slow"] = Slow
    Slow.__qualname__ = "Slow"

    @observe(kind="tool")
    def give() -> Any:
        return [Slow(name="a"), Slow(name="b")]

    run = cut_off(give)
    assert recording.read().call("give").attributes[names.OUTPUT_CUT] == "time"
    with playhead.resume(run), playhead.run("p"):
        assert give() == [Slow(name="a"), Slow(name="b")]


def test_the_state_of_a_checkpoint_is_recorded_whole(recording: Recording):
    with contextlib.suppress(CutOff), playhead.run("p") as run:
        run.state["all"] = LARGE
        playhead.checkpoint(state={"rows": LARGE})
        raise CutOff
    seen = recording.read()
    [said] = [log for log in seen.logs if log.name == names.CHECKPOINT]
    assert seen.value(said, names.STATE_REF) == {"rows": LARGE}
    assert names.UNRESTORABLE not in said.attributes


def test_a_hook_gets_the_sample(recording: Recording):
    given: list[Any] = []

    @observe(kind="tool", redact=lambda value: given.append(value) or value)
    def give() -> list[int]:
        return LARGE

    cut_off(give)
    assert len(given[-1]) < 100
    assert recording.read().call("give").attributes[names.OUTPUT_CUT] == "size"


def test_an_array_is_given_back_and_recorded_once(recording: Recording):
    picture = np.random.default_rng(1).integers(0, 255, (224, 224, 3), dtype=np.uint8)
    executed: list[int] = []

    @observe
    def step(image: Any) -> Any:
        return [image]

    @observe(kind="tool")
    def turned(image: Any) -> Any:
        executed.append(1)
        return image[::-1]

    def program() -> Any:
        return turned(step(picture)[0])

    run = cut_off(program)
    contents = recording.read().contents.values()
    assert sum(content.data == picture.tobytes() for content in contents) == 1
    assert sum(len(content.data) for content in contents) < 2.1 * picture.nbytes
    with playhead.resume(run), playhead.run("p"):
        back = program()
    assert (type(back), len(executed)) == (np.ndarray, 1)
    np.testing.assert_array_equal(back, picture[::-1])


def test_a_hook_gets_the_elements_of_an_array(recording: Recording):
    given: list[Any] = []

    @observe(kind="tool", redact=lambda value: given.append(value) or value)
    def draw() -> Any:
        return np.zeros((224, 224), dtype=np.uint8)

    run = cut_off(draw)
    [shown] = [value for value in given if "$array" in value]
    assert base64.b64decode(shown["$array"]["base64"]) == bytes(224 * 224)
    with playhead.resume(run), playhead.run("p"):
        assert np.array_equal(draw(), np.zeros((224, 224)))


def test_the_array_of_a_checkpoint_is_recorded_whole(recording: Recording):
    with contextlib.suppress(CutOff), playhead.run("p"):
        playhead.checkpoint(state=np.arange(1_000_000))
        raise CutOff
    [said] = [log for log in recording.read().logs if log.name == names.CHECKPOINT]
    assert names.UNRESTORABLE not in said.attributes


# --- arguments --------------------------------------------------------------------------------------------------------


def test_large_arguments_are_compared_by_what_is_recorded_of_them(recording: Recording):
    executed: list[int] = []

    @observe(kind="tool")
    def count(rows: list[int]) -> int:
        executed.append(1)
        return len(rows)

    run = cut_off(lambda: count(LARGE))
    with playhead.resume(run), playhead.run("p"):
        assert count([*LARGE]) == 100_000
    assert len(executed) == 1
    with playhead.resume(run), pytest.raises(ReplayDiverged), playhead.run("p"):
        count([*LARGE, 1])


@pytest.mark.parametrize(("then", "now"), [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
def test_arguments_that_were_not_read_in_time_are_the_same_as_far_as_they_were_read(
    recording: Recording, clock: Clock, then: float, now: float
):
    executed: list[str] = []

    @observe(kind="tool")
    def ask(clients: list[Client], question: str) -> str:
        executed.append(question)
        return question

    def program(question: str = "a") -> None:
        clients = [Client(clock, "first"), Client(clock, "second")]
        for asked in (question, "b", "b"):
            ask(clients, asked)

    Client.seconds = then
    run = cut_off(program)
    Client.seconds = now
    executed.clear()
    with playhead.resume(run), playhead.run("p"):
        program()
    assert executed == []
    with playhead.resume(run), pytest.raises(ReplayDiverged), playhead.run("p"):
        program("another question")


async def test_arguments_of_calls_in_tasks_that_were_not_read_in_time(recording: Recording, clock: Clock):
    executed: list[str] = []

    @observe(kind="tool")
    async def ask(clients: list[Client], question: str) -> str:
        executed.append(question)
        return question

    async def program() -> list[str]:
        clients = [Client(clock, "first"), Client(clock, "second")]
        return [await ask(clients, question) for question in ("a", "b")]

    Client.seconds = 1.0
    with contextlib.suppress(CutOff), playhead.run("p") as run:
        await program()
        raise CutOff
    assert run.id is not None
    Client.seconds = 0.0
    executed.clear()
    with playhead.resume(run.id), playhead.run("p"):
        assert await program() == ["a", "b"]
    assert executed == []


SLOW = {"$cut": {"why": "time", "type": "m.C"}}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": SLOW}, {"a": {"$repr": "C()", "$type": "m.C"}}, True),
        ({"a": SLOW}, {"a": {"$repr": "D()", "$type": "m.D"}}, False),
        ({"a": SLOW}, {"a": {"name": "x"}}, True),
        ({"a": SLOW}, {"a": SLOW}, True),
        ({"a": SLOW, "b": 1}, {"a": SLOW, "b": 2}, False),
        ({"a": SLOW, "b": 1}, {"a": SLOW, "b": True}, False),
        ({"a": [SLOW, 1]}, {"a": [SLOW]}, False),
        ({"x": 1, "$cut": {"why": "time", "items": 5}}, {"x": 1, "y": 2}, True),
        ({"x": 1, "$cut": {"why": "time", "items": 5}}, {"x": 2, "y": 2}, False),
        ({"x": 1, "$cut": {"why": "size", "items": 5}}, {"x": 1, "y": 2}, False),
        ({"x": 1}, {"x": 1, "y": 2}, False),
    ],
)
def test_values_agree_where_both_were_read(one: Any, other: Any, expected: bool):
    assert agree(one, other) is expected
    assert agree(other, one) is expected


@dataclasses.dataclass
class Rows:
    rows: list[int]


def test_an_error_with_large_arguments_is_recorded_in_bounded_form(recording: Recording):
    @observe(kind="tool")
    def fail() -> None:
        raise ValueError(Rows(LARGE), "too many")

    with contextlib.suppress(ValueError), playhead.run("p"):
        fail()
    seen = recording.read()
    described = seen.value(seen.call("fail"), names.ERROR_REF)
    assert described["restore"]["left_out"] == ["args[0]"]
    assert described["restore"]["args"][1] == "too many"
