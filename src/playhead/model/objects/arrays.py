"""Arrays, tensors, tables and pictures: records them in time that does not grow with the number of their elements.

The elements are recorded as their bytes in memory, with type and shape; above a limit of bytes, only a sample is. A
value on another device, one that is not computed yet, and one in a file are described by type and shape alone. Only
libraries that the program has loaded are used: nothing is imported.
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
"""Classes of single elements (a number or a text in a type of the library), in the form that `listed_as` takes."""
ARROW_CELLS = {"pyarrow": {"Scalar": True}}
"""Classes of single Arrow values, which may be lists, in the form that `listed_as` takes."""
_PROTOCOLS = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
# Sample of elements that are not recorded: number of bytes, evenly spread; and number of elements that are shown.
_SAMPLE_BYTES = 64 * 1024
_SHOWN = 5
# Reading one column takes about 50 us, whatever it contains.
_MOST_COLUMNS = 30
_MOST_NAMES = 100
_MOST_CHUNKS = 500
_MOST_TYPE_TEXT = 2_000
# Number of bytes of the first rows that are shown; an element of a list in a cell counts as `_ELEMENT_BYTES`.
_MOST_SHOWN_BYTES = 256 * 1024
_MOST_BYTES_OF_NESTED = 2**22
_MOST_BYTES_OF_FIRST = 2**20
_ELEMENT_BYTES = 16
_MOST_CELL_BYTES = 2**20
# All arrays of one value together may have `_ALL_ARRAYS` times the bytes of one. A sample costs as much as
# `_SAMPLE_COST` bytes. Up to `_FEW_BYTES`, bytes are written into the value, which costs `_FEW_COST` times as much as a
# content of their own.
_ALL_ARRAYS = 3
_SAMPLE_COST = 512 * 1024
_FEW_BYTES = 16 * 1024
_FEW_COST = 4
# Cost of the libraries' code, in the units of `limits.py`: for a table and each of its columns; for a field of an
# element type.
_TABLE_WEIGHTS = {"polars": (2_000, 10), "arrow": (800, 10), "frame": (1_000, 80), "series": (250, 0)}
_FIELD_WEIGHT = 60
_BUFFERED = "biufcmMSUV"  # kinds of numpy's element types that the bytes describe completely


def family_of(kind: Any) -> str | None:
    """Returns the family of a class, which is the key of its function in `_READERS`; None: its instances are not
    arrays."""
    family = listed_as(kind, _FAMILIES)
    if family is None and any(hasattr(kind, name) for name in _PROTOCOLS) and not listed_as(kind, ARRAY_ELEMENTS):
        return "shape"
    return family


@dataclass(slots=True)
class ArrayForm:
    """What is recorded of an array. `about`: plain values, such as its type, and the type and number of its
    elements."""

    about: dict[str, Any]
    data: bytes | None = None
    """Bytes of the elements; None: the elements are in `items`, or are not recorded."""
    first: Iterable[Any] = ()
    """The first elements, for people."""
    items: Callable[[int], Iterable[Any]] | None = None
    """For elements that are objects of the program: returns the first elements, up to a number, and converts no
    others."""
    count: int = 0
    """Number of elements that `items` can return."""
    are_objects: bool = False
    """Whether `items` has to make an object for each element."""
    kept: dict[str, Any] | None = None
    """Plain values that represent `data`: base64, or the ref of a content of its own. None: not made yet."""
    name: Any = None
    """Name of a column or an index."""
    parts: "dict[str, list[ArrayForm]]" = field(default_factory=dict[str, "list[ArrayForm]"])
    """Parts of a table: its index and columns."""
    is_exact: bool = False
    """Whether an equal object of the same type can be built from this form."""
    is_cut: bool = False
    """Whether elements are left out."""

    def all_parts(self) -> "Iterator[ArrayForm]":
        """Yields this form and its parts."""
        yield self
        for parts in self.parts.values():
            yield from parts


class ArrayRoom:
    """Budget for the bytes of arrays in one value: `most_bytes` for each array, and `_ALL_ARRAYS` times as many for all
    together. None: unlimited."""

    def __init__(self, most_bytes: int | None):
        self.most = sys.maxsize if most_bytes is None else most_bytes
        self.left = self.most * _ALL_ARRAYS

    def take(self, form: ArrayForm) -> None:
        """Subtracts what was read."""
        for part in form.all_parts():
            if part.data is not None:
                self.left -= len(part.data) * (_FEW_COST if len(part.data) <= _FEW_BYTES else 1)
            elif part.is_cut:
                self.left -= _SAMPLE_COST


def read_array(value: object, family: str, room: ArrayRoom) -> ArrayForm:
    """Returns the form of an array, with its elements as far as the budget allows.

    `family`: the result of `family_of` for its class. May raise anything that the library raises.
    """
    if room.left <= 0 and room.most > 0 and family != "shape":
        form = outline(value)
        form.is_cut = True
        return form
    form = _READERS[family](value, min(room.most, room.left))
    room.take(form)
    return form


def reading_weight(value: Any, family: str) -> int:
    """Returns the cost of reading an array without its elements, in the units of `limits.py`."""
    if family == "numpy":
        dtype = _base(value, "numpy", "ndarray").dtype.__get__(value)
        fields = 0 if dtype.names is None else _count_of_fields(dtype)
        return _FIELD_WEIGHT * fields if fields <= _MOST_FIELDS else 0
    table, column = _TABLE_WEIGHTS.get(family, (0, 0))
    return table + (column * min(value.shape[1], _MOST_NAMES) if column and len(value.shape) > 1 else 0)


def cell_weight(cell: object) -> int:
    """Returns the cost of the text of a single Arrow value, in the units of `limits.py`."""
    return _arrow_bytes(cell, _MOST_CELL_BYTES) // _ELEMENT_BYTES


def outline(value: object) -> ArrayForm:
    """Returns a form with only the type and shape of an array, as far as it has them."""
    about = _about(value)
    for name, read in (("dtype", _type_text), ("shape", _shape), ("device", str)):
        with suppress(Exception):  # the library may raise if the array has none
            if (attribute := getattr(value, name, None)) is not None:
                about[name] = read(attribute)
    return ArrayForm(about)


def _about(value: object) -> dict[str, Any]:
    return {"type": type_name(value)}


def _type_text(dtype: object) -> str:
    """Returns the text of an element type; for one with very many fields, only their number."""
    fields = getattr(dtype, "fields", None)  # numpy: by their names; polars: a list
    if fields is not None and not callable(fields) and len(fields) > _MOST_NAMES:
        return f"{class_of(dtype).__name__} of {len(fields)} fields"
    text = str(dtype)
    return text if len(text) <= _MOST_TYPE_TEXT else text[:_MOST_TYPE_TEXT] + "..."


def _left_out(kind: str, items: int | None) -> dict[str, Any]:
    """Returns the marker for a cell that is too large to be shown."""
    about = {"why": "size", "type": kind}
    return {"$cut": about if items is None else {**about, "items": items}}


def _shape(shape: Any) -> list[int]:
    return [int(length) for length in shape]


def _digest(data: bytes) -> str:
    # Hex digits, not a ref: no content is stored for it.
    return sha256(data).hexdigest()


def _base(value: object, module: str, name: str) -> Any:
    """Returns the library's own class of a value: methods of a subclass are code of the program."""
    bases: Iterable[Any] = class_of(value).__mro__
    return next(base for base in bases if base.__name__ == name and base.__module__.partition(".")[0] == module)


# --- numpy ------------------------------------------------------------------------------------------------------------


def _numpy(value: object, most_bytes: int) -> ArrayForm:
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


_MOST_FIELDS = 300  # numpy takes 6 us to describe a field and to build it again


def _count_of_fields(dtype: Any) -> int:
    """Returns the number of fields of an element, including nested ones; stops counting above a limit."""
    count, waiting = 0, [dtype]
    for inner in waiting:  # the list grows in the loop
        names = inner.base.names or ()
        count += len(names)
        if count > _MOST_FIELDS:
            break
        fields = inner.base.fields
        waiting += [fields[name][0] for name in names]
    return count


def _as_lists(descr: Any) -> Any:
    return [*map(_as_lists, descr)] if class_of(descr) in (list, tuple) else descr


def _loaded(library: str) -> Any:
    """Returns a library that the program has imported: it made the value that is read. Never imports one."""
    return sys.modules.get(library)


def as_dtype(text: Any) -> Any:
    """Returns a numpy element type in the form that numpy takes, from its form in JSON: a name, or a list of fields."""
    if class_of(text) is not list:
        return text
    return [(_field_name(item[0]), as_dtype(item[1]), *map(tuple, item[2:])) for item in text]


def _field_name(name: Any) -> Any:
    return tuple(name) if class_of(name) is list else name  # a field with a title


def _is_rebuilt(dtype: object, text: object) -> bool:
    try:
        return _loaded("numpy").dtype(as_dtype(text)) == dtype
    except (TypeError, ValueError):  # an element type of another library
        return False


def _sampled(form: ArrayForm, nbytes: int, count: int, width: int, spread: Callable[[int], bytes]) -> ArrayForm:
    """Adds the digest of evenly spread elements to a form and marks it as cut. `spread` returns the bytes of every n-th
    element. `width`: bytes per element."""
    sample: dict[str, Any] = {}
    if width <= _SAMPLE_BYTES:
        step = max(1, count * max(1, width) // _SAMPLE_BYTES)
        sample = {"every": step, "sha256": _digest(spread(step))}
    form.about |= {"bytes": nbytes, "sample": sample}
    form.is_cut, form.is_exact = True, False
    return form


# --- Python's own arrays, and whatever has a buffer -------------------------------------------------------------------


def _array(value: object, most_bytes: int) -> ArrayForm:
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
    torch: Any = _loaded("torch")
    form = outline(value)
    # The program would have to wait for elements on another device.
    if value.device.type != "cpu" or value.layout is not torch.strided or value.is_quantized:
        return form
    tensor = value.detach().resolve_conj().resolve_neg()
    nbytes, count = tensor.element_size() * tensor.nelement(), tensor.nelement()
    if nbytes > most_bytes:
        if not tensor.is_contiguous():  # a sample would need a copy of all elements
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
    column_bytes = most_bytes // max(1, columns)
    form.parts = {
        "index": [_index(value.index, most_bytes)],
        "names": [names],
        "columns": [_column(value.iloc[:, number], column_bytes) for number in range(columns)],
    }
    return _whole(form, value, "DataFrame")


def _series(value: Any, most_bytes: int) -> ArrayForm:
    form = ArrayForm({**_about(value), "shape": [len(value)]})
    form.parts = {"index": [_index(value.index, most_bytes)], "columns": [_column(value, most_bytes)]}
    return _whole(form, value, "Series")


def _whole(form: ArrayForm, value: Any, name: str) -> ArrayForm:
    """Completes the form of a table: it is exact if all parts are exact and the table has no other properties."""
    parts = [part for part in form.all_parts() if part is not form]
    form.is_cut = any(part.is_cut for part in parts)
    is_plain = class_of(value) is getattr(_loaded("pandas"), name) and not value.attrs
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
    # A frequency and a time zone are not in the elements.
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
    """Returns the first elements of a column or an index."""
    if count < len(column):  # before anything is converted: an iterator would convert all elements
        column = column.iloc[:count] if hasattr(column, "iloc") else column[:count]
    arrow_type = getattr(dtype, "pyarrow_dtype", None)
    if arrow_type is not None and _loaded("pyarrow").types.is_nested(arrow_type):
        return _arrow_cells(column.array.__arrow_array__(), _MOST_BYTES_OF_NESTED)
    if class_of(dtype).__name__ == "StringDtype":  # its iterator takes ten times as long
        return column.to_numpy(dtype=object).tolist()
    return column


def _polars(value: Any, most_bytes: int) -> ArrayForm:
    polars: Any = _loaded("polars")
    is_series = issubclass(class_of(value), polars.Series)
    frame = value.to_frame() if is_series else value
    form = ArrayForm({**_about(value), "shape": [*value.shape]})
    nbytes, is_wide = frame.estimated_size(), frame.width > _MOST_NAMES
    if is_wide:  # before its columns are read
        frame = frame[:, :_MOST_NAMES]
    types = {name: _type_text(dtype) for name, dtype in frame.schema.items()}
    form.about["columns"] = [{"name": name, "dtype": dtype} for name, dtype in types.items()]
    if len(frame) > _SHOWN or nbytes <= _MOST_BYTES_OF_FIRST:  # otherwise few large rows would be copied
        form.first = _polars_rows(frame[:_SHOWN], [*types.values()])
    if nbytes > most_bytes or is_wide:
        width = (frame.estimated_size() if is_wide else nbytes) // max(1, len(frame))
        return _sampled(form, nbytes, len(frame), width, lambda step: _polars_bytes(frame.gather_every(step)))
    form.data = _polars_bytes(frame)
    form.is_exact = class_of(value) in (polars.DataFrame, polars.Series)
    return form


def _polars_rows(head: Any, types: list[str]) -> list[Any]:
    """Returns the first rows. In columns with large cells, each cell is replaced by a marker with its type and
    length."""
    columns, bytes_left = head.get_columns(), _MOST_SHOWN_BYTES
    large: set[int] = set()
    for number, (column, kind) in enumerate(zip(columns, types, strict=True)):
        is_nested = kind.startswith(("List", "Array", "Struct"))
        size = column.estimated_size() * (_ELEMENT_BYTES if is_nested else 1)
        if size > bytes_left or (is_nested and "Null" in kind):  # any number of nulls takes no bytes
            large.add(number)
        else:
            bytes_left -= size
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
    arrow: Any = _loaded("pyarrow")
    form = ArrayForm({**_about(value), "shape": [*value.shape]})
    visible = value if value.num_columns <= _MOST_NAMES else value.select([*range(_MOST_NAMES)])
    form.about["columns"] = [{"name": column.name, "dtype": _arrow_type_text(column.type)} for column in visible.schema]
    form.first = _arrow_rows(visible.slice(0, _SHOWN))
    chunks = sum(getattr(column, "num_chunks", 1) for column in visible.columns)
    has_large_type = any(column.type.num_fields > _MOST_NAMES for column in visible.schema)
    if visible is not value or has_large_type or chunks > _MOST_CHUNKS:  # adding up their bytes would take long, too
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
    """Returns the first rows. Cells that are too large are replaced by markers with their type and length."""
    if all(_is_flat(column.type) for column in head.schema):
        return head.to_pylist()
    names = [column.name for column in head.schema]
    cells = [_arrow_cells(column, _MOST_SHOWN_BYTES) for column in head.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _arrow_cells(column: Any, bytes_left: int) -> list[Any]:
    """Returns the values of a column, up to `bytes_left` bytes in all. Other cells are replaced by markers with their
    type and length."""
    is_large = column.nbytes > bytes_left and not _loaded("pyarrow").types.is_dictionary(column.type)
    cells: list[Any] = []
    for number in range(len(column)):
        # Reading a cell would copy its texts.
        nbytes = column.slice(number, 1).nbytes if is_large else 0
        if nbytes > bytes_left and not hasattr(column.type, "value_type"):
            cells.append(_left_out(_arrow_type_text(column.type), nbytes))
            continue
        cell = column[number]
        size = max(nbytes, 0 if nbytes > bytes_left else _arrow_bytes(cell, bytes_left))
        if size > bytes_left:
            cells.append(_left_out(_arrow_type_text(cell.type), _arrow_length(cell)))
        else:
            bytes_left -= size
            cells.append(cell.as_py())
    return cells


def _is_flat(kind: object) -> bool:
    """Whether all values of this Arrow type take the same few bytes."""
    types: Any = _loaded("pyarrow").types
    return types.is_primitive(kind) or types.is_null(kind) or types.is_decimal(kind)


def _arrow_length(cell: Any) -> int | None:
    if hasattr(cell, "as_buffer"):
        return cell.as_buffer().size
    return len(cell) if hasattr(cell, "__len__") else None


def _arrow_bytes(cell: Any, most: int) -> int:
    """Returns the number of bytes of an Arrow value, with `_ELEMENT_BYTES` for each element; stops counting above
    `most`."""
    size, waiting = 0, [cell]
    for inner in waiting:  # the list grows in the loop
        size += _ELEMENT_BYTES
        if size > most:
            break
        if not inner.is_valid or _is_flat(inner.type):
            continue
        if hasattr(inner, "as_buffer"):
            size += inner.as_buffer().size
        elif hasattr(inner, "value"):  # a dictionary, a union, an extension
            waiting.append(inner.value)
        elif hasattr(inner, "__len__"):
            size += _take_inside(inner, waiting, most - size)
    return size


def _take_inside(cell: Any, waiting: list[Any], most: int) -> int:
    """Appends the elements of a list, or the fields of a structure, to `waiting` and returns 0. If they need not be
    examined one by one, returns their number of bytes instead."""
    length = len(cell)
    if length * _ELEMENT_BYTES > most or _is_flat(getattr(cell.type, "value_type", cell.type)):
        return length * _ELEMENT_BYTES
    is_struct = _loaded("pyarrow").types.is_struct(cell.type)
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
    # A picture in a file that was not read yet has tiles: its pixels would have to be read and decoded.
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
