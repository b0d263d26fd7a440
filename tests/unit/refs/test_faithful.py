"""Values that go to JSON bytes and come back as what they were, and those that say that they cannot."""

import contextlib
import dataclasses
import datetime
import enum
import importlib
import math
import pathlib
import sys
import threading
import types
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypedDict, TypeVar

import httpx
import pydantic
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from playhead.model.canonical import canonical_json, content_of, parse_json, value_of
from playhead.refs.faithful import (
    CannotRestore,
    NotFaithful,
    ReplayedError,
    decode,
    decode_error,
    encode,
    encode_error,
    is_plain,
    restore_data,
    restored_value,
)
from playhead.refs.named_classes import declare_modules


def through_bytes(value: Any) -> Any:
    return decode(parse_json(canonical_json(encode(value))))


def raised_again(error: BaseException) -> Any:
    return decode_error(parse_json(canonical_json(encode_error(error))))


def by_type(value: Any) -> str:
    return value if type(value) is str and value.isascii() else type(value).__name__


def same(left: Any, right: Any) -> bool:
    """Equal, of the same types all the way down, and in the same order where there is one."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return len(left) == len(right) and all(
            same(one, other) for one, other in zip(left.items(), right.items(), strict=True)
        )
    if isinstance(left, list | tuple | deque):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return left == right and encode(left) == encode(right)  # which has an order of its own, and types
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    if dataclasses.is_dataclass(left):
        return same(vars(left), vars(right)) if hasattr(left, "__dict__") else left == right
    return left == right and repr(left) == repr(right)


# --- classes that values are made of ---------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"
    BLUE = ("b", 2)
    CRIMSON = "red"  # noqa: PIE796 - another name for the same member


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    YES = "yes"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


class Point(NamedTuple):
    x: Any
    y: Any = 0


Pair = namedtuple("Pair", "left right")


@dataclasses.dataclass
class Order:
    name: str
    items: Any
    total: float = dataclasses.field(init=False)
    made: ClassVar[int] = 0

    def __post_init__(self) -> None:
        self.total = 1.5
        Order.made += 1

    @cached_property
    def shout(self) -> str:
        return self.name.upper()


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    id: Any
    note: str | None = None


@dataclasses.dataclass(slots=True)
class Wider(Order):
    extra: Any = None


class Row(TypedDict):
    name: str


class Answer(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    text: str
    score: float = 0.5
    page: pydantic.HttpUrl | None = None
    when: datetime.datetime | None = None
    _seen: int = pydantic.PrivateAttr(default=0)


T = TypeVar("T")


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


class Names(pydantic.RootModel[list[str]]):
    pass


class Outer:
    @dataclasses.dataclass
    class Inner:
        value: Any


class PaymentFailed(Exception):
    def __init__(self, order: str, *, code: int, connection: Any = None):
        super().__init__(f"order {order} was not paid")
        self.order = order
        self.code = code
        self.connection = connection


class NeedsItsConnection(Exception):
    def __init__(self, connection: Any):
        self.connection = connection

    def __str__(self) -> str:
        return f"lost {self.connection.name}"


class Slotted(Exception):
    __slots__ = ("code",)

    def __init__(self, code: int):
        self.code = code


class DiskFull(OSError):
    def __init__(self, folder: str):
        super().__init__(28, "disk full", folder)
        self.folder = folder


# --- properties ------------------------------------------------------------------------------------------------------

ZONES = st.sampled_from(
    [None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3), "X"), zoneinfo.ZoneInfo("UTC")]
)
# Two characters in Python, and one for whoever reads their JSON escapes.
JOINED = "\ud800\udc00"
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**30),
    st.floats(allow_nan=False),
    st.text(),
    st.text(st.characters(categories=["Cs", "Lu"]), max_size=3),
    st.just(JOINED),
    st.binary(),
    st.complex_numbers(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.builds(range, st.integers(), st.integers(), st.integers(1)),
    st.datetimes(timezones=ZONES),
    st.dates(),
    st.times(timezones=st.sampled_from([None, datetime.UTC])),
    st.timedeltas(),
    st.uuids(),
    st.sampled_from([*Colour, *Level, *Word, *Rights, Rights.READ | Rights.RUN, Rights(0)]),
    st.sampled_from(["a", "a/b", "/a/../b", "//x", "", "c:\\d"]).flatmap(
        lambda text: st.sampled_from([pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.Path]).map(
            lambda flavour: flavour(text)
        )
    ),
)
HASHABLE = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)),
    max_leaves=5,
)
KEYS = st.one_of(st.text(max_size=3), st.just("$"), st.just(JOINED), HASHABLE)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists, pairs = st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(deque),
        lists.map(lambda items: deque(items, maxlen=7)),
        st.sets(HASHABLE, max_size=3),
        st.binary().map(bytearray),
        st.dictionaries(st.text(max_size=3), inner, max_size=4),
        pairs,
        pairs.map(OrderedDict),
        pairs.map(lambda items: defaultdict(list, items)),
        st.lists(HASHABLE, max_size=4).map(Counter),
        st.builds(Point, inner, inner),
        st.builds(Pair, inner, inner),
        st.builds(Order, st.text(), inner),
        st.builds(Frozen, inner),
        st.builds(Outer.Inner, inner),
    )


@settings(max_examples=250, deadline=None)
@given(st.recursive(SCALARS, containers, max_leaves=12))
@example(JOINED)
@example({JOINED: [JOINED], "𐀀": {f"a{JOINED}b{JOINED}"}})
@example(datetime.timezone(datetime.timedelta(0), JOINED))
@example(pathlib.PurePosixPath(JOINED))
@example("\udc00\ud800")
def test_a_value_comes_back_equal_and_of_the_same_types(value: Any) -> None:
    assert same(through_bytes(value), value)


PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=4)),
    max_leaves=20,
)


@settings(max_examples=250, deadline=None)
@given(st.one_of(PLAIN, st.recursive(SCALARS, containers, max_leaves=6)))
@example(JOINED)
@example({JOINED: 1, "𐀀": 2})
def test_the_ordinary_content_and_what_is_kept_beside_it_give_the_value_back(value: Any) -> None:
    kept = restore_data(value)
    content = content_of(value)
    assert same(restored_value(value_of(content), None if kept is None else parse_json(canonical_json(kept))), value)
    assert not is_plain(value) or kept is None


# --- plain -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, True, 3, 2**100, -0.5, "é", [], {}, [{"a": [1, {"b": None}], "c": ""}]])
def test_plain_json_stands_for_itself(value: Any) -> None:
    assert is_plain(value)
    assert encode(value) is value


@pytest.mark.parametrize(
    "value",
    [math.nan, "\ud800", ("a",), {1: 2}, Word.YES, Level.LOW, [Colour.RED], {"k": {1}}, b"", 2**20_000],
    ids=by_type,
)
def test_what_json_would_change_is_not_plain(value: Any) -> None:
    assert not is_plain(value)


def test_keys_out_of_order_are_not_plain_since_the_program_sees_their_order() -> None:
    value = [{"name": "a", "id": 1}, {"name": "b", "id": 2}]
    assert not is_plain(value)
    assert same(through_bytes(value), value)


def test_what_is_kept_for_the_order_of_keys_does_not_grow_with_the_value() -> None:
    value = [{"name": "a", "id": number} for number in range(1_000)]
    assert restore_data(value) == {"$": "key order", "orders": [["name", "id"]]}


def test_the_same_keys_in_two_orders_are_kept_as_they_stand() -> None:
    value = [{"b": 1, "a": 2}, {"a": 1, "b": 2}]
    assert same(restored_value(value_of(content_of(value)), restore_data(value)), value)


@pytest.mark.parametrize("value", [{"$": "tuple", "items": [1]}, {"$playhead": "too large"}])
def test_a_dictionary_that_looks_like_ours_is_the_users(value: Any) -> None:
    assert same(through_bytes(value), value)
    assert same(through_bytes((value,)), (value,))
    assert same(restored_value(value_of(content_of(value)), restore_data(value)), value)


@pytest.mark.parametrize("kept", [None, {"$": "key order", "orders": []}])
def test_a_marker_in_the_place_of_content_is_not_given_back(kept: Any) -> None:
    marker = {"$playhead": "too large", "bytes": 9}
    with pytest.raises(CannotRestore, match="too large"):
        restored_value(marker, kept)
    with pytest.raises(CannotRestore, match="too large"):
        decode(marker)


# --- objects ---------------------------------------------------------------------------------------------------------


def test_no_code_of_a_dataclass_runs_when_it_comes_back() -> None:
    order = Order("a", [Frozen(1)])
    order.shout  # noqa: B018
    made = Order.made
    back = through_bytes(order)
    assert back == order
    assert Order.made == made
    assert vars(back) == vars(order)


def test_a_dataclass_with_slots_and_a_dictionary_keeps_both() -> None:
    wider = Wider("a", (1,), extra={2})
    back = through_bytes(wider)
    assert back == wider
    assert back.extra == {2}


def test_a_field_that_was_never_set_stays_unset() -> None:
    value = object.__new__(Frozen)
    object.__setattr__(value, "id", 7)
    back = through_bytes(value)
    assert back.id == 7
    assert not hasattr(back, "note")


def test_a_model_keeps_private_attributes_extras_and_what_was_set() -> None:
    answer = Answer.model_validate_json(
        '{"text": "x", "z": [1], "y": {"b": 1, "a": 2}, "when": "2026-01-02T03:04:05Z", "page": "http://x.test"}'
    )
    answer._seen = 4
    back = through_bytes(answer)
    assert back == answer
    assert back._seen == 4
    assert back.model_fields_set == answer.model_fields_set == {"text", "when", "page", "z", "y"}
    assert back.model_dump_json() == answer.model_dump_json()
    assert back.when.utcoffset() == datetime.timedelta(0)


def test_generic_and_root_models_come_back() -> None:
    pages: Page[Answer] = Page[Answer](items=[Answer(text="x")])
    back = through_bytes([pages, Names(["a"])])
    assert back == [pages, Names(["a"])]
    assert type(back[0]) is Page[Answer]


def test_a_typed_dict_is_a_dictionary() -> None:
    row: Row = {"name": "x"}
    assert is_plain(row)


def test_shared_values_come_back_as_copies() -> None:
    shared = {1}
    one, other = through_bytes([shared, shared])
    assert one == other == shared
    assert one is not other


def test_a_class_of_the_main_module_is_found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    main = types.ModuleType("__main__")
    exec("import dataclasses\n@dataclasses.dataclass\nclass Job:\n    id: int", main.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", main)
    tree = encode(main.Job(3))
    assert tree["class"] == "__main__:Job"
    assert decode(tree) == main.Job(3)


# --- what cannot be kept ---------------------------------------------------------------------------------------------


class Text(str):
    __slots__ = ()


class Anything:
    pass


@dataclasses.dataclass
class HoldsALock:
    lock: Any = dataclasses.field(default_factory=threading.Lock)


@dataclasses.dataclass
class OfADictionary(dict[str, int]):
    name: str = ""


def cycle() -> list[Any]:
    value: list[Any] = [1]
    value.append({"again": value})
    return value


def deep(levels: int) -> Any:
    value: Any = (1,)
    for _ in range(levels):
        value = [value]
    return value


def local() -> Any:
    @dataclasses.dataclass
    class Local:
        id: int = 1

    return Local()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (cycle(), "holds itself"),
        (deep(260), "too deeply"),
        (deep(100_000), "too deeply"),
        (local(), "cannot be found by its name"),
        (Anything(), "cannot be rebuilt from data"),
        (Text("x"), "cannot be rebuilt from data"),
        (HoldsALock(), "lock"),
        (OfADictionary(), "cannot be rebuilt from data"),
        (defaultdict(lambda: 1), "factory"),
        ({"a": iter([])}, "list_iterator"),
        (pydantic.SecretStr("x"), "SecretStr"),
        (memoryview(b"x"), "memoryview"),
        (PaymentFailed("a", code=1, connection=threading.Lock()), "connection of a PaymentFailed"),
    ],
    ids=by_type,
)
def test_what_cannot_be_given_back_says_why(value: Any, why: str) -> None:
    with pytest.raises(NotFaithful, match=why):
        encode(value)


def test_few_objects_that_refer_to_each_other_are_no_endless_value() -> None:
    found: list[Any] = []
    for _ in range(20):
        found = [Frozen(found) for _ in range(5)]
    with pytest.raises(NotFaithful, match="the same objects stand in it too often"):
        encode(found)


def test_deep_values_come_back() -> None:
    assert through_bytes(deep(120)) == deep(120)
    plain: Any = {"b": 1, "a": 2}
    for _ in range(240):
        plain = [plain]
    assert same(through_bytes(plain), plain)


def test_an_object_whose_attributes_raise_is_not_faithful() -> None:
    class Meta(type):
        @property
        def __dataclass_fields__(cls) -> Any:
            raise RuntimeError("no")

    class Hostile(metaclass=Meta):
        pass

    with pytest.raises(NotFaithful):
        encode(Hostile())


# --- records that were changed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "no such tag"},
        {"$": ["tuple"]},
        {"$": "tuple"},
        {"$": "tuple", "items": 3},
        {"$": "set", "items": [[]]},
        {"$": "bytes", "base64": "%"},
        {"$": "datetime", "at": "yesterday", "fold": 0, "zone": None},
        {"$": "datetime", "at": "2026-01-01T00:00:00", "fold": 0, "zone": "here"},
        {"$": "path", "flavour": "Popen", "text": "ls"},
        {"$": "dict", "keys": [1], "values": []},
        {"$": "dataclass", "class": "os:system", "state": {}, "unset": []},
        {"$": "dataclass", "class": "subprocess:Popen", "state": {}, "unset": []},
        {"$": "dataclass", "class": "no.such.module:Thing", "state": {}, "unset": []},
        {"$": "dataclass", "class": "os", "state": {}, "unset": []},
        {"$": "dataclass", "class": "..os:path", "state": {}, "unset": []},
        {"$": "dataclass", "class": 3, "state": {}, "unset": []},
        {"$": "model", "class": "builtins:dict", "state": {}, "unset": []},
        {"$": "model", "class": {"origin": "os:environ", "args": ["builtins:int"]}, "state": {}, "unset": []},
        {"$": "enum", "class": "builtins:eval", "member": "x"},
        {"$": "enum", "class": "re:RegexFlag", "member": "__class__"},
        {"$": "namedtuple", "class": "builtins:tuple", "fields": ["a"], "items": [1]},
        {"$": "defaultdict", "factory": "os:getcwd", "keys": [], "values": []},
        {"$": "defaultdict", "factory": "subprocess:Popen", "keys": [], "values": []},
        {"$": "error", "class": "builtins:ValueError"},
        {"$": "json", "text": "{"},
        {"$": "zone", "key": "../../etc/passwd"},
        {"$": "url", "kind": "validate_email", "text": "x"},
        {"$": "http response", "library": "os", "status": 1, "headers": [], "body": "", "request": None},
    ],
    ids=str,
)
def test_a_record_that_was_changed_is_refused(tree: Any) -> None:
    with pytest.raises(CannotRestore):
        decode(tree)


def tampered(tree: Any, data: st.DataObject) -> Any:
    """The tree with some of its parts replaced."""
    if data.draw(st.integers(0, 5)) == 0:
        return data.draw(st.sampled_from([None, 3, "x", [], {}, "os:system", [["a", 1]], {"$": "tuple", "items": []}]))
    if isinstance(tree, dict):
        return {key: tampered(item, data) for key, item in tree.items()}
    return [tampered(item, data) for item in tree] if isinstance(tree, list) else tree


@settings(max_examples=200, deadline=None)
@given(st.recursive(SCALARS, containers, max_leaves=4), st.data())
def test_whatever_a_record_holds_it_gives_a_value_or_one_clear_error(value: Any, data: st.DataObject) -> None:
    with contextlib.suppress(CannotRestore):
        decode(tampered(encode([value, DiskFull("/x"), Answer(text="x"), b"", Colour.RED]), data))


def test_a_class_that_has_new_fields_is_named() -> None:
    tree = encode(Frozen(1))
    del tree["state"]["note"]
    with pytest.raises(CannotRestore, match=r"Frozen has fields that it did not have when recorded: note"):
        decode(tree)


def test_a_record_cannot_change_the_class_of_an_object() -> None:
    tree = encode(Order("a", 1))
    tree["state"] = {"__class__": 1, "items": 1, "name": "a", "total": 1.0}
    assert type(decode(tree)) is Order


# --- exceptions ------------------------------------------------------------------------------------------------------


def test_an_exception_comes_back_with_attributes_notes_and_cause() -> None:
    try:
        try:
            raise KeyError("a1")
        except KeyError as error:
            raise PaymentFailed("A1", code=402) from error
    except PaymentFailed as error:
        error.add_note("twice")
        made = error
    back = raised_again(made)
    assert type(back) is PaymentFailed
    assert (str(back), back.args, back.order, back.code) == (str(made), made.args, "A1", 402)
    assert back.__notes__ == ["twice"]
    assert type(back.__cause__) is KeyError
    assert back.__cause__.args == ("a1",)
    assert back.__suppress_context__
    assert type(through_bytes([made])[0]) is PaymentFailed


def thrown(code: str) -> BaseException:
    try:
        exec(code)
    except BaseException as error:  # noqa: BLE001 - that is what it is for
        return error
    raise AssertionError(code)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("open('/no/such/file')", ["errno", "strerror", "filename"]),
        ("raise OSError(2, 'plain')", ["errno", "strerror", "filename"]),
        ("b'\\xff'.decode()", ["encoding", "object", "start", "end", "reason"]),
        ("'\\ud800'.encode()", ["encoding", "object", "start", "end", "reason"]),
        ("import no_such_module", ["name", "path", "msg"]),
        ("import json; json.loads('{')", ["msg", "doc", "pos", "lineno", "colno"]),
        ("compile('x =', 'f.py', 'exec')", ["msg", "filename", "lineno", "offset", "text"]),
        ("raise SystemExit(3)", ["code"]),
        ("raise StopIteration({1: 2})", ["value"]),
        ("no_such_name", ["name"]),
        ("''.no", ["name", "obj"]),
        ("{}['k']", []),
        ("1/0", []),
        ("raise KeyboardInterrupt", []),
        ("raise TimeoutError", ["errno"]),
        ("raise ExceptionGroup('all', [ValueError(1), ExceptionGroup('in', [KeyError('k')])])", ["message"]),
    ],
)
def test_built_in_exceptions_come_back_whole(code: str, names: list[str]) -> None:
    made = thrown(code)
    back = raised_again(made)
    assert type(back) is type(made)
    assert (str(back), repr(back)) == (str(made), repr(made))
    assert [getattr(back, name) for name in names] == [getattr(made, name) for name in names]


def test_a_subclass_of_oserror_keeps_both_kinds_of_attributes() -> None:
    back = raised_again(DiskFull("/x"))
    assert type(back) is DiskFull
    assert (back.errno, back.filename, back.folder, str(back)) == (28, "/x", "/x", str(DiskFull("/x")))


def test_the_slots_of_an_exception_are_kept() -> None:
    assert raised_again(Slotted(5)).code == 5


def test_what_cannot_be_kept_of_an_exception_is_left_out_and_listed() -> None:
    made = PaymentFailed("A1", code=1, connection=threading.Lock())
    assert encode_error(made)["left_out"] == ["connection"]
    back = raised_again(made)
    assert back.code == 1
    assert not hasattr(back, "connection")


def test_an_exception_reads_the_same_without_what_was_left_out() -> None:
    made = NeedsItsConnection(types.SimpleNamespace(name="db"))
    back = raised_again(made)
    assert isinstance(back, NeedsItsConnection)
    assert type(back).__name__ == "NeedsItsConnection"
    assert str(back) == "lost db"
    assert str(raised_again(ValueError(Anything, 1))) == str(ValueError(Anything, 1))
    assert str(raised_again(ValueError(Anything))) == str(ValueError(Anything))


def test_an_exception_whose_class_is_gone_is_named() -> None:
    class Local(Exception):
        code = 0

    made = Local("no")
    made.code = 5
    back = raised_again(made)
    assert type(back) is ReplayedError
    assert "Local" in back.original
    assert "no" in str(back)
    assert vars(back)["code"] == 5


def test_a_validation_error_of_pydantic_comes_back() -> None:
    class Strict(pydantic.BaseModel):
        number: int
        word: str

        @pydantic.field_validator("word")
        @classmethod
        def refuse(cls, word: str) -> str:
            raise ValueError("not {this} word")

    with pytest.raises(pydantic.ValidationError) as failed:
        Strict.model_validate({"number": "x", "word": "y"})
    back = raised_again(failed.value)
    assert type(back) is pydantic.ValidationError
    assert str(back) == str(failed.value)
    assert [line["loc"] for line in back.errors()] == [("number",), ("word",)]


def test_an_http_error_keeps_its_response_without_secrets() -> None:
    request = httpx.Request("GET", "http://x.test/a", headers={"authorization": "secret-1"})
    headers = {"retry-after": "3", "set-cookie": "secret-2"}
    made = httpx.HTTPStatusError(
        "slow down", request=request, response=httpx.Response(429, json={"a": 1}, headers=headers, request=request)
    )
    assert b"secret" not in canonical_json(encode_error(made))
    back = raised_again(made)
    assert type(back) is httpx.HTTPStatusError
    assert (back.response.status_code, back.response.headers["retry-after"], back.response.json()) == (
        429,
        "3",
        {"a": 1},
    )
    assert (back.request.method, str(back.request.url)) == ("GET", "http://x.test/a")


def test_no_error_is_made_of_what_is_none() -> None:
    with pytest.raises(CannotRestore, match="holds a int"):
        decode_error(3)


def test_uuid_decimal_and_fraction_are_exact() -> None:
    value = [uuid.UUID(int=5), Decimal("1.10"), Fraction(1, 3), Decimal("sNaN")]
    assert repr(through_bytes(value)) == repr(value)


def test_a_class_of_the_program_that_says_it_is_the_standard_library_s_is_not_taken_for_that() -> None:
    own = type("Decimal", (), {"__module__": "decimal", "__str__": lambda _: "1"})
    with pytest.raises(NotFaithful):
        encode(own())


# --- a record is data: reading it runs no code that it names ----------------------------------------------------------


@pytest.fixture
def not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that leaves a file when it is imported, and an instance's class in it."""
    ran = tmp_path / "ran"
    (tmp_path / "side_effects.py").write_text(
        f"import dataclasses\nopen({str(ran)!r}, 'w').close()\n"
        "@dataclasses.dataclass\nclass Order:\n    id: int\n"
        "class Refused(ValueError):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "side_effects", raising=False)
    yield ran
    declare_modules(())
    sys.modules.pop("side_effects", None)


ORDER = {"$": "dataclass", "class": "side_effects:Order", "state": {"id": 5}, "unset": []}
REFUSED = {"$": "error", "class": "side_effects:Refused", "args": ["no"], "message": "no", "state": {}, "left_out": []}
NAMING = [
    ORDER,
    REFUSED,
    {"$": "enum", "class": "side_effects:Colour", "member": "RED"},
    {"$": "namedtuple", "class": "side_effects:Pair", "fields": [], "items": []},
    {"$": "model", "class": "side_effects:Model", "state": {}, "unset": []},
    {"$": "model", "class": {"origin": "side_effects:Model", "args": []}, "state": {}, "unset": []},
    {"$": "defaultdict", "factory": "side_effects:Order", "keys": [], "values": []},
    {**REFUSED, "class": "builtins:ValueError", "cause": REFUSED},
    [{"deep": [{"$": "tuple", "items": [ORDER]}]}],
]


@pytest.mark.parametrize("tree", NAMING, ids=lambda tree: str(tree)[:60])
def test_a_module_that_stands_in_a_record_is_not_imported(not_imported: Path, tree: Any) -> None:
    with pytest.raises(CannotRestore, match=r"import side_effects .*, or declare it, PLAYHEAD_RESTORABLE=side_effects"):
        decode(tree)
    assert not not_imported.exists()
    assert "side_effects" not in sys.modules


def test_a_module_that_was_declared_is_imported(not_imported: Path) -> None:
    declare_modules(["side_effects"])
    assert decode(ORDER).id == 5
    assert not_imported.exists()
    assert isinstance(decode_error(REFUSED), ValueError)


def test_a_module_below_a_declared_package_is_imported_and_no_other(not_imported: Path) -> None:
    declare_modules(["side", "side_effects.orders"])
    with pytest.raises(CannotRestore, match="declare it"):
        decode(ORDER)
    assert not not_imported.exists()


def test_a_class_of_a_module_that_the_program_has_imported_is_restored(not_imported: Path) -> None:
    importlib.import_module("side_effects")
    assert decode(ORDER).id == 5


def test_looking_for_a_name_asks_no_code_of_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    module = types.ModuleType("lazy_exports")
    module.__dict__["__getattr__"] = asked.append
    monkeypatch.setitem(sys.modules, "lazy_exports", module)
    with pytest.raises(CannotRestore, match="gone"):
        decode({**ORDER, "class": "lazy_exports:Order"})
    assert asked == []


@given(st.sampled_from(["antigravity", "this", "idlelib.run", "turtle", "test.support"]) | st.text(), st.text())
def test_whatever_name_stands_in_a_record_nothing_is_imported(module: str, name: str) -> None:
    before = set(sys.modules)
    with contextlib.suppress(CannotRestore):
        decode({**ORDER, "class": f"{module}:{name}"})
    assert set(sys.modules) == before


def test_an_error_whose_text_json_would_change_comes_back_with_that_text() -> None:
    raised = ValueError(JOINED)
    raised.code = {JOINED: JOINED}  # pyright: ignore[reportAttributeAccessIssue]
    back = raised_again(raised)
    assert (type(back), str(back), back.args, back.code) == (ValueError, JOINED, (JOINED,), {JOINED: JOINED})


def test_an_attribute_whose_name_json_would_change_is_left_out_of_an_error() -> None:
    raised = ValueError("x")
    setattr(raised, JOINED, 1)
    assert encode_error(raised)["left_out"] == [JOINED]
    with pytest.raises(NotFaithful):
        encode(raised)
