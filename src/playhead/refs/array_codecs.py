"""Arrays, tensors, tables and pictures <-> tagged JSON. See `faithful.py`, and `model/objects/arrays.py`.

Elements are kept as bytes, which become a content of their own if they are many. The rebuilt array is equal, with the
same type, shape and element type; its memory layout may differ. Libraries are imported only by names in this module,
never by a name in a record.
"""

import array
import base64
import importlib
import io
import math
import sys
from collections.abc import Callable
from typing import Any, cast

from playhead.errors import CannotRestore, NotFaithful
from playhead.model.objects.arrays import ARRAY_ELEMENTS, ArrayForm, as_dtype, family_of, read_array, reading_weight
from playhead.model.objects.infrastructure import listed_as
from playhead.model.objects.limits import CUT_SENTENCES
from playhead.model.objects.plain_forms import class_of, type_name
from playhead.refs.value_codecs import Decoding, Encoding, Tree, encoded_items, tagged


def array_tree(value: object, inner: Encoding) -> Tree | None:
    """Returns the tree of an array, or of an element of one; None for any other value. Raises NotFaithful."""
    kind = class_of(value)
    if listed_as(kind, ARRAY_ELEMENTS):
        return _element_tree(value)
    family = family_of(kind)
    if family is None:
        return None
    inner.take(reading_weight(value, family))
    form = read_array(value, family, inner.array_room)
    if form.is_cut:
        raise NotFaithful(CUT_SENTENCES["size"])
    if not form.is_exact:
        raise NotFaithful(
            f"a {type_name(value)} of this kind cannot be rebuilt from data; plain arrays, tensors, tables and "
            "pictures can be"
        )
    return tagged("array", family=family, **_form_tree(form, inner))


def _form_tree(form: ArrayForm, inner: Encoding) -> Tree:
    tree: Tree = {"about": form.about, "name": inner(form.name)}
    if form.data is not None:
        tree["data"] = inner.kept(form.data)
    elif form.items is not None:
        inner.take(form.count)
        tree["items"] = encoded_items(form.items(form.count), inner)
    return tree | {name: [_form_tree(part, inner) for part in parts] for name, parts in form.parts.items()}


def _element_tree(value: Any) -> Tree:
    dtype = value.dtype
    if dtype.fields is not None or dtype.hasobject:
        raise NotFaithful(f"a {type_name(value)} with fields cannot be rebuilt from data")
    return tagged("array element", dtype=dtype.str, base64=base64.b64encode(value.tobytes()).decode())


# --- back -------------------------------------------------------------------------------------------------------------


def _library(name: str) -> Any:
    try:
        return sys.modules.get(name) or importlib.import_module(name)
    except ImportError as error:
        raise CannotRestore(f"a recorded value needs {name}, which cannot be imported here ({error})") from error


def _to_array(tree: Tree, inner: Decoding) -> Any:
    made = _MADE.get(tree["family"])
    if made is None:
        raise CannotRestore(
            f"a recorded array is of the unknown family {tree['family']!r}; it may be of a newer version"
        )
    return made(tree, inner)


def _to_element(tree: Tree, _: Decoding) -> Any:
    numpy = _library("numpy")
    return numpy.frombuffer(base64.b64decode(tree["base64"], validate=True), _dtype(numpy, tree["dtype"]))[0]


def _dtype(numpy: Any, text: Any) -> Any:
    dtype = numpy.dtype(as_dtype(text))
    if dtype.hasobject:
        raise CannotRestore("a recorded array is damaged: its elements are no objects")
    return dtype


def _numpy(tree: Tree, inner: Decoding) -> Any:
    numpy, about = _library("numpy"), tree["about"]
    shape, order = tuple(about["shape"]), about.get("order", "C")
    if "items" in tree:
        flat = _objects(numpy, [*map(inner, tree["items"])])
    else:
        flat = numpy.frombuffer(inner.bytes_of(tree["data"]), _dtype(numpy, about["dtype"]))
    made = flat.reshape(shape, order=order).copy(order=order)
    made.flags.writeable = not about.get("read_only", False)
    return made


def _objects(numpy: Any, items: list[Any]) -> Any:
    made = numpy.empty(len(items), dtype=object)
    for place, item in enumerate(items):  # one by one: numpy would make more dimensions of lists
        made[place] = item
    return made


def _python_array(tree: Tree, inner: Decoding) -> Any:
    about = tree["about"]
    if about["dtype"] not in array.typecodes:
        raise CannotRestore(f"Python has no array of {about['dtype']!r} here")
    made = cast(Any, array).array(about["dtype"])
    if made.itemsize != about["width"]:
        raise CannotRestore(f"an array of {about['dtype']!r} has elements of another size on this machine")
    made.frombytes(inner.bytes_of(tree["data"]))
    if about["order"] != sys.byteorder:
        made.byteswap()
    return made


def _torch(tree: Tree, inner: Decoding) -> Any:
    torch, about = _library("torch"), tree["about"]
    dtype = getattr(torch, str(about["dtype"]).removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise CannotRestore(f"torch has no elements of the type {about['dtype']!r}")
    data = inner.bytes_of(tree["data"])
    flat = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
    made = flat.reshape(about["shape"]).clone()
    return made.requires_grad_() if about.get("requires_grad") else made


def _picture(tree: Tree, inner: Decoding) -> Any:
    about = tree["about"]
    return _library("PIL.Image").frombytes(about["mode"], tuple(about["size"]), inner.bytes_of(tree["data"]))


def _polars(tree: Tree, inner: Decoding) -> Any:
    frame = _library("polars").read_ipc(io.BytesIO(inner.bytes_of(tree["data"])))
    return frame.to_series() if tree["about"]["type"].endswith(".Series") else frame


def _arrow(tree: Tree, inner: Decoding) -> Any:
    arrow = _library("pyarrow")
    with arrow.ipc.open_stream(inner.bytes_of(tree["data"])) as stream:
        made = stream.read_all()
        made.validate(full=True)
        if tree["about"]["type"].endswith(".Table"):
            return made
        batches = made.to_batches()
        return batches[0] if batches else arrow.RecordBatch.from_pylist([], schema=made.schema)


def _frame(tree: Tree, inner: Decoding) -> Any:
    pandas = _library("pandas")
    index = _index(pandas, tree["index"][0], inner)
    columns = {number: _elements(pandas, part, inner) for number, part in enumerate(tree["columns"])}
    made = pandas.DataFrame({number: pandas.Series(column, index=index) for number, column in columns.items()}, index)
    made.columns = _index(pandas, tree["names"][0], inner)
    return made


def _series(tree: Tree, inner: Decoding) -> Any:
    pandas = _library("pandas")
    [part] = tree["columns"]
    index = _index(pandas, tree["index"][0], inner)
    return pandas.Series(_elements(pandas, part, inner), index=index, name=inner(part["name"]))


def _index(pandas: Any, part: Tree, inner: Decoding) -> Any:
    name = inner(part["name"])
    if part["about"]["dtype"] == "range":
        return pandas.RangeIndex(*part["about"]["range"], name=name)
    return pandas.Index(_elements(pandas, part, inner), name=name)


def _elements(pandas: Any, part: Tree, inner: Decoding) -> Any:
    about = part["about"]
    if "data" in part:
        return _numpy(part, inner)
    items = [*map(inner, part["items"])]
    if about["dtype"] == "str":
        kind = pandas.StringDtype(about["storage"], na_value=math.nan)
        return pandas.array([item if type(item) is str else None for item in items], dtype=kind)
    return pandas.Series(_objects(_library("numpy"), items), dtype=object).array


_MADE: dict[str, Callable[[Tree, Decoding], Any]] = {
    "array": _python_array,
    "arrow": _arrow,
    "frame": _frame,
    "numpy": _numpy,
    "picture": _picture,
    "polars": _polars,
    "series": _series,
    "torch": _torch,
}

ARRAY_DECODERS: dict[str, Callable[[Tree, Any], Any]] = {"array": _to_array, "array element": _to_element}
