"""Arrays, tensors, tables and pictures: recorded by their bytes, given back as what they were, or refused clearly."""

import array
import base64
import copy
import ctypes
import io
import json
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from playhead.errors import CannotRestore, NotFaithful
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.objects import plain_tree
from playhead.model.objects.limits import NO_LIMITS, Cut, ValueLimits
from playhead.model.objects.masking import Mask
from playhead.model.objects.safe_json import bounded_json
from playhead.model.ref import ContentRef
from playhead.refs.faithful import decode, encode, restore_data
from playhead.refs.secrets import holds_secret

np: Any = pytest.importorskip("numpy")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")
pictures: Any = pytest.importorskip("PIL.Image")

LIMITS = ValueLimits(clock=lambda: 0.0)  # the time that a library takes at its first use is not measured here
MASK = Mask()
RNG = np.random.default_rng(7)


class Contents:
    """Bytes that are contents of their own."""

    def __init__(self) -> None:
        self.kept: dict[ContentRef, bytes] = {}

    def keep(self, data: bytes) -> ContentRef:
        ref = ContentRef.of(data)
        self.kept[ref] = data
        return ref

    def fetch(self, ref: ContentRef) -> bytes | None:
        return self.kept.get(ref)


def shown(value: Any, contents: Contents | None = None) -> tuple[dict[str, Any], Cut | None]:
    data, cut = bounded_json(value, MASK, LIMITS, contents.keep if contents else None)
    return parse_json(data)["$array"], cut


def round_trip(value: Any) -> Any:
    contents = Contents()
    tree = json.loads(canonical_json(encode(value, LIMITS, contents.keep)))
    return decode(tree, fetch=contents.fetch)


STRUCTURED = np.dtype([("a", "<i4"), ("b", "<f8", (2,)), ("c", [("d", "S3")])])

NUMPY: dict[str, Any] = {
    "bytes": RNG.integers(0, 255, (5, 4, 3), dtype=np.uint8),
    "a picture": RNG.integers(0, 255, (224, 224, 3), dtype=np.uint8),
    "floats": RNG.random((3, 4)),
    "big-endian": np.arange(5, dtype=">f4"),
    "halves": np.arange(5, dtype="<f2"),
    "complex": np.array([1 + 2j]),
    "truth": np.array([[True], [False]]),
    "texts": np.array(["a", "längere"]),
    "byte texts": np.array([b"a", b"bc"]),
    "times": np.array(["2026-01-02", "NaT"], dtype="datetime64[ns]"),
    "spans": np.array([1, 2], dtype="timedelta64[s]"),
    "nothing": np.zeros((0, 3)),
    "no dimension": np.array(5.5),
    "not a number": np.array([np.nan, np.inf]),
    "columns first": np.asfortranarray(RNG.random((3, 4))),
    "every second": RNG.random((6, 6))[::2, ::-1],
    "one value everywhere": np.broadcast_to(np.int16(3), (4, 4)),
    "structured": np.zeros(3, dtype=STRUCTURED),
    "objects": np.array([["a", None], [1, [2, {"b": 1}]]], dtype=object),
}


@pytest.mark.parametrize("name", NUMPY)
def test_arrays_of_numpy_come_back(name: str):
    given = NUMPY[name]
    back = round_trip([given])[0]
    assert type(back) is np.ndarray
    assert (back.dtype, back.shape) == (given.dtype, given.shape)
    np.testing.assert_array_equal(back, given)
    assert back.flags.writeable is given.flags.writeable


@pytest.mark.parametrize(
    "given", [np.float64(1.5), np.float32(0.1), np.int8(-3), np.bool_(True), np.datetime64("2026-01-02"), np.str_("a")]
)
def test_elements_of_arrays_come_back(given: Any):
    back = round_trip((given,))[0]
    assert type(back) is type(given)
    assert back == given


def test_elements_of_arrays_are_recorded_as_python_s_values():
    given = {"a": np.float64(1.5), "b": np.int8(3), "c": np.bool_(True), "d": np.str_("x"), "e": np.float32(0.5)}
    assert parse_json(canonical_json(given)) == {"a": 1.5, "b": 3, "c": True, "d": "x", "e": 0.5}
    assert "$repr" in parse_json(canonical_json(np.longdouble(1)))


class Matrix(np.ndarray):
    """A class of the program's."""

    def tobytes(self, *_: Any) -> bytes:
        raise AssertionError("the program's code is not called")

    @property
    def dtype(self) -> Any:
        raise AssertionError("the program's code is not called")


def test_an_array_of_a_class_of_the_program_is_recorded_and_not_given_back():
    given = np.arange(3).view(Matrix)
    about, cut = shown(given)
    assert (about["type"], about["first"], cut) == (f"{__name__}.Matrix", [0, 1, 2], None)
    for value in (given, np.ma.masked_array([1, 2], [0, 1])):
        with pytest.raises(NotFaithful, match="cannot be rebuilt from data"):
            encode(value)


def test_large_elements_are_a_content_of_their_own():
    contents, picture = Contents(), NUMPY["a picture"]
    about, cut = shown(picture, contents)
    assert cut is None
    assert about | {"first": []} == {
        "type": "numpy.ndarray",
        "dtype": "|u1",
        "shape": [224, 224, 3],
        "first": [],
        "bytes": 150_528,
        "ref": str(ContentRef.of(picture.tobytes())),
    }
    tree = canonical_json(encode(picture, LIMITS, contents.keep))
    assert len(tree) < 1_000
    assert len(contents.kept) == 1


def test_small_elements_stand_in_the_value():
    assert base64.b64decode(shown(np.arange(3, dtype="<i8"))[0]["base64"]) == np.arange(3, dtype="<i8").tobytes()


def test_elements_that_are_not_at_hand_are_not_made_up():
    contents = Contents()
    tree = encode(NUMPY["a picture"], LIMITS, contents.keep)
    with pytest.raises(CannotRestore, match="not at hand"):
        decode(tree)
    with pytest.raises(CannotRestore, match="not at hand"):
        decode(tree, fetch=lambda _: b'{"$playhead": "journal full"}')


@pytest.mark.parametrize(
    "damage",
    [
        {"about": {"dtype": "<f8", "shape": [10**9]}},
        {"about": {"dtype": "|O", "shape": [3]}},
        {"about": {"dtype": "no such type", "shape": [3]}},
        {"about": {"dtype": [["a", "|O"]], "shape": [3]}},
        {"family": "other"},
        {"data": {"base64": "!"}},
        {"data": {}},
    ],
)
def test_a_damaged_record_is_refused(damage: dict[str, Any]):
    tree = encode(np.arange(3.0)) | damage
    with pytest.raises(CannotRestore):
        decode(tree)


# --- what is larger than the limit ------------------------------------------------------------------------------------

LARGE: dict[str, Callable[[], Any]] = {
    "a million numbers": lambda: np.arange(1_000_000.0),
    "a frame of a film": lambda: np.zeros((1080, 1920, 3), dtype=np.uint8),
    "not in order": lambda: np.arange(1_000_000.0).reshape(1000, 1000).T,
    "one value, 8 TB of it": lambda: np.broadcast_to(np.float64(1), (10**6, 10**6)),
    "one element": lambda: np.zeros(1, dtype="S2000000"),
    "Python's": lambda: array.array("d", range(200_000)),
    "ctypes": ctypes.c_double * 200_000,
    "a picture": lambda: pictures.new("RGB", (1920, 1080)),
    "a table of pandas": lambda: pd.DataFrame({"a": np.arange(400_000), "b": np.arange(400_000.0)}),
    "a series": lambda: pd.Series(np.arange(400_000)),
    "a table of polars": lambda: pl.DataFrame({"a": np.arange(400_000)}),
    "a table of arrow": lambda: pa.table({"a": np.arange(400_000)}),
}


@pytest.mark.parametrize("name", LARGE)
def test_of_a_large_array_a_sample_is_recorded(name: str):
    about, cut = shown(LARGE[name]())
    assert cut == "size"
    assert len(canonical_json(about)) < 3_000
    with pytest.raises(NotFaithful):
        encode(LARGE[name](), LIMITS)
    assert shown(LARGE[name]()) == (about, cut)


def test_two_large_arrays_that_differ_are_told_apart():
    for place in (0, 500_000, 999_999):
        changed = np.arange(1_000_000.0)
        changed[max(0, place - 200) : place + 200] = -1
        assert shown(changed) != shown(np.arange(1_000_000.0))
    picture = pictures.new("RGB", (1920, 1080))
    picture.paste((9, 9, 9), (0, 0, 400, 400))
    assert shown(picture) != shown(pictures.new("RGB", (1920, 1080)))


def test_without_limits_it_is_recorded_whole():
    contents = Contents()
    data, cut = bounded_json(np.arange(1_000_000.0), MASK, NO_LIMITS, contents.keep)
    assert (parse_json(data)["$array"]["bytes"], cut) == (8_000_000, None)


def test_objects_in_an_array_count_as_those_in_a_list():
    about, cut = shown(np.array(["x"] * 100_000, dtype=object))
    assert (len(about["items"]), cut) == (41, "size")


# --- tables -----------------------------------------------------------------------------------------------------------

FRAMES: dict[str, Any] = {
    "numbers": pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan], "c": [True, False]}),
    "texts": pd.DataFrame({"a": ["x", None], "b": ["y", "z"]}),
    "objects": pd.DataFrame({"a": pd.Series([1, "a", None, [1]], dtype=object)}),
    "times": pd.DataFrame({"a": pd.to_datetime(["2026-01-02", None])}),
    "an index of texts": pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="key")),
    "an index of numbers": pd.DataFrame({"a": [1, 2]}, index=[5, 7]),
    "names that are numbers": pd.DataFrame([[1, 2], [3, 4]]),
    "a name twice": pd.DataFrame([[1, 2.5]], columns=["a", "a"]),
    "nothing": pd.DataFrame(),
    "no rows": pd.DataFrame({"a": pd.Series([], dtype="int64")}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_tables_of_pandas_come_back(name: str):
    back = round_trip(FRAMES[name])
    pd.testing.assert_frame_equal(back, FRAMES[name], check_freq=True, check_flags=True)


@pytest.mark.parametrize(
    "given", [pd.Series([1, 2], name="s"), pd.Series(["a", None]), pd.Series([1.5], index=["x"], name=("a", 1))]
)
def test_series_of_pandas_come_back(given: Any):
    pd.testing.assert_series_equal(round_trip(given), given)


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"a": pd.Categorical(["x", "y"])}),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"a": pd.date_range("2026", periods=2, tz="Europe/Zurich")}),
        pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_tuples([("x", 1)])),
        pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2026", periods=2)),
    ],
)
def test_tables_of_pandas_that_are_more_are_recorded_and_refused(given: Any):
    about, cut = shown(given)
    assert (about["shape"], cut) == ([*given.shape], None)
    with pytest.raises(NotFaithful, match="cannot be rebuilt from data"):
        encode(given)


def test_attributes_of_a_table_are_no_secret_part_of_it():
    given = pd.DataFrame({"a": [1]})
    given.attrs["more"] = object()
    with pytest.raises(NotFaithful, match="cannot be rebuilt from data"):
        encode(given)


def test_a_wide_table_is_described_by_its_columns():
    about, cut = shown(pd.DataFrame(np.zeros((3, 5_000))))
    assert (about["shape"], cut) == ([3, 5_000], "size")


def test_columns_that_are_called_like_secrets_are_masked():
    given = pd.DataFrame({"name": ["a"], "password": ["hunter2"]})
    text = json.dumps(shown(given)[0])
    assert "hunter2" not in text
    assert holds_secret(encode(given), MASK)
    assert not holds_secret(encode(pd.DataFrame({"name": ["a"]})), MASK)


POLARS: dict[str, Any] = {
    "a table": pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": [[1, 2], []], "d": [{"e": 1}, None]}),
    "an enumeration": pl.DataFrame({"a": pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"]))}),
    "a series": pl.Series("s", [1.5, None]),
    "nothing": pl.DataFrame(),
}


@pytest.mark.parametrize("name", POLARS)
def test_tables_of_polars_come_back(name: str):
    back, given = round_trip(POLARS[name]), POLARS[name]
    assert type(back) is type(given)
    assert back.equals(given, null_equal=True)
    if isinstance(given, pl.DataFrame):
        assert back.schema == given.schema
    else:
        assert (back.name, back.dtype) == (given.name, given.dtype)


@pytest.mark.parametrize(
    "given",
    [
        pa.table({"a": [1, None], "b": ["x", "y"]}),
        pa.table({"a": [1, 2, 3]}).slice(1, 1),
        pa.RecordBatch.from_pylist([{"a": 1}]),
        pa.RecordBatch.from_pylist([], schema=pa.schema([("a", pa.int64())])),
    ],
)
def test_tables_of_arrow_come_back(given: Any):
    back = round_trip(given)
    assert type(back) is type(given)
    assert back.equals(given)


def test_the_first_rows_are_shown():
    assert shown(pl.DataFrame({"a": range(9)}))[0]["first"] == [[0], [1], [2], [3], [4]]
    assert shown(pa.table({"a": [1]}))[0]["first"] == [{"a": 1}]


# --- what would take long ---------------------------------------------------------------------------------------------

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("extension", "make"),
    [
        ("IntervalArray", lambda: pd.Series(pd.interval_range(0, 50_000))),
        ("IntervalArray", lambda: pd.Series(np.zeros(50_000), index=pd.interval_range(0, 50_000))),
        ("Categorical", lambda: pd.Series(pd.Categorical(np.arange(60_000)))),
        ("SparseArray", lambda: pd.Series(pd.arrays.SparseArray([0, 1] * 30_000))),
        ("DatetimeArray", lambda: pd.Series(pd.date_range("2026", periods=60_000, tz="UTC"))),
    ],
)
def test_of_a_long_column_only_what_is_shown_is_converted(
    extension: str, make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
):
    value, kind = make(), getattr(pd.arrays, extension, None) or getattr(pd, extension)
    converted: list[int] = []
    own = kind.__iter__

    def counted(self: Any) -> Any:
        converted.append(len(self))
        return own(self)

    monkeypatch.setattr(kind, "__iter__", counted)
    about, cut = shown(value)
    assert cut == "size"
    assert max(converted) <= 40
    assert any(len(part.get("items", ())) == 41 for part in [*about["columns"], *about["index"]])


def test_of_short_columns_all_is_shown():
    assert shown(pd.Series(pd.Categorical(["x", "y"])))[0]["columns"][0]["items"] == ["x", "y"]
    assert len(shown(pd.Series(pd.interval_range(0, 100)))[0]["columns"][0]["items"]) == 100
    assert shown(pd.Series(["x", None]))[0]["columns"][0]["items"] == ["x", {"$float": "nan"}]
    assert shown(pd.Series([[1, 2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))))[0]["columns"][0]["items"] == [[1, 2]]


def left_out(kind: str, items: int) -> dict[str, Any]:
    return {"$cut": {"why": "size", "type": kind, "items": items}}


LONG = list(range(MILLION))


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (lambda: pl.DataFrame({"n": range(6), "a": [LONG, *[[]] * 5]}), [0, left_out("List(Int64)", MILLION)]),
        (lambda: pl.Series(["x" * MILLION] * 6), [left_out("String", MILLION)]),
        (lambda: pl.DataFrame({"a": [LONG]}), None),
        (lambda: pl.DataFrame({"a": [[None] * MILLION]}), [left_out("List(Null)", MILLION)]),
        (lambda: pa.table({"n": [1], "a": [LONG]}), {"n": 1, "a": left_out("list<item: int64>", MILLION)}),
        (lambda: pa.table({"a": ["x" * MILLION]}), None),
    ],
)
def test_cells_that_are_large_are_described(make: Callable[[], Any], first: Any):
    about = shown(make())[0]
    if first is not None:
        assert about["first"][0] == first
    assert len(json.dumps(about.get("first"))) < 500


def test_small_lists_in_cells_are_shown():
    assert shown(pl.DataFrame({"a": [[1, 2], None], "b": [{"c": "x"}, None]}))[0]["first"] == [
        [[1, 2], {"c": "x"}],
        [None, None],
    ]
    given = [{"a": [1, 2], "b": {"c": "x"}}, {"a": None, "b": None}]
    assert shown(pa.Table.from_pylist(given))[0]["first"] == given
    assert shown(pa.Table.from_pylist(given * 3).slice(1, 2))[0]["first"] == [given[1], given[0]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: pl.DataFrame({f"c{number}": [1] for number in range(5_000)}),
        lambda: pa.table({f"c{number}": [1] for number in range(5_000)}),
        lambda: pa.RecordBatch.from_pydict({f"c{number}": [1] for number in range(5_000)}),
    ],
)
def test_of_wide_tables_some_columns_are_shown(make: Callable[[], Any]):
    about, cut = shown(make())
    assert (about["shape"], cut, len(about["columns"]), len(about["first"][0])) == ([1, 5_000], "size", 100, 100)


def test_a_table_in_many_chunks_is_described():
    about, cut = shown(pa.table({"a": pa.chunked_array([[1]] * 5_000)}))
    assert (about["shape"], cut, about["first"]) == ([5_000, 1], "size", [{"a": 1}] * 5)
    assert shown(pa.table({"a": pa.chunked_array([[1]] * 5)}))[1] is None


def test_a_value_of_arrow_that_is_a_long_list_is_described_by_its_type():
    data, cut = bounded_json([pa.scalar(LONG), pa.scalar("x" * 50_000_000), pa.scalar([1])], MASK, LIMITS)
    long, text, short = parse_json(data)
    assert [long["$cut"]["type"], text["$cut"]["type"]] == ["pyarrow.lib.ListScalar", "pyarrow.lib.StringScalar"]
    assert (short, cut) == ({"$repr": "<pyarrow.ListScalar: [1]>", "$type": "pyarrow.lib.ListScalar"}, "size")


def test_element_types_of_very_many_fields_are_described_by_some():
    many = np.dtype([(f"f{number}", "i4") for number in range(5_000)])
    inside = np.dtype([("a", many), ("b", "i4")])
    for dtype in (many, inside):
        about, cut = shown(np.zeros(3, dtype=dtype))
        assert (about["dtype"], cut) == (dtype.str, "size")
        assert about["fields"][0] == dtype.names[0]
        assert len(about["fields"]) <= 100
        with pytest.raises(NotFaithful):
            encode(np.zeros(3, dtype=dtype), LIMITS)
    few = np.zeros(1, dtype=[(f"f{number}", "i4") for number in range(50)])
    assert (round_trip(few).dtype, shown(few)[1]) == (few.dtype, None)


def test_the_arrays_of_a_value_have_one_budget():
    contents = Contents()
    arrays = [np.full(2**20, number % 250, dtype=np.uint8) for number in range(40)]
    data, cut = bounded_json(arrays, MASK, LIMITS, contents.keep)
    recorded = [item["$array"] for item in parse_json(data)]
    assert (cut, len(recorded), len(contents.kept)) == ("size", 40, 3)
    assert recorded[-1] == {"type": "numpy.ndarray", "dtype": "uint8", "shape": [2**20], "device": "cpu"}
    with pytest.raises(NotFaithful, match="larger than what is recorded"):
        encode(arrays, LIMITS, contents.keep)
    assert bounded_json(arrays[:3], MASK, LIMITS, contents.keep)[1] is None


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_tables_weigh_what_reading_them_takes(make: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    own = plain_tree.read_array

    def counted(value: Any, family: str, room: Any) -> Any:
        read.append(family)
        return own(value, family, room)

    monkeypatch.setattr(plain_tree, "read_array", counted)
    assert bounded_json([make({"a": [1, 2], "b": ["x", "y"]}) for _ in range(300)], MASK, LIMITS)[1] == "size"
    assert len(read) < 50
    assert bounded_json([make({"a": [1, 2], "b": ["x", "y"]}) for _ in range(10)], MASK, LIMITS)[1] is None


# --- pictures, and Python's own ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["1", "L", "LA", "RGB", "RGBA", "CMYK", "I", "F", "YCbCr", "HSV", "I;16"])
def test_pictures_come_back(mode: str):
    given = pictures.new(mode, (5, 3))
    given.putpixel((1, 1), 1 if len(given.getbands()) == 1 else (1,) * len(given.getbands()))
    back = round_trip(given)
    assert type(back) is pictures.Image
    assert back == given


def test_a_picture_of_a_file_is_not_read_for_us():
    written = io.BytesIO()
    pictures.new("RGB", (20, 10)).save(written, "png")
    picture: Any = pictures.open(written)
    about, _ = shown(picture)
    assert about == {"type": "PIL.PngImagePlugin.PngImageFile", "mode": "RGB", "size": [20, 10]}
    assert picture.tile
    picture.load()
    assert "base64" in shown(picture)[0]
    with pytest.raises(NotFaithful, match="cannot be rebuilt from data"):
        encode(picture)  # it is of another class than what could be made


@pytest.mark.parametrize("code", ["b", "H", "i", "Q", "f", "d"])
def test_arrays_of_python_come_back(code: str):
    given = array.array(code, [1, 2, 3])
    back = round_trip(given)
    assert (back, back.typecode) == (given, code)


def test_arrays_of_another_machine_come_back():
    tree = copy.deepcopy(encode(array.array("i", [1, 2])))
    tree["about"]["order"] = "big" if sys.byteorder == "little" else "little"
    tree["data"] = {"base64": base64.b64encode(array.array("i", [1 << 24, 2 << 24]).tobytes()).decode()}
    assert decode(tree) == array.array("i", [1, 2])
    tree["about"]["width"] = 8
    with pytest.raises(CannotRestore, match="another size"):
        decode(tree)


def test_what_has_a_buffer_is_recorded_by_it():
    about, _ = shown((ctypes.c_int32 * 2)(1, 2))
    assert (about["shape"], base64.b64decode(about["base64"])) == ([2], array.array("i", [1, 2]).tobytes())


# --- what is not looked at --------------------------------------------------------------------------------------------


def made_by(module: str, name: str, **attributes: Any) -> Any:
    """An instance of a class that a library would have."""
    kind = type(name, (), {"__module__": module, **attributes})
    return kind()


def refuse(*_: Any) -> Any:
    raise AssertionError("it may take any time")


@pytest.mark.parametrize(
    ("module", "name"),
    [("jaxlib._jax", "ArrayImpl"), ("cupy", "ndarray"), ("tensorflow.python.framework.ops", "EagerTensor")],
)
def test_what_is_elsewhere_is_described_by_its_shape(module: str, name: str):
    value = made_by(module, name, shape=(2, 3), dtype="float32", __array__=refuse, __repr__=refuse, __len__=refuse)
    assert shown(value)[0] == {"type": f"{module}.{name}", "shape": [2, 3], "dtype": "float32"}
    with pytest.raises(NotFaithful):
        encode(value)


@pytest.mark.parametrize("protocol", ["__array_interface__", "__dlpack__", "__cuda_array_interface__"])
def test_arrays_of_unknown_libraries_are_known_by_their_protocol(protocol: str):
    value = made_by("mine", "Tensor", shape=(2,), dtype="f4", __repr__=refuse, **{protocol: property(refuse)})
    assert shown(value)[0] == {"type": "mine.Tensor", "shape": [2], "dtype": "f4"}


def test_an_array_that_cannot_be_read_is_described():
    value = made_by("jax", "Array", shape=property(refuse), dtype="f4")
    assert shown(value)[0] == {"type": "jax.Array", "dtype": "f4"}


def test_an_empty_module_of_that_name_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert shown(made_by("torch", "Tensor", shape=(1,), dtype="f4"))[0]["shape"] == [1]


def test_tensors_of_torch_come_back():
    torch: Any = pytest.importorskip("torch")
    given = [
        torch.arange(6.0).reshape(2, 3),
        torch.arange(6, dtype=torch.bfloat16),
        torch.tensor(5),
        torch.zeros(0, 3),
        torch.arange(6.0).reshape(2, 3).T,
        torch.tensor([True]),
        torch.tensor([1 + 2j]).conj(),
        torch.ones(3, requires_grad=True),
    ]
    for tensor, back in zip(given, round_trip(given), strict=True):
        assert (type(back), back.dtype, back.requires_grad) == (torch.Tensor, tensor.dtype, tensor.requires_grad)
        assert torch.equal(back, tensor)
    about, cut = shown(torch.zeros(1_000, 1_000))
    assert (about["shape"], about["bytes"], cut) == ([1_000, 1_000], 4_000_000, "size")
    assert shown(torch.zeros(1_000, 1_000).T)[1] == "size"
    for other in (torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True) * 2, torch.ones(2).to_sparse()):
        with pytest.raises(NotFaithful):
            encode(other)
    assert shown(torch.zeros(2, device="meta"))[0] == {
        "type": "torch.Tensor",
        "dtype": "torch.float32",
        "shape": [2],
        "device": "meta",
    }


def test_what_is_kept_beside_an_array_is_only_what_is_needed():
    contents = Contents()
    kept = restore_data({"a": NUMPY["a picture"], "b": 1}, LIMITS, contents.keep)
    assert len(canonical_json(kept)) < 1_000
