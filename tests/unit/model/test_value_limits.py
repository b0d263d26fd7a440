"""How much of a value is read: bounded by its weight, and, for the program's own code, by time; what is not asked."""

import collections
import dataclasses
import enum
import functools
import importlib.util
import json
import math
import types
import uuid
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.local import LocalProxy

from playhead.errors import NotFaithful
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.objects.limits import Cut, ValueLimits, is_light, weigh
from playhead.model.objects.masking import Mask
from playhead.model.objects.safe_json import bounded_json
from playhead.refs.faithful import encode
from tests.unit.model.values import anything, checked, nested, scalars

LIMITS = ValueLimits(clock=lambda: 0.0)
MASK = Mask()


@dataclasses.dataclass
class Node:
    name: str
    inside: list[Any] = dataclasses.field(default_factory=list[Any])


class Doc(pydantic.BaseModel):
    text: str
    parts: list[Any] = []


class Number(int):
    """A number of a class of the program."""


class Word(str, enum.Enum):  # noqa: UP042 - whose str() is not its value
    A = "a"


def read(value: Any, limits: ValueLimits = LIMITS) -> tuple[Any, Cut | None]:
    data, cut = bounded_json(value, MASK, limits)
    return parse_json(data), cut


def tree(width: int, depth: int) -> Node:
    return Node(f"level {depth}", [tree(width, depth - 1) for _ in range(width)] if depth else [])


def shared(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value, value]
    return value


class Clock:
    """A clock that the values under test move on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """Whose `repr` takes a millisecond, and is counted."""

    asked = 0

    def __init__(self, clock: Clock):
        self.clock = clock

    def __repr__(self) -> str:
        Slow.asked += 1
        self.clock.now += 0.001
        return "Slow()"


# --- what is within the limits is as without them ---------------------------------------------------------------------

rich = st.recursive(
    scalars | st.binary(max_size=5) | st.uuids() | st.just(Word.A) | st.just(math.nan),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Node, st.text(max_size=3), st.lists(inner, max_size=3))
        | st.builds(Doc, text=st.text(max_size=3), parts=st.lists(inner, max_size=3))
        | st.lists(inner, max_size=2).map(collections.deque)
    ),
    max_leaves=12,
)


@checked
@given(rich)
def test_a_value_within_the_limits_is_recorded_as_without_them(value: Any):
    assert bounded_json(value, MASK, LIMITS) == (canonical_json(value, MASK), None)


@checked
@given(anything)
def test_the_weight_of_a_plain_value_grows_with_what_is_in_it(value: Any):
    weight, is_plain = weigh(value, 10**9)
    assert is_plain
    assert weigh([value, value], 10**9)[0] > 2 * weight - 1
    assert weigh(value, 0)[0] <= weight


@given(st.one_of(scalars, st.dictionaries(st.text(), scalars, max_size=12), anything))
def test_a_light_value_is_plain_and_within_any_limit(value: Any):
    if is_light(value):
        weight, is_plain = weigh(value, 1_000)
        assert is_plain
        assert weight < 100


def test_plain_parts_of_other_values_are_recorded_as_without_limits():
    for part in ({1: "a", None: 2}, [uuid.UUID(int=1)], nested(300), {"a": {"\ud800": [2**70]}}, [Word.A, "x"]):
        value = {"other": Node("a"), "part": part}
        assert bounded_json(value, MASK, LIMITS)[0] == canonical_json(value, MASK)
        assert parse_json(canonical_json(value, MASK))


# --- what is larger is a sample ---------------------------------------------------------------------------------------

LARGE: dict[str, Any] = {
    "numbers": list(range(1_000_000)),
    "texts": [str(number) for number in range(100_000)],
    "keys": {f"key {number}": number for number in range(100_000)},
    "other keys": {number: number for number in range(100_000)},
    "members": set(range(100_000)),
    "queue": collections.deque(range(1_000_000)),
    "objects": tree(10, 4),
    "models": [Doc(text="a", parts=[number]) for number in range(5_000)],
    "one model": Doc(text="a", parts=list(range(100_000))),
    "small containers": [{"a": [1], "b": (2,)} for _ in range(20_000)],
    "deep": nested(100_000),
    "shared": shared(40),
    "exception": ValueError(list(range(1_000_000))),
    "partial": functools.partial(print, list(range(1_000_000))),
    "mapping": collections.UserDict({number: number for number in range(100_000)}),
    "tuples": tuple((number, "a", None) for number in range(50_000)),
}


@pytest.mark.parametrize("name", LARGE)
def test_of_a_large_value_a_sample_is_recorded_that_says_so(name: str):
    shown, cut = read(LARGE[name])
    assert cut == "size"
    assert len(canonical_json(shown)) < 20_000
    text = canonical_json(shown).decode()
    assert '"$cut":' in text or '"$repeated":' in text


@pytest.mark.parametrize("name", LARGE)
def test_equal_values_are_cut_at_the_same_place(name: str):
    limits = dataclasses.replace(LIMITS, seconds=None)  # what time cuts depends on the machine
    assert bounded_json(LARGE[name], MASK, limits) == bounded_json(LARGE[name], MASK, limits)


def test_the_first_and_the_last_items_are_shown():
    shown, _ = read(list(range(1_000_000)))
    assert shown == [*range(40), {"$cut": {"why": "size", "items": 999_950}}, *range(999_990, 1_000_000)]
    shown, _ = read({f"{number:06}": number for number in range(100_000)})
    assert shown.pop("$cut") == {"why": "size", "items": 99_950}
    assert [*map(int, shown)] == [*range(40), *range(99_990, 100_000)]


def test_what_stands_beside_something_large_is_shown():
    shown, _ = read({"a": tree(10, 4), "question": "why?", "z": list(range(100_000))})
    assert shown["question"] == "why?"
    assert shown["a"]["name"] == "level 4"
    assert shown["z"][:3] == [0, 1, 2]


def test_of_a_large_set_only_its_size_is_recorded():
    # Which members come first is another in each process.
    assert read({f"{number}" for number in range(10_000)})[0] == {"$set": [], "$cut": {"why": "size", "items": 10_000}}


def test_shared_parts_are_written_once():
    shown, cut = read(shared(40))
    for _ in range(39):
        assert shown[1] == {"$repeated": "builtins.list"}
        shown = shown[0]
    assert (shown, cut) == ([1, 1], "size")


def test_values_that_differ_where_they_are_shown_differ():
    first, other = list(range(100_000)), list(range(100_001))
    assert bounded_json(first, MASK, LIMITS) != bounded_json(other, MASK, LIMITS)


def test_secrets_are_masked_in_a_sample():
    @dataclasses.dataclass
    class Client:
        password: str
        rows: list[int]

    shown, _ = read(Client("hunter2", list(range(100_000))))
    assert shown["password"] == {"$masked": "str"}


# --- time -------------------------------------------------------------------------------------------------------------


def slow(how_many: int, seconds: float = 0.002) -> tuple[list[Slow], ValueLimits]:
    clock = Clock()
    Slow.asked = 0
    return [Slow(clock) for _ in range(how_many)], ValueLimits(seconds=seconds, clock=clock)


def test_the_program_s_own_code_has_one_budget_for_a_whole_value():
    values, limits = slow(300)
    shown, cut = read({"in": values[:150], "more": {"in": values[150:]}, "question": "why?"}, limits)
    assert (Slow.asked, cut) == (2, "time")
    assert shown["in"][1]["$repr"] == "Slow()"
    assert shown["in"][2] == {"$cut": {"why": "time", "type": f"{__name__}.Slow"}}
    assert shown["question"] == "why?"


def test_without_a_budget_all_of_it_is_asked():
    values, limits = slow(300, seconds=1)
    assert read(values, limits)[1] is None
    assert Slow.asked == 300


def test_what_was_asked_is_not_asked_again_for_the_sample():
    values, limits = slow(2_000, seconds=10)
    assert read(values, limits)[1] == "size"
    assert Slow.asked < 2_000
    assert Slow.asked == len({*map(id, values)} & {*map(id, values[: Slow.asked - 10]), *map(id, values[-10:])})


class SlowMapping(Mapping[int, int]):
    """Each of its items takes a millisecond."""

    def __init__(self, clock: Clock):
        self.clock = clock

    def __len__(self) -> int:
        return 1_000

    def __iter__(self) -> Iterator[int]:
        return iter(range(1_000))

    def __getitem__(self, key: int) -> int:
        self.clock.now += 0.001
        return key


def test_a_slow_mapping_is_read_as_far_as_there_is_time():
    clock = Clock()
    shown, cut = read(SlowMapping(clock), ValueLimits(seconds=0.002, clock=clock))
    assert cut == "time"
    assert shown == {"0": 0, "1": 1, "$cut": {"why": "time", "items": 998}}


def test_slow_dumps_share_the_budget():
    clock = Clock()

    class Dumped:
        def model_dump(self, mode: str) -> dict[str, int]:
            clock.now += 0.001
            return {"a": 1}

    shown, cut = read([Dumped() for _ in range(10)], ValueLimits(seconds=0.002, clock=clock))
    assert cut == "time"
    assert [item.get("a") for item in shown] == [1, 1, *[None] * 8]


# --- what is not asked ------------------------------------------------------------------------------------------------


class Watched:
    """Counts how often it is asked what it is."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def __class__(self) -> Any:
        object.__setattr__(self, "asked", object.__getattribute__(self, "asked") + 1)
        return dict


def test_an_object_is_read_by_its_type_and_not_by_what_it_says_of_itself():
    watched = Watched()
    read({"x": [watched]})
    canonical_json(watched)
    assert object.__getattribute__(watched, "asked") == 0


def test_stand_ins_are_not_resolved():
    asked: list[int] = []
    proxy: Any = LocalProxy(lambda: asked.append(1))
    assert read([proxy])[0] == [{"$type": "werkzeug.local.LocalProxy"}]
    assert asked == []


def test_django_s_lazy_objects_are_not_evaluated():
    functional: Any = pytest.importorskip("django.utils.functional")
    query: Any = pytest.importorskip("django.db.models.query")
    settings: Any = pytest.importorskip("django.conf").settings
    if not settings.configured:
        settings.configure()
    asked: list[int] = []
    lazy = functional.SimpleLazyObject(lambda: asked.append(1))

    class Queries(query.QuerySet):
        def __iter__(self) -> Any:
            asked.append(2)
            return iter([])

        def __len__(self) -> int:
            asked.append(3)
            return 0

    shown, _ = read([lazy, Queries(), functional.lazystr(asked)])
    assert [item["$type"].rpartition(".")[2] for item in shown] == ["SimpleLazyObject", "Queries", "__proxy__"]
    assert asked == []


def test_a_method_is_described_without_its_object():
    values, limits = slow(1)
    shown, _ = read(values[0].__repr__, limits)
    assert shown == {"$repr": "<bound method Slow.__repr__>", "$type": "builtins.method"}
    assert Slow.asked == 0


def test_fields_that_are_read_from_a_database_are_left_alone():
    asked: list[str] = []

    class InstrumentedAttribute:
        def __get__(self, instance: Any, owner: Any) -> Any:
            if instance is None:
                return self
            asked.append("query")
            return []

    InstrumentedAttribute.__module__ = "sqlalchemy.orm.attributes"

    @dataclasses.dataclass
    class Order:
        number: int
        lines: Any = dataclasses.field(init=False)

    Order.lines = InstrumentedAttribute()
    assert read(Order(5))[0] == {"number": 5}
    assert asked == []


def test_queues_and_views_are_lists_of_what_they_hold():
    assert read(collections.deque([1, "a"]))[0] == [1, "a"]
    assert read({"a": 1}.values())[0] == [1]
    assert read(types.SimpleNamespace(a=1))[0] == {"a": 1}


# --- what takes long to be written ------------------------------------------------------------------------------------


LONG: dict[str, Any] = {
    "numbers": [10**4000] * 1_000,
    "keys": {10**4000 + number: 1 for number in range(1_000)},
    "numbers of a class": [Number(10**4000) for _ in range(1_000)],
    "half surrogate pairs": ["\ud800"] * 10_000,
    "keys with them": {f"\ud800{number}": 1 for number in range(10_000)},
    "one number": 10**4_000_000,
}


@pytest.mark.parametrize("name", LONG)
def test_what_takes_long_to_be_written_is_cut(name: str):
    value = LONG[name]
    data, cut = bounded_json({"value": value, "beside": "shown"}, None, LIMITS)
    assert cut == "size"
    assert len(data) < 40_000
    assert parse_json(data)["beside"] == "shown"
    with pytest.raises(NotFaithful):
        encode((value,), LIMITS)


def test_a_few_long_numbers_are_recorded_whole():
    for value in ([10**4000] * 3, [10**5000], [2**70, -(2**70), float("nan"), 1, None, True], {"a": float("inf")}):
        assert bounded_json(value, None, LIMITS) == (canonical_json(value), None)


def test_a_long_fraction_is_not_written_out(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []
    monkeypatch.setattr(Fraction, "__repr__", lambda self: asked.append(self) or "Fraction()")
    shown, cut = read([Fraction(10**300_000 + 1, 7), Fraction(1, 3)])
    assert (shown[0], cut) == ({"$cut": {"type": "fractions.Fraction", "why": "size"}}, "size")
    assert asked == [Fraction(1, 3)]


def test_numbers_with_exponents_are_recorded_whole():
    for value in ([1e308] * 40_000, {f"e+1 {number}": -1e16 for number in range(10_000)}):
        data, cut = bounded_json(value, None, LIMITS)
        assert (json.loads(data), cut) == (value, None)
        assert b"308" in data or b"-1e16" in data
        assert b"1e+308" not in data
    assert canonical_json({'a"1e+16': "\\1e+16", "b": 1e16}) == b'{"a\\"1e+16":"\\\\1e+16","b":1e16}'
    assert canonical_json({"1e+16": "1e+16", "b": [1e16, 1.5e300]}) == b'{"1e+16":"1e+16","b":[1e16,1.5e300]}'


# --- what must not be touched -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [mock.Mock, mock.MagicMock, mock.AsyncMock, mock.NonCallableMagicMock])
def test_what_a_mock_was_asked_does_not_change(kind: Any):
    value = kind()
    before = dir(value)
    assert read([value, {"a": value}])[0][0] == {"$type": f"unittest.mock.{kind.__name__}"}
    assert (value.mock_calls, dir(value)) == ([], before)


def test_a_lazy_proxy_is_not_evaluated():
    wrapt: Any = pytest.importorskip("wrapt")
    if not hasattr(wrapt, "LazyObjectProxy"):
        pytest.skip("this version of wrapt has no lazy proxies")
    asked: list[int] = []
    assert read([wrapt.LazyObjectProxy(lambda: asked.append(1))])[0] == [{"$type": "wrapt.proxies.LazyObjectProxy"}]
    assert asked == []


def test_a_lazy_module_is_not_loaded(tmp_path: Path):
    (tmp_path / "later.py").write_text("raise AssertionError('it was loaded')\n")
    spec: Any = importlib.util.spec_from_file_location("later", tmp_path / "later.py")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert read([module])[0] == [{"$type": "importlib.util._LazyModule"}]
