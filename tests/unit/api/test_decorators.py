"""`@observe` above and below other decorators, and on what Python treats in a way of its own: nothing else changes."""

import asyncio
import functools
import json
import types
from collections.abc import Generator
from typing import Any, ClassVar

import pytest

import playhead
from playhead.model import names
from tests.support.journal_reader import Recording
from tests.support.logged import messages_of

observe: Any = playhead.observe  # a type checker refuses some of what follows


class Shop:
    """Properties of each kind, observed from outside."""

    def __init__(self) -> None:
        self.set_to: list[int] = []

    @observe
    @property
    def price(self) -> int:
        return 7

    @observe
    @functools.cached_property
    def stock(self) -> list[int]:
        return [1]

    def _level(self) -> int:
        return len(self.set_to)

    def _set_level(self, level: int) -> None:
        self.set_to.append(level)

    level = observe(property(_level, _set_level, doc="How full."))


@pytest.mark.usefixtures("quiet")
def test_a_property_gives_its_own_value_and_each_read_is_recorded(recording: Recording):
    shop = Shop()
    assert type(shop.price) is int
    assert json.dumps([shop.price, shop.stock]) == "[7, [1]]"
    seen = recording.read()
    assert (len(seen.calls("price")), seen.output("stock")) == (2, [1])


@pytest.mark.usefixtures("quiet")
def test_a_cached_property_is_made_once_and_can_be_forgotten():
    shop = Shop()
    assert shop.stock is shop.stock
    del shop.stock
    assert shop.stock == [1]


@pytest.mark.usefixtures("quiet")
def test_a_property_is_set_as_before_and_one_without_a_setter_is_not():
    shop = Shop()
    shop.level = 5
    assert (shop.set_to, shop.level, Shop.__dict__["level"].__doc__) == ([5], 1, "How full.")
    with pytest.raises(AttributeError):
        shop.price = 3


class _Doubling:
    """A field that stores twice what it is set to: no function, but can be called."""

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return owner.__dict__["doubled"]

    def __set__(self, owner: Any, value: int) -> None:
        owner.__dict__["doubled"] = 2 * value

    def __call__(self) -> None: ...


class _Lazy:
    """A value that is found by `__get__`, as frameworks have them: what it gives is no function."""

    def __get__(self, owner: Any, kind: Any = None) -> int:
        return 9


def test_other_descriptors_are_left_as_they_are_and_a_warning_says_what_to_do(caplog: pytest.LogCaptureFixture):
    class Order:
        amount = observe(_Doubling())
        lazy = observe(_Lazy())

    order = Order()
    order.amount = 4
    assert (order.amount, type(order.lazy)) == (8, int)
    assert ["put @observe below" in message for message in messages_of(caplog)] == [True, True]


@pytest.mark.usefixtures("quiet")
def test_hooks_of_classes_that_python_makes_class_methods_stay_such(recording: Recording):
    class Plugin:
        known: ClassVar[list[str]] = []

        @observe
        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__()
            cls.known.append(cls.__name__)

        @observe
        def __class_getitem__(cls, item: int) -> tuple[str, int]:
            return cls.__name__, item

        @observe
        def __new__(cls, *args: Any) -> Any:
            return super().__new__(cls)

        @observe
        def __init__(self, x: int) -> None:
            self.x = x

    class Mail(Plugin, keyword="accepted"): ...

    assert Mail.known == ["Mail"]
    assert Mail[3] == ("Mail", 3)
    assert Mail(1).x == 1
    seen = recording.read()
    assert seen.input("__class_getitem__") == {"item": 3}
    assert seen.input("__init__") == {"x": 1}


@pytest.mark.usefixtures("quiet")
def test_a_coroutine_that_is_written_as_a_generator_can_be_awaited(recording: Recording):
    @observe(kind="tool")
    @types.coroutine
    def old(x: int) -> Generator[Any, Any, int]:
        yield from asyncio.sleep(0).__await__()
        return x

    @types.coroutine
    def older() -> Generator[Any, Any, int]:
        return (yield from old(5))

    async def main() -> tuple[int, int]:
        return await old(4), await older()

    assert asyncio.run(main()) == (4, 5)
    seen = recording.read()
    assert [seen.value(call, names.TOOL_RESULT_REF) for call in seen.calls("old")] == [4, 5]


def test_a_built_in_class_is_left_as_it_is_with_one_sentence(caplog: pytest.LogCaptureFixture):
    assert observe(types.FunctionType) is types.FunctionType
    [said] = messages_of(caplog)
    assert "defines no public methods to observe" in said
