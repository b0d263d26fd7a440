"""`@observe` on a class: its public methods are observed, and it is the same class to everybody else."""

import abc
import asyncio
import copy
import dataclasses
import enum
import functools
import inspect
import json
import pickle
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pydantic
import pytest

import playhead
from playhead import observe
from playhead.model import names
from tests.support.journal_reader import Journaled, Recording, kind, read_journal
from tests.support.logged import messages_of

pytestmark = pytest.mark.usefixtures("quiet")


@observe(kind="tool")
class Shop:
    """A class with a method of each kind."""

    opened: ClassVar[list[str]] = []

    def __init__(self, name: str = "corner"):
        self.name = name

    def find(self, item: str) -> str:
        """Says what it does."""
        return self._where(item)

    def _where(self, item: str) -> str:
        return f"{self.name}:{item}"

    async def order(self, item: str) -> str:
        await asyncio.sleep(0)
        return self.find(item)

    def each(self, count: int) -> Iterator[int]:
        yield from range(count)

    async def stream(self, count: int) -> AsyncIterator[int]:
        for number in range(count):
            yield number

    @classmethod
    def open(cls, name: str) -> "Shop":
        cls.opened.append(name)
        return cls(name)

    @staticmethod
    def price(item: str) -> int:
        return len(item)

    @property
    def size(self) -> int:
        return 1

    @functools.cached_property
    def stock(self) -> int:
        return 2

    def __call__(self, question: str) -> str:
        return question.upper()

    def __len__(self) -> int:
        return 3

    class Shelf:
        """A nested class is left alone."""

        def read(self) -> int:
            return 4


def recorded_names(seen: Journaled) -> list[str]:
    return [span.name.rpartition(" ")[2] for span in seen.spans]


def test_public_methods_of_every_kind_are_recorded_with_the_class_in_their_names(
    recording: Recording, caplog: pytest.LogCaptureFixture
):
    async def main() -> list[Any]:
        shop = Shop()
        return [await shop.order("a"), [number async for number in shop.stream(2)], list(shop.each(2))]

    assert asyncio.run(main()) == ["corner:a", [0, 1], [0, 1]]
    assert (Shop.price("abc"), Shop()("hi"), type(Shop.open("b"))) == (3, "HI", Shop)
    seen = recording.read()
    expected = ["Shop.find", "Shop.order", "Shop.stream", "Shop.each", "Shop.price", "Shop.__call__", "Shop.open"]
    assert recorded_names(seen) == expected
    assert {kind(span) for span in seen.spans} == {"tool"}
    assert (seen.parent("Shop.find"), seen.output("Shop.stream")) == ("Shop.order", [0, 1])
    assert seen.call("Shop.find").attributes[names.TOOL_NAME] == "Shop.find"
    assert ["Shop.open would be executed again" in message for message in messages_of(caplog)] == [True]
    caplog.clear()


def test_private_special_and_nested_ones_fields_and_properties_are_left_alone(recording: Recording):
    shop = Shop()
    assert (shop._where("a"), shop.size, shop.stock, len(shop), Shop.Shelf().read()) == ("corner:a", 1, 2, 3, 4)
    assert recording.read().spans == []


def test_neither_the_object_nor_the_class_is_an_argument(recording: Recording, caplog: pytest.LogCaptureFixture):
    Shop("one").find("a")
    Shop.find(Shop("two"), "b")
    Shop.open("three")
    seen = recording.read()
    inputs = [seen.value(span, names.TOOL_ARGUMENTS_REF) for span in seen.spans]
    assert inputs == [{"item": "a"}, {"item": "b"}, {"name": "three"}]
    assert ["Shop.open would be executed again" in message for message in messages_of(caplog)] == [True]
    caplog.clear()


def test_equal_calls_on_two_objects_have_equal_refs_and_no_address(recording: Recording):
    @observe
    class Chain:
        def add(self, other: Any) -> Any:
            return self

    kept = [Chain(), Chain()]
    assert [one.add(one) is one for one in kept] == [True, True]
    seen = recording.read()
    first, second = seen.calls("Chain.add")
    assert first.attributes[names.INPUT_REF] == second.attributes[names.INPUT_REF]
    assert first.attributes[names.OUTPUT_REF] == second.attributes[names.OUTPUT_REF]
    assert not [content for content in seen.contents.values() if b"0x" in content.data]


def test_without_a_kind_the_outermost_is_an_agent_and_those_inside_are_steps(recording: Recording):
    @observe
    class Agent:
        def run(self) -> int:
            return self.plan()

        def plan(self) -> int:
            return 1

    Agent().run()
    assert [(span.name, kind(span)) for span in recording.read().spans] == [
        ("Agent.plan", "step"),
        ("invoke_agent Agent.run", "agent"),
    ]


def test_a_name_stands_in_for_that_of_the_class_and_options_hold_for_each_method(recording: Recording):
    @observe("shop", capture_output=False)
    class Store:
        def find(self, item: str) -> str:
            return item

    Store().find("a")
    seen = recording.read()
    assert names.OUTPUT_REF not in seen.call("shop.find").attributes


def test_a_method_with_an_observe_of_its_own_keeps_its_options(recording: Recording):
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    @observe
    @observe(kind="tool")
    class Twice:
        @logged
        @observe(name="own", kind="retriever")
        def find(self) -> int:
            return 1

        @classmethod
        @observe(name="made")
        def make(cls) -> int:
            return 2

        def plain(self) -> int:
            return 3

    assert (Twice().find(), Twice.make(), Twice().plain()) == (1, 2, 3)
    seen = [(span.name.rpartition(" ")[2], kind(span)) for span in recording.read().spans]
    assert seen == [("own", "retriever"), ("made", "agent"), ("Twice.plain", "tool")]


def test_what_a_subclass_defines_is_its_own_and_what_it_inherits_stays_observed(recording: Recording):
    class Branch(Shop):
        def find(self, item: str) -> str:
            return "branch " + super().find(item)

        def close(self) -> bool:
            return True

    branch = Branch()
    assert (branch.find("a"), branch.close(), list(branch.each(1))) == ("branch corner:a", True, [0])
    assert recorded_names(recording.read()) == ["Shop.find", "Shop.each"]


def test_an_observed_subclass_leaves_inherited_methods_and_their_order_as_they_were(recording: Recording):
    class Base:
        def act(self) -> str:
            return "base"

    @observe
    class Left(Base):
        def left(self) -> str:
            return "left"

    class Right(Base):
        def act(self) -> str:
            return "right"

    class Both(Left, Right): ...

    assert (Both().act(), Both().left(), "act" in vars(Left)) == ("right", "left", False)
    assert recorded_names(recording.read()) == ["Left.left"]


def test_a_dataclass_keeps_its_fields_also_those_whose_default_is_a_function(recording: Recording):
    @observe
    @dataclasses.dataclass(slots=True, frozen=True)
    class Above:
        item: str
        score: Callable[[str], int] = len

        def scored(self) -> int:
            return self.score(self.item)

    @dataclasses.dataclass(slots=True)
    @observe
    class Below:
        item: str
        score: Callable[[str], int] = lambda item: len(item)  # noqa: PLW0108

        def scored(self) -> int:
            return self.score(self.item)

    assert (Above("ab").scored(), Below("ab").scored(), Above("a") == Above("a")) == (2, 2, True)
    assert dataclasses.asdict(Above("a")) == {"item": "a", "score": len}
    assert recorded_names(recording.read()) == ["Above.scored", "Below.scored"]


@observe
class Order(pydantic.BaseModel):
    item: str
    count: int = 1

    @pydantic.field_validator("item")
    @classmethod
    def not_empty(cls, item: str) -> str:
        assert item
        return item

    @pydantic.field_serializer("count")
    def as_text(self, count: int) -> str:
        return str(count)

    @pydantic.computed_field
    @property
    def label(self) -> str:
        return f"{self.count} {self.item}"

    def model_dump(self, **options: Any) -> dict[str, Any]:
        return super().model_dump(**options)

    def doubled(self) -> "Order":
        return self.model_copy(update={"count": self.count * 2})


def test_a_pydantic_model_validates_and_serialises_as_before(recording: Recording):
    class Express(Order):
        fast: bool = True

    order = Order(item="lamp").doubled()
    assert order.model_dump() == {"item": "lamp", "count": "2", "label": "2 lamp"}
    assert Express.model_validate({"item": "lamp"}).doubled().count == 2
    with pytest.raises(pydantic.ValidationError):
        Express(item="")
    seen = recording.read()
    assert recorded_names(seen) == ["Order.doubled", "Order.model_dump", "Order.doubled"]
    assert seen.value(seen.spans[0], names.OUTPUT_REF) == {"item": "lamp", "count": "2", "label": "2 lamp"}


@observe
@typing.runtime_checkable
class Finder(typing.Protocol):
    def find(self, item: str) -> str: ...


def test_protocols_and_abstract_classes_are_still_such(recording: Recording):
    @observe
    class Agent(abc.ABC):
        @abc.abstractmethod
        def act(self) -> int:
            return 1

        def run(self) -> int:
            return self.act()

    class Real(Agent):
        def act(self) -> int:
            return super().act() + 1

    class Named(Finder):
        def find(self, item: str) -> str:
            return item

    assert isinstance(Named(), Finder)
    assert isinstance(Shop(), Finder)
    assert not isinstance(1, Finder)
    with pytest.raises(TypeError, match="abstract"):
        Agent()  # type: ignore[abstract]
    assert (Real().run(), Named().find("a")) == (2, "a")
    assert recorded_names(recording.read()) == ["Agent.run"]


def test_enums_named_tuples_slots_and_cached_methods_work(recording: Recording):
    @observe
    class Colour(enum.Enum):
        RED = "red"

        def upper(self) -> str:
            return self.value.upper()

    @observe
    class Point(typing.NamedTuple):
        x: int

        def moved(self) -> "Point":
            return self._replace(x=self.x + 1)

    @observe
    class Small:
        __slots__ = ("x",)

        def __init__(self) -> None:
            self.x = 1

        @functools.lru_cache  # noqa: B019
        def cached(self, y: int) -> int:
            return self.x + y

        part = functools.partialmethod(cached, 3)

    small = Small()
    assert (Colour("red").upper(), [*Colour], Point(1).moved()) == ("RED", [Colour.RED], Point(2))
    assert (small.cached(1), small.cached(1), small.cached.cache_info().hits, small.part()) == (2, 2, 1, 4)
    assert recorded_names(recording.read()) == ["Colour.upper", "Point.moved", *["Small.cached"] * 2, "Small.part"]


def test_objects_and_methods_pickle_copy_and_are_inspected_as_before():
    shop = pickle.loads(pickle.dumps(Shop("far")))
    assert (shop.name, pickle.loads(pickle.dumps(shop.find))("a")) == ("far", "far:a")
    assert copy.deepcopy(shop).find("b") == "far:b"
    assert (Shop.__name__, Shop.__qualname__, inspect.isclass(Shop)) == ("Shop", "Shop", True)
    assert Shop.find.__doc__ == "Says what it does."
    assert str(inspect.signature(shop.find)) == "(item: str) -> str"
    assert [inspect.iscoroutinefunction(shop.order), inspect.isasyncgenfunction(shop.stream)] == [True, True]


def test_what_recording_an_object_calls_of_it_is_no_call_of_the_program(recording: Recording):
    class Refused(Exception):
        @observe
        def why(self) -> str:
            return "too late"

        def __str__(self) -> str:
            return self.why()

    @observe
    class Named:
        def label(self) -> str:
            return "mine"

        def __repr__(self) -> str:
            return f"Named({self.label()})"

        def same(self, other: Any) -> Any:
            return self

        def refuse(self) -> None:
            raise Refused

    named = Named()
    named.same(named)
    with pytest.raises(Refused):
        named.refuse()
    seen = recording.read()
    assert recorded_names(seen) == ["Named.same", "Named.refuse"]
    assert seen.call("Named.refuse").status_message == "too late"
    assert seen.output("Named.same")["$repr"] == "Named(mine)"


def test_a_tool_method_takes_the_models_request_by_the_methods_name(recording: Recording):
    from playhead.calls.lifecycle import current_span
    from playhead.calls.requested_tools import add_requested_call

    with observe("agent"):
        span = current_span()
        assert span is not None
        add_requested_call(span.run, "find", b'{"item":"a"}', "call_7")
        Shop().find("a")
    assert recording.read().call("Shop.find").attributes[names.TOOL_CALL_ID] == "call_7"


def test_a_run_goes_on_although_its_objects_are_others(recording: Recording, tmp_path: Path):
    calls: list[str] = []

    @observe(replay=True, idempotent=True)
    class Work:
        def first(self, x: int) -> int:
            calls.append("first")
            return x + 1

        def second(self, x: int) -> int:
            calls.append("second")
            if calls.count("second") == 1:
                raise KeyboardInterrupt
            return x * 10

    @observe(name="main")
    def main() -> int:
        work = Work()
        return work.second(work.first(1))

    with pytest.raises(KeyboardInterrupt):
        main()
    run = read_journal(recording.folder).call("main").attributes[names.RUN_ID]
    with playhead.resume(run):
        assert json.dumps(main()) == "20"
    assert calls == ["first", "second", "second"]
