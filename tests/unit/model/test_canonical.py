"""A value has one byte form, whoever holds it and however; and no value is too odd to have one."""

import dataclasses
import datetime
import decimal
import enum
import itertools
import json
import math
import random
import uuid
import warnings
from collections import OrderedDict, UserDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import orjson
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model.canonical import (
    BYTES,
    CANONICAL_VERSION,
    JSON,
    TEXT,
    Content,
    canonical_json,
    content_as,
    content_of,
    parse_json,
    value_of,
)
from playhead.model.objects.safe_json import safe_json
from tests.unit.model.values import anything, checked, json_values, nested, scalars, shuffled


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = None


class Model(pydantic.BaseModel):
    name: str
    items: list[Any] = []
    inner: "Model | None" = None


class Colour(enum.Enum):
    RED = "red"
    NOT_A_NUMBER = math.nan


class Word(str, enum.Enum):  # noqa: UP042 - whose str() is not its value
    A = "a"


Pair = namedtuple("Pair", "left right")

# --- one value, one form ---------------------------------------------------------------------------------------------


@checked
@given(anything, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value: Any, order: random.Random):
    assert canonical_json(shuffled(value, order)) == canonical_json(value)


@checked
@given(anything)
def test_a_value_that_was_written_and_read_is_written_the_same(value: Any):
    data = canonical_json(value)
    assert canonical_json(parse_json(data)) == data


@checked
@given(anything)
def test_what_is_written_reads_as_the_same_value(value: Any):
    assert parse_json(canonical_json(value)) == value
    assert json.loads(canonical_json(value)) == value


@checked
@given(anything)
def test_the_careful_path_writes_what_the_quick_path_writes(value: Any):
    assert safe_json(value) == canonical_json(value)


words = st.text(st.characters(exclude_categories=("C",), exclude_characters='\\"'), max_size=8)


@checked
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | words,
        lambda v: st.dictionaries(words, st.lists(v, max_size=3), max_size=3),
    )
)
def test_the_form_is_compact_json_in_utf8_with_sorted_keys(value: Any):
    assert canonical_json(value).decode() == json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


@checked
@given(st.integers(1, 10**6), st.integers(-400, 400))
def test_floats_are_written_so_that_they_read_back_exactly(digits: int, exponent: int):
    value = float(f"{digits}e{exponent}")
    if math.isfinite(value):
        assert parse_json(canonical_json(value)) == value
        assert safe_json(value) == canonical_json(value)


@pytest.mark.parametrize("bits", [53, 63, 64, 65, 128, 4000])
def test_integers_are_exact_at_any_size(bits: int):
    for value in (2**bits - 1, 2**bits, 2**bits + 1, -(2**bits), -(2**bits) - 1):
        assert canonical_json({"n": value}) == b'{"n":%d}' % value
        assert parse_json(canonical_json({"n": value})) == {"n": value}


@checked
@given(st.dictionaries(st.from_regex("[a-z]{2,5}", fullmatch=True), scalars, min_size=1, max_size=4))
def test_a_dataclass_is_written_like_a_dictionary_of_its_fields(fields: dict[str, Any]):
    try:
        cls = dataclasses.make_dataclass("Made", [(name, Any) for name in fields])
    except TypeError:  # a keyword
        return
    assert canonical_json([cls(**fields)]) == canonical_json([fields])


@checked
@given(json_values(), st.lists(json_values(), max_size=3))
def test_a_model_is_written_like_a_dictionary_of_its_fields(value: Any, items: list[Any]):
    model = Model(name="a", items=items, inner=Model(name="b", items=[value]))
    plain = {"name": "a", "items": items, "inner": {"name": "b", "items": [value], "inner": None}}
    assert canonical_json({"m": model, "p": Point(model)}) == canonical_json({"m": plain, "p": {"x": plain, "y": None}})


@pytest.mark.parametrize(
    ("rich", "plain"),
    [
        ((1, 2), [1, 2]),
        (Pair(1, [2]), [1, [2]]),
        (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        (UserDict({"b": 1, "a": 2}), {"a": 2, "b": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({1: "a", None: "b", False: "c", 2.5: "d"}, {"1": "a", "null": "b", "false": "c", "2.5": "d"}),
        ({(1, "x"): 1}, {'[1,"x"]': 1}),
        (Colour.RED, "red"),
        ({Colour.RED: 1}, {"red": 1}),
        ({Word.A: Word.A}, {"a": "a"}),
        (datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC), "2026-01-02T03:04:05+00:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b"), "/a/b"),
        (b"\x00\xff", {"$bytes": "AP8="}),
        ({3, 1, 2}, {"$set": [1, 2, 3]}),
        (frozenset({"b", "a"}), {"$set": ["a", "b"]}),
        (math.nan, {"$float": "nan"}),
        (-math.inf, {"$float": "-inf"}),
        (Colour.NOT_A_NUMBER, {"$float": "nan"}),
        ({"1": "a", 1: "b"}, {"$items": [["1", "a"], [1, "b"]]}),
        (decimal.Decimal("1.5"), {"$repr": "Decimal('1.5')", "$type": "decimal.Decimal"}),
    ],
    # Not a set, whose order differs between processes.
    ids=lambda value: "a set" if isinstance(value, frozenset) else repr(value),
)
def test_rich_values_are_written_as_what_they_hold(rich: Any, plain: Any):
    assert canonical_json([rich]) == canonical_json([plain])
    assert safe_json([rich]) == canonical_json([plain])


def test_null_is_not_nan():
    assert len({canonical_json([value]) for value in (None, math.nan, math.inf, -math.inf)}) == 4


def test_as_deep_as_the_quick_path_goes_the_careful_one_goes():
    assert safe_json(nested(254)) == orjson.dumps(nested(254)) == canonical_json(nested(254))
    assert parse_json(canonical_json(nested(250, 2**70))) == nested(250, 2**70)
    assert b'{"$deep":"builtins.list"}' in canonical_json(nested(255))


def test_how_deep_the_caller_is_does_not_change_the_bytes():
    value = nested(200, {2**70, 1})

    def from_far_down(levels: int) -> bytes:
        return canonical_json(value) if levels == 0 else from_far_down(levels - 1)

    assert from_far_down(600) == canonical_json(value)


# --- hostile values --------------------------------------------------------------------------------------------------


class BrokenRepr:
    calls = 0

    def __repr__(self) -> str:
        BrokenRepr.calls += 1
        raise RuntimeError("no")


class LongRepr:
    def __repr__(self) -> str:
        return "x" * 1_000_000


class LyingClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no")


class BrokenMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class EndlessList(list[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


class BrokenDict(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")

    values = items


class BrokenText(str):
    def __str__(self) -> str:
        raise RuntimeError("no")


class BrokenFloat(float):
    def __float__(self) -> float:
        raise RuntimeError("no")


class OtherModels:
    """Answers a dump with another one of its kind, for ever."""

    def model_dump(self, mode: str) -> Any:
        return OtherModels()


@dataclasses.dataclass
class BrokenField:
    x: int = 1

    def __getattribute__(self, name: str) -> Any:
        if name == "x":
            raise RuntimeError("no")
        return super().__getattribute__(name)


def a_cycle() -> Any:
    point = Point([])
    point.x.append({"back": point})
    return point


def a_cycle_through_a_set() -> Any:
    class Node:
        def __init__(self) -> None:
            self.peers = frozenset({self})

        def model_dump(self, mode: str) -> Any:
            return {"peers": self.peers}

    return Node()


def deep_dictionaries() -> Any:
    value: Any = {}
    for _ in range(10_000):
        value = {"a": value}
    return value


def released() -> memoryview:
    view = memoryview(b"abc")
    view.release()
    return view


HOSTILE: list[Callable[[], Any]] = [
    BrokenRepr, LongRepr, LyingClass, BrokenMapping, BrokenField, OtherModels, a_cycle, a_cycle_through_a_set,
    deep_dictionaries, released,
    lambda: EndlessList([1, 2]),
    lambda: BrokenDict(a=1, b=2**70),
    lambda: BrokenDict(a=None),
    lambda: BrokenText("text"),
    lambda: {BrokenText("key"): BrokenFloat(1.5)},
    lambda: 10**10_000,
    lambda: "\ud800",
    lambda: {"\ud800": "\udfff"},
    lambda: nested(5_000),
    lambda: (number for number in range(3)),
    lambda: HOSTILE,
    lambda: type,
    lambda: warnings,
]  # fmt: skip


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_no_value_is_too_odd(make: Callable[[], Any]):
    for value in (make(), [make()], {"key": make()}, (make(), 2**70)):
        assert parse_json(canonical_json(value)) == parse_json(safe_json(value))
        assert content_of(value).ref == content_of(value).ref
    assert len(canonical_json(make())) < 10_000


def test_what_a_hostile_subclass_holds_is_written_all_the_same():
    assert canonical_json([EndlessList([1, 2]), 2**70]) == b"[[1,2],%d]" % 2**70
    assert canonical_json({"a": BrokenDict(a=None), "b": 2**70}) == b'{"a":{"a":null},"b":%d}' % 2**70
    assert canonical_json({1: BrokenText("x"), 2: BrokenFloat(1.5)}) == b'{"1":"x","2":1.5}'


def test_a_broken_repr_is_called_once():
    BrokenRepr.calls = 0
    data = canonical_json(BrokenRepr())
    assert BrokenRepr.calls == 1
    assert parse_json(data) == {"$repr": "<repr raised RuntimeError>", "$type": f"{__name__}.BrokenRepr"}


def test_a_cycle_is_named_where_it_closes():
    value: dict[str, Any] = {"list": []}
    value["list"].append(value)
    assert canonical_json(value) == b'{"list":[{"$cycle":"builtins.dict"}]}'


def test_a_value_that_stands_twice_is_no_cycle():
    shared = {"n": 2**70}
    assert canonical_json([shared, shared]) == b'[{"n":%d},{"n":%d}]' % (2**70, 2**70)


@dataclasses.dataclass
class Task:
    name: str
    needs: list["Task"]


def tasks(layers: int) -> list[Task]:
    """Five tasks in each layer, each of which needs all five of the layer below."""
    found: list[Task] = []
    for layer in range(layers):
        found = [Task(f"{layer}.{number}", found) for number in range(5)]
    return found


def test_few_objects_that_refer_to_each_other_are_no_endless_value():
    data = canonical_json(tasks(40))  # written out, 5 to the power of 40 of them
    assert len(data) < 20_000_000
    assert b'{"$repeated":"tests.unit.model.test_canonical.Task"}' in data
    assert b"$repeated" not in canonical_json(tasks(6))


def test_many_rows_may_share_their_parts():
    shared = Point(1, {"unit": "kg"})
    assert b"$repeated" not in canonical_json([Point(number, shared) for number in range(30_000)])


class Endless(Mapping[int, Any]):
    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[int]:
        return itertools.count()

    def __getitem__(self, key: int) -> int:
        return key


def test_a_mapping_that_never_ends_has_as_many_items_as_it_says():
    assert canonical_json(Endless()) == b'{"0":0,"1":1,"2":2}'


def test_a_model_that_was_changed_into_something_invalid_warns_nobody():
    model = Model(name="a")
    model.name = 5  # type: ignore[assignment]
    assert canonical_json(model) == b'{"inner":null,"items":[],"name":5}'


# --- reading and contents --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "-Infinity", "1e999", "[1e999]", "", "{", '{"a":1', "[" * 100_000]
)
def test_what_is_no_json_is_refused_with_a_value_error(text: str):
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text)
    with pytest.raises(ValueError, match=r".+"):
        parse_json(b"[12345678901234567890,%b]" % text.encode())  # which the standard library reads


def test_long_runs_of_digits_that_are_no_integers_read_as_usual():
    text = (
        '{"pi":3.14159265358979323846,"id":"12345678901234567890","n":12345678901234567890123,"e":1E-00000000000000000}'
    )
    assert parse_json(text) == json.loads(text)
    assert parse_json(text)["n"] == 12345678901234567890123


@checked
@given(json_values() | st.binary(max_size=20))
def test_content_gives_back_the_value_that_was_put_in(value: Any):
    content = content_of(value)
    assert value_of(content) == value
    assert content.ref == content_of(value).ref


def test_text_is_text_bytes_are_bytes_and_all_else_is_json():
    assert (content_of("ä").data, content_of("ä").media_type) == ("ä".encode(), TEXT)
    assert (content_of(b"\xff").data, content_of(bytearray(b"\xff")).media_type) == (b"\xff", BYTES)
    assert (content_of({"a": 1}).data, content_of(None).media_type) == (b'{"a":1}', JSON)
    assert content_of("\ud800").media_type == JSON


# --- the pinned form -------------------------------------------------------------------------------------------------

PINNED: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "minus one": -1,
    "2**53 + 1": 2**53 + 1,
    "2**63": 2**63,
    "2**64": 2**64,
    "-10**30": -(10**30),
    "more digits than Python writes": 1 << 14_001,
    "0.1": 0.1,
    "1.0": 1.0,
    "minus zero": -0.0,
    "1e16": 1e16,
    "1e22": 1e22,
    "1e-7": 1e-7,
    "smallest float": 5e-324,
    "largest float": 1.7976931348623157e308,
    "not a number": math.nan,
    "infinity": math.inf,
    "empty text": [""],
    "umlauts": ["Grüße"],
    "emoji": ["🛫"],
    "composed and decomposed": ["\u00e9", "e\u0301"],
    "control characters": ['\x00\x1f\x7f\n\t"\\/\u2028'],
    "lone surrogate": ["\ud83d"],
    "empty list": [],
    "empty object": {},
    "keys are sorted by code point": {"b": 1, "a": 2, "B": 3, "é": 4, "\uffff": 5, "🛫": 6, "": 7},
    "keys that are not text": {1: "a", None: "b", False: "c", 2.5: "d", (1, 2): "e"},
    "keys that collide": {1: "a", "1": "b"},
    "nested": {"a": [{"b": [[], {}, None]}], "c": {"d": {"e": 1.5}}},
    "bytes": [b"\x00\xff"],
    "set": [{3, 1, 2}],
    "enum": [Colour.RED],
    "dataclass": Point(1, Point(2)),
    "pydantic model": Model(name="a", inner=Model(name="b")),
    "datetime": [datetime.datetime(2026, 1, 2, 3, 4, 5, 678900)],  # noqa: DTZ001 - naive on purpose
    "date": [datetime.date(2026, 1, 2)],
    "uuid": [uuid.UUID(int=2**127)],
    "something else": decimal.Decimal("1.50"),
    "deep": nested(256),
}


def test_the_canonical_form_is_the_one_that_is_pinned(golden: Callable[[str, str], None]):
    lines = [f'{{"canonical_version": {CANONICAL_VERSION}, "values": [']
    entries: list[str] = []
    for name, value in PINNED.items():
        content = content_of(value)
        bounded = content.data.decode() if len(content.data) < 1000 else f"{len(content.data)} bytes"
        entries.append(json.dumps({"value": name, "json": bounded, "ref": content.ref}, ensure_ascii=True))
    lines.append(",\n".join(entries))
    golden(f"canonical-{CANONICAL_VERSION}.json", "\n".join([*lines, "]}", ""]))


def test_keys_of_any_text_survive():
    value = dict.fromkeys(("", "$set", "\ud800", "a.b", "ключ"), 1)
    assert parse_json(canonical_json(value)) == value


def test_floats_are_spelled_one_way_by_all_versions_of_the_encoder():
    assert canonical_json([1e16, 2.5e300, 1e-7, "1e+16"]) == b'[1e16,2.5e300,1e-7,"1e+16"]'
    assert canonical_json({"n": 1e22}) == safe_json({"n": 1e22}) == b'{"n":1e22}'


def test_texts_that_json_readers_take_for_one_have_different_refs():
    assert content_of("\ud800\udc00").ref != content_of("\U00010000").ref
    assert canonical_json({"\ud800\udc00": 1}) != canonical_json({"\U00010000": 1})


@pytest.mark.parametrize("value", ["text", "5", 5, {"a": 1}, b"bytes", b"\xff"])
def test_a_stored_content_is_given_back_as_it_is_if_its_type_fits_the_ref(value: Any):
    stored = content_of(value)
    assert content_as(stored, stored.ref) is stored


@pytest.mark.parametrize(("value", "other"), [("5", JSON), (5, TEXT), ("text", BYTES), (b"\xff", TEXT)])
def test_bytes_that_another_writer_stored_with_another_type_are_read_as_the_ref_says(value: Any, other: str):
    own = content_of(value)
    assert content_as(Content(own.data, other), own.ref) == own
