"""Arrays, tensors, tables and pictures: what is recorded of them, in time that does not grow with their elements.

Their elements are taken as the bytes that they are in memory, with their type and shape; above a limit of bytes, a
sample is.  What is on another device, not computed yet or in a file is described by its type and shape alone.  The
libraries are those that the program has loaded: nothing is imported.
"""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from playhead.model.digest import sha256
from playhead.model.objects.infrastructure import listed_as
from playhead.model.objects.plain_forms import class_of, type_name

_FAMILIES = {
    "_ctypes": {"Array": "buffer", "Structure": "buffer", "Union": "buffer"},
    "array": {"array": "array"},
    "numpy": {"ndarray": "numpy"},
    "pandas": {"DataFrame": "frame", "Series": "series", "Index": "shape", "ExtensionArray": "shape"},
    "PIL.Image": {"Image": "picture"},
    "polars": {"DataFrame": "polars", "Series": "polars"},
    "pyarrow": {"Table": "arrow", "RecordBatch": "arrow", "Array": "shape", "ChunkedArray": "shape"},
    "torch": {"Tensor": "torch"},
    "cudf": {"DataFrame": "shape", "Series": "shape"},
    "cupy": {"ndarray": "shape"},
    "jax": {"Array": "shape", "Tracer": "shape"},
    "jaxlib": {"ArrayImpl": "shape"},
    "mlx.core": {"array": "shape"},
    "scipy.sparse": {"spmatrix": "shape", "_spbase": "shape"},
    "tensorflow": {"EagerTensor": "shape", "Tensor": "shape", "Variable": "shape"},
    "xarray": {"DataArray": "shape", "Dataset": "shape"},
}
ARRAY_ELEMENTS = {"numpy": {"generic": True}}
"""Classes of single elements, as `listed_as` takes them: Python's numbers and texts, in types of the library's own."""
ARROW_CELLS = {"pyarrow": {"Scalar": True}}
"""Classes of single values of Arrow, which may be lists, as `listed_as` takes them."""
_PROTOCOLS = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
# Of elements that are not recorded: so many bytes are looked at, evenly spread, and so many elements are shown.
_SAMPLE_BYTES = 64 * 1024
_SHOWN = 5
# Reading one column takes about 50 us, whatever is in it.
_MOST_COLUMNS = 30
_MOST_NAMES = 100
_MOST_CHUNKS = 500
_MOST_TYPE_TEXT = 2_000
# Of the first rows, so many bytes are shown; an element of a list in a cell counts as some.
_MOST_SHOWN_BYTES = 256 * 1024
_MOST_BYTES_OF_NESTED = 2**22
_MOST_BYTES_OF_FIRST = 2**20
_ELEMENT_BYTES = 16
_MOST_CELL_BYTES = 2**20
# The arrays of one value together: so many times what one may have.  A sample takes as long as some bytes do; bytes
# that are written into the value take longer than those that are a content of their own.
_ALL_ARRAYS = 3
_SAMPLE_COST = 512 * 1024
_FEW_BYTES = 16 * 1024
_FEW_COST = 4
# Of `limits.py`'s units of weight, what the libraries take for a table, a column of one, a field of an element type.
_TABLE_WEIGHTS = {"polars": (2_000, 10), "arrow": (800, 10), "frame": (1_000, 80), "series": (250, 0)}
_FIELD_WEIGHT = 60
_BUFFERED = "biufcmMSUV"  # kinds of numpy's element types whose bytes are all that they are


def family_of(kind: Any) -> str | None:
    """Which of the functions below reads instances of this class; None: they are no arrays."""
    family = listed_as(kind, _FAMILIES)
    if family is None and any(hasattr(kind, name) for name in _PROTOCOLS) and not listed_as(kind, ARRAY_ELEMENTS):
        return "shape"
    return family


@dataclass(slots=True)
class ArrayForm:
    """What is recorded of an array.  `about` are plain values: its type, and the type and number of its elements."""

    about: dict[str, Any]
    data: bytes | None = None
    """The elements' bytes; None: they are given otherwise, or not recorded."""
    first: Iterable[Any] = ()
    """The first elements, for whoever looks at it."""
    items: Callable[[int], Iterable[Any]] | None = None
    """Gives the first so many elements, where they are objects of the program; no others are converted."""
    count: int = 0
    """How many there are."""
    are_objects: bool = False
    """Whether each of these is an object that has to be made."""
    kept: dict[str, Any] | None = None
    """What stands for the bytes, once they are a content of their own."""
    name: Any = None
    """Of a column."""
    parts: "dict[str, list[ArrayForm]]" = field(default_factory=dict[str, "list[ArrayForm]"])
    """Index and columns of a table."""
    is_exact: bool = False
    """Whether an equal object of the same type can be made of this."""
    is_cut: bool = False
    """Whether it is a sample."""

    def all_parts(self) -> "Iterator[ArrayForm]":
        """This one, and those in it."""
        yield self
        for parts in self.parts.values():
            yield from parts


class ArrayRoom:
    """How many bytes of arrays are read for one value: of each array up to a number of bytes, and of all together some
    times as many.  None: any number."""

    def __init__(self, most_bytes: int | None):
        self.most = sys.maxsize if most_bytes is None else most_bytes
        self.left = self.most * _ALL_ARRAYS

    def take(self, form: ArrayForm) -> None:
        """Notes what was read."""
        for part in form.all_parts():
            if part.data is not None:
                self.left -= len(part.data) * (_FEW_COST if len(part.data) <= _FEW_BYTES else 1)
            elif part.is_cut:
                self.left -= _SAMPLE_COST


def read_array(value: Any, family: str, room: ArrayRoom) -> ArrayForm:
    """What is recorded of an array, with its elements as far as there is room for them.

    `family` is what `family_of` has for its class.  May raise anything that the library raises."""
    if room.left <= 0 and room.most > 0 and family != "shape":
        form = outline(value)
        form.is_cut = True
        return form
    form = _READERS[family](value, min(room.most, room.left))
    room.take(form)
    return form


def reading_weight(value: Any, family: str) -> int:
    """What reading an array takes beside its elements, in the units of `limits.py`."""
    if family == "numpy":
        dtype = _base(value, "numpy", "ndarray").dtype.__get__(value)
        fields = 0 if dtype.names is None else _count_of_fields(dtype)
        return _FIELD_WEIGHT * fields if fields <= _MOST_FIELDS else 0
    table, column = _TABLE_WEIGHTS.get(family, (0, 0))
    return table + (column * min(value.shape[1], _MOST_NAMES) if column and len(value.shape) > 1 else 0)


def cell_weight(cell: Any) -> int:
    """What the text of a single value of Arrow takes, in the units of `limits.py`."""
    return _arrow_bytes(cell, _MOST_CELL_BYTES) // _ELEMENT_BYTES


def outline(value: Any) -> ArrayForm:
    """The type and shape of an array alone, as far as it says them."""
    about = _about(value)
    for name, read in (("dtype", _type_text), ("shape", _shape), ("device", str)):
        with suppress(Exception):  # a library's own, of an array in a state in which it has none
            if (said := getattr(value, name, None)) is not None:
                about[name] = read(said)
    return ArrayForm(about)


def _about(value: Any) -> dict[str, Any]:
    return {"type": type_name(value)}


def _type_text(dtype: Any) -> str:
    """The text of an element type; of one with very many fields, how many there are."""
    fields = getattr(dtype, "fields", None)  # of numpy, by their names; of polars, a list
    if fields is not None and not callable(fields) and len(fields) > _MOST_NAMES:
        return f"{class_of(dtype).__name__} of {len(fields)} fields"
    text = str(dtype)
    return text if len(text) <= _MOST_TYPE_TEXT else text[:_MOST_TYPE_TEXT] + "..."


def _left_out(kind: str, items: int | None) -> dict[str, Any]:
    """What stands for a cell that is too large to be shown."""
    about = {"why": "size", "type": kind}
    return {"$cut": about if items is None else {**about, "items": items}}


def _shape(shape: Any) -> list[int]:
    return [int(length) for length in shape]


def _digest(data: bytes) -> str:
    # Not as a ref: no content has this name.
    return sha256(data).hexdigest()


def _base(value: Any, module: str, name: str) -> Any:
    """The library's own class of a value: a subclass's methods are the program's code."""
    bases: Iterable[Any] = class_of(value).__mro__
    return next(base for base in bases if base.__name__ == name and base.__module__.partition(".")[0] == module)


# --- numpy ------------------------------------------------------------------------------------------------------------


def _numpy(value: Any, most_bytes: int) -> ArrayForm:
    base = _base(value, "numpy", "ndarray")
    dtype, shape, flat = base.dtype.__get__(value), base.shape.__get__(value), base.flat.__get__(value)
    form = ArrayForm({**_about(value), "dtype": dtype.str, "shape": [*shape]})
    if dtype.names is not None and _count_of_fields(dtype) > _MOST_FIELDS:
        form.about["fields"], form.is_cut = [*map(str, dtype.names[:_MOST_NAMES])], True
        return form
    if dtype.fields is not None:
        form.about["dtype"] = _as_lists(dtype.descr)
    form.is_exact = class_of(value) is base and _is_rebuilt(dtype, form.about["dtype"])
    if dtype.hasobject or dtype.kind not in _BUFFERED:
        form.items, form.count = lambda count: islice(flat, count), len(flat)
        form.is_exact = form.is_exact and dtype.kind == "O"
        return form
    nbytes = base.nbytes.__get__(value)
    if _SHOWN * dtype.itemsize <= _MOST_SHOWN_BYTES:
        form.first = flat[:_SHOWN].tolist()
    if nbytes > most_bytes:
        return _sampled(form, nbytes, len(flat), dtype.itemsize, lambda step: flat[::step].tobytes())
    flags = base.flags.__get__(value)
    if flags.f_contiguous and not flags.c_contiguous:
        form.about["order"] = "F"
    if not flags.writeable:
        form.about["read_only"] = True
    form.data = base.tobytes(value, "A")
    return form


_MOST_FIELDS = 300  # numpy takes 6 us to say what one is, and to make it again


def _count_of_fields(dtype: Any) -> int:
    """How many fields an element has, with those in them; past a limit, it counts no further."""
    count, waiting = 0, [dtype]
    for inner in waiting:  # it grows meanwhile
        names = inner.base.names or ()
        count += len(names)
        if count > _MOST_FIELDS:
            break
        fields = inner.base.fields
        waiting += [fields[name][0] for name in names]
    return count


def _as_lists(descr: Any) -> Any:
    return [*map(_as_lists, descr)] if class_of(descr) in (list, tuple) else descr


def as_dtype(text: Any) -> Any:
    """The name of an element type of numpy, as it was read from JSON; of one with fields, their names and types."""
    if class_of(text) is not list:
        return text
    return [(_field_name(each[0]), as_dtype(each[1]), *map(tuple, each[2:])) for each in text]


def _field_name(name: Any) -> Any:
    return tuple(name) if class_of(name) is list else name  # with a title


def _is_rebuilt(dtype: Any, text: Any) -> bool:
    try:
        return sys.modules["numpy"].dtype(as_dtype(text)) == dtype
    except (TypeError, ValueError):  # an element type of another library
        return False


def _sampled(form: ArrayForm, nbytes: int, count: int, width: int, spread: Callable[[int], bytes]) -> ArrayForm:
    """A form with a digest of elements that are evenly spread: `spread` gives the bytes of each n-th.  `width`: of an
    element, in bytes."""
    sample: dict[str, Any] = {}
    if width <= _SAMPLE_BYTES:
        step = max(1, count * max(1, width) // _SAMPLE_BYTES)
        sample = {"every": step, "sha256": _digest(spread(step))}
    form.about |= {"bytes": nbytes, "sample": sample}
    form.is_cut, form.is_exact = True, False
    return form


# --- Python's own arrays, and whatever has a buffer -------------------------------------------------------------------


def _array(value: Any, most_bytes: int) -> ArrayForm:
    base = _base(value, "array", "array")
    width, count = base.itemsize.__get__(value), base.__len__(value)
    about = {**_about(value), "dtype": base.typecode.__get__(value), "shape": [count], "width": width}
    form = ArrayForm({**about, "order": sys.byteorder}, first=base.__getitem__(value, slice(_SHOWN)))
    if width * count > most_bytes:
        return _sampled(
            form,
            width * count,
            count,
            width,
            lambda step: base.__getitem__(value, slice(None, None, step)).tobytes(),
        )
    form.data, form.is_exact = base.tobytes(value), class_of(value) is base
    return form


def _buffer(value: Any, most_bytes: int) -> ArrayForm:
    with memoryview(value) as view:
        form = ArrayForm({**_about(value), "dtype": view.format, "shape": [*(view.shape or ())]})
        if view.nbytes <= most_bytes:
            form.data = view.tobytes()
            return form
        if not view.contiguous:
            form.about["bytes"], form.is_cut = view.nbytes, True
            return form
        with view.cast("B") as flat:
            return _sampled(form, view.nbytes, view.nbytes, 1, lambda step: flat[::step].tobytes())


# --- torch ------------------------------------------------------------------------------------------------------------


def _torch(value: Any, most_bytes: int) -> ArrayForm:
    torch: Any = sys.modules["torch"]
    form = outline(value)
    # On another device, the elements would have to be waited for.
    if value.device.type != "cpu" or value.layout is not torch.strided or value.is_quantized:
        return form
    tensor = value.detach().resolve_conj().resolve_neg()
    nbytes, count = tensor.element_size() * tensor.nelement(), tensor.nelement()
    if nbytes > most_bytes:
        if not tensor.is_contiguous():  # to spread over its elements, it would have to be copied
            form.about["bytes"], form.is_cut = nbytes, True
            return form
        flat = tensor.view(-1)
        form.first = flat[:_SHOWN].tolist()
        return _sampled(form, nbytes, count, tensor.element_size(), lambda step: _bits(torch, flat[::step]))
    flat = tensor.reshape(-1)
    form.data, form.first = _bits(torch, flat), flat[:_SHOWN].tolist()
    form.is_exact = class_of(value) is torch.Tensor and value.grad_fn is None
    if value.requires_grad:
        form.about["requires_grad"] = True
    return form


def _bits(torch: Any, flat: Any) -> bytes:
    return flat.contiguous().view(torch.uint8).numpy().tobytes()


# --- tables -----------------------------------------------------------------------------------------------------------


def _frame(value: Any, most_bytes: int) -> ArrayForm:
    rows, columns = value.shape
    form = ArrayForm({**_about(value), "shape": [rows, columns]})
    if columns > _MOST_COLUMNS:
        form.is_cut = True
        form.parts["columns"] = [_index(value.columns[:_MOST_NAMES], most_bytes)]
        return form
    names = _index(value.columns, most_bytes)
    each = most_bytes // max(1, columns)
    form.parts = {
        "index": [_index(value.index, most_bytes)],
        "names": [names],
        "columns": [_column(value.iloc[:, number], each) for number in range(columns)],
    }
    return _whole(form, value, "DataFrame")


def _series(value: Any, most_bytes: int) -> ArrayForm:
    form = ArrayForm({**_about(value), "shape": [len(value)]})
    form.parts = {"index": [_index(value.index, most_bytes)], "columns": [_column(value, most_bytes)]}
    return _whole(form, value, "Series")


def _whole(form: ArrayForm, value: Any, name: str) -> ArrayForm:
    """The form of a table, exact if all parts are, and there is no more to it."""
    parts = [part for part in form.all_parts() if part is not form]
    form.is_cut = any(part.is_cut for part in parts)
    is_plain = class_of(value) is getattr(sys.modules["pandas"], name) and not value.attrs
    form.is_exact = is_plain and value.flags.allows_duplicate_labels and all(part.is_exact for part in parts)
    return form


def _column(column: Any, most_bytes: int) -> ArrayForm:
    form = _elements(column, most_bytes)
    form.name = column.name
    return form


def _index(index: Any, most_bytes: int) -> ArrayForm:
    kind = class_of(index).__name__
    if kind == "RangeIndex":
        steps = [index.start, index.stop, index.step]
        return ArrayForm({"dtype": "range", "range": steps}, name=index.name, is_exact=True)
    if kind == "MultiIndex":
        return ArrayForm({"dtype": "levels", "shape": [len(index), index.nlevels]})
    form = _elements(index, most_bytes)
    form.name = index.name
    # A frequency and a time zone are more than the elements.
    form.is_exact = form.is_exact and kind == "Index"
    return form


def _elements(column: Any, most_bytes: int) -> ArrayForm:
    dtype = column.dtype
    if class_of(dtype).__module__.partition(".")[0] == "numpy" and dtype.kind != "O":
        form = _numpy(column.to_numpy(), most_bytes)
        del form.about["type"]
        form.about.pop("order", None)
        form.about.pop("read_only", None)
        return form
    name = _type_text(dtype)
    form = ArrayForm({"dtype": name, "shape": [len(column)]}, count=len(column))
    form.items = lambda count: _items_of(column, dtype, count)
    if name in ("str", "string"):
        form.about["storage"] = dtype.storage
        form.about["missing"] = repr(dtype.na_value)
    form.is_exact = name in ("object", "str")
    form.are_objects = class_of(dtype).__name__ in ("IntervalDtype", "PeriodDtype", "DatetimeTZDtype")
    return form


def _items_of(column: Any, dtype: Any, count: int) -> Iterable[Any]:
    """The first elements of a column or an index."""
    if count < len(column):  # before anything is converted: an iterator would convert all
        column = column.iloc[:count] if hasattr(column, "iloc") else column[:count]
    arrow_type = getattr(dtype, "pyarrow_dtype", None)
    if arrow_type is not None and sys.modules["pyarrow"].types.is_nested(arrow_type):
        return _arrow_cells(column.array.__arrow_array__(), _MOST_BYTES_OF_NESTED)
    if class_of(dtype).__name__ == "StringDtype":  # its iterator takes ten times as long
        return column.to_numpy(dtype=object).tolist()
    return column


def _polars(value: Any, most_bytes: int) -> ArrayForm:
    polars: Any = sys.modules["polars"]
    is_series = issubclass(class_of(value), polars.Series)
    frame = value.to_frame() if is_series else value
    form = ArrayForm({**_about(value), "shape": [*value.shape]})
    nbytes, is_wide = frame.estimated_size(), frame.width > _MOST_NAMES
    if is_wide:  # before it is asked for its columns
        frame = frame[:, :_MOST_NAMES]
    types = {name: _type_text(dtype) for name, dtype in frame.schema.items()}
    form.about["columns"] = [{"name": name, "dtype": dtype} for name, dtype in types.items()]
    if len(frame) > _SHOWN or nbytes <= _MOST_BYTES_OF_FIRST:  # what has one row is copied to be looked at
        form.first = _polars_rows(frame[:_SHOWN], [*types.values()])
    if nbytes > most_bytes or is_wide:
        width = (frame.estimated_size() if is_wide else nbytes) // max(1, len(frame))
        return _sampled(form, nbytes, len(frame), width, lambda step: _polars_bytes(frame.gather_every(step)))
    form.data = _polars_bytes(frame)
    form.is_exact = class_of(value) in (polars.DataFrame, polars.Series)
    return form


def _polars_rows(head: Any, types: list[str]) -> list[Any]:
    """The first rows; of columns whose cells are too large, the types and lengths of these."""
    columns, left = head.get_columns(), _MOST_SHOWN_BYTES
    large: set[int] = set()
    for number, (column, kind) in enumerate(zip(columns, types, strict=True)):
        is_nested = kind.startswith(("List", "Array", "Struct"))
        size = column.estimated_size() * (_ELEMENT_BYTES if is_nested else 1)
        if size > left or (is_nested and "Null" in kind):  # of which there may be any number in no bytes
            large.add(number)
        else:
            left -= size
    if not large:
        return head.rows()
    cells = [
        _polars_outline(column, kind) if number in large else column.to_list()
        for number, (column, kind) in enumerate(zip(columns, types, strict=True))
    ]
    return [*zip(*cells, strict=True)]


def _polars_outline(column: Any, kind: str) -> list[Any]:
    lengths: list[Any] = [None] * len(column)
    if kind.startswith("List"):
        lengths = column.list.len().to_list()
    elif kind == "String":
        lengths = column.str.len_bytes().to_list()
    return [_left_out(kind, length) for length in lengths]


def _polars_bytes(frame: Any) -> bytes:
    written = io.BytesIO()
    frame.write_ipc(written)
    return written.getvalue()


def _arrow(value: Any, most_bytes: int) -> ArrayForm:
    arrow: Any = sys.modules["pyarrow"]
    form = ArrayForm({**_about(value), "shape": [*value.shape]})
    shown = value if value.num_columns <= _MOST_NAMES else value.select([*range(_MOST_NAMES)])
    form.about["columns"] = [{"name": column.name, "dtype": _arrow_type_text(column.type)} for column in shown.schema]
    form.first = _arrow_rows(shown.slice(0, _SHOWN))
    chunks = sum(getattr(column, "num_chunks", 1) for column in shown.columns)
    has_large_type = any(column.type.num_fields > _MOST_NAMES for column in shown.schema)
    if shown is not value or has_large_type or chunks > _MOST_CHUNKS:  # to add up their bytes takes long, too
        form.is_cut = True
        return form
    if value.nbytes > most_bytes:
        form.about["bytes"], form.is_cut = value.nbytes, True
        return form
    written = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(written, value.schema) as stream:
        stream.write(value)
    form.data = written.getvalue().to_pybytes()
    form.is_exact = class_of(value) in (arrow.Table, arrow.RecordBatch)
    return form


def _arrow_type_text(kind: Any) -> str:
    if kind.num_fields > _MOST_NAMES:
        return f"struct of {kind.num_fields} fields"
    text = str(kind)
    return text if len(text) <= _MOST_TYPE_TEXT else text[:_MOST_TYPE_TEXT] + "..."


def _arrow_rows(head: Any) -> list[Any]:
    """The first rows; of cells that are too large, their types and lengths."""
    if all(_is_flat(column.type) for column in head.schema):
        return head.to_pylist()
    names = [column.name for column in head.schema]
    cells = [_arrow_cells(column, _MOST_SHOWN_BYTES) for column in head.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _arrow_cells(column: Any, left: int) -> list[Any]:
    """The values of a column, up to so many bytes; of others, types and lengths."""
    is_large = column.nbytes > left and not sys.modules["pyarrow"].types.is_dictionary(column.type)
    shown: list[Any] = []
    for number in range(len(column)):
        # To take one out of the column would copy its texts.
        nbytes = column.slice(number, 1).nbytes if is_large else 0
        if nbytes > left and not hasattr(column.type, "value_type"):
            shown.append(_left_out(_arrow_type_text(column.type), nbytes))
            continue
        cell = column[number]
        size = max(nbytes, 0 if nbytes > left else _arrow_bytes(cell, left))
        if size > left:
            shown.append(_left_out(_arrow_type_text(cell.type), _arrow_length(cell)))
        else:
            left -= size
            shown.append(cell.as_py())
    return shown


def _is_flat(kind: Any) -> bool:
    """Whether each value of this type of Arrow takes the same few bytes."""
    types: Any = sys.modules["pyarrow"].types
    return types.is_primitive(kind) or types.is_null(kind) or types.is_decimal(kind)


def _arrow_length(cell: Any) -> int | None:
    if hasattr(cell, "as_buffer"):
        return cell.as_buffer().size
    return len(cell) if hasattr(cell, "__len__") else None


def _arrow_bytes(cell: Any, most: int) -> int:
    """How many bytes a value of Arrow has, its elements counted as some; past a limit, it counts no further."""
    size, waiting = 0, [cell]
    for inner in waiting:  # it grows meanwhile
        size += _ELEMENT_BYTES
        if size > most:
            break
        if not inner.is_valid or _is_flat(inner.type):
            continue
        if hasattr(inner, "as_buffer"):
            size += inner.as_buffer().size
        elif hasattr(inner, "value"):  # of a dictionary, a union, an extension
            waiting.append(inner.value)
        elif hasattr(inner, "__len__"):
            size += _take_inside(inner, waiting, most - size)
    return size


def _take_inside(cell: Any, waiting: list[Any], most: int) -> int:
    """Adds the elements of a list, or the fields of a structure, to those that wait, and returns what they count."""
    length = len(cell)
    if length * _ELEMENT_BYTES > most or _is_flat(getattr(cell.type, "value_type", cell.type)):
        return length * _ELEMENT_BYTES
    is_struct = sys.modules["pyarrow"].types.is_struct(cell.type)
    if is_struct and length > _MOST_NAMES:
        return most + 1
    waiting += [cell[number] for number in range(length)] if is_struct else [*cell.values]
    return 0


# --- pictures ---------------------------------------------------------------------------------------------------------

_MODES = {1: "1 L P", 2: "LA La PA I;16 I;16L I;16B", 3: "RGB YCbCr LAB HSV", 4: "RGBA RGBX RGBa CMYK I F"}
_BYTES_OF_MODES = {mode: count for count, modes in _MODES.items() for mode in modes.split()}
_WITH_PALETTE = frozenset({"P", "PA"})
_GRID = 16


def _picture(value: Any, most_bytes: int) -> ArrayForm:
    base = _base(value, "PIL", "Image")
    width, height = value.size
    form = ArrayForm({**_about(value), "mode": value.mode, "size": [width, height]})
    # One of a file that was not read yet has tiles: to look at it would read and decode the file.
    if getattr(value, "tile", None) or value.mode not in _BYTES_OF_MODES:
        return form
    nbytes = width * height * _BYTES_OF_MODES[value.mode]
    if nbytes > most_bytes:
        places = [(x * width // _GRID, y * height // _GRID) for y in range(_GRID) for x in range(_GRID)]
        pixels = repr([base.getpixel(value, place) for place in places]).encode()
        form.about |= {"bytes": nbytes, "sample": {"pixels": _GRID * _GRID, "sha256": _digest(pixels)}}
        form.is_cut = True
        return form
    form.data = base.tobytes(value)
    form.is_exact = class_of(value) is base and value.mode not in _WITH_PALETTE and not value.info
    return form


_READERS: dict[str, Callable[[Any, int], ArrayForm]] = {
    "array": _array,
    "arrow": _arrow,
    "buffer": _buffer,
    "frame": _frame,
    "numpy": _numpy,
    "picture": _picture,
    "polars": _polars,
    "series": _series,
    "shape": lambda value, _: outline(value),
    "torch": _torch,
}
