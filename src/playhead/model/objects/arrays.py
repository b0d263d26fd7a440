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
_PROTOCOLS = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
# Of elements that are not recorded: so many bytes are looked at, evenly spread, and so many elements are shown.
_SAMPLE_BYTES = 64 * 1024
_SHOWN = 5
# Reading one column takes about 50 us, whatever is in it.
_MOST_COLUMNS = 30
_MOST_NAMES = 100
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
    items: Iterable[Any] | None = None
    """All elements, where they are objects of the program."""
    count: int = 0
    """How many these are."""
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


def read_array(value: Any, family: str, most_bytes: int | None) -> ArrayForm:
    """What is recorded of an array, with its elements up to this number of bytes; None: any.

    `family` is what `family_of` has for its class.  May raise anything that the library raises."""
    return _READERS[family](value, sys.maxsize if most_bytes is None else most_bytes)


def outline(value: Any) -> ArrayForm:
    """The type and shape of an array alone, as far as it says them."""
    about = _about(value)
    for name, read in (("dtype", str), ("shape", _shape), ("device", str)):
        with suppress(Exception):  # a library's own, of an array in a state in which it has none
            if (said := getattr(value, name, None)) is not None:
                about[name] = read(said)
    return ArrayForm(about)


def _about(value: Any) -> dict[str, Any]:
    return {"type": type_name(value)}


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
    if dtype.fields is not None:
        form.about["dtype"] = _as_lists(dtype.descr)
    form.is_exact = class_of(value) is base and _is_rebuilt(dtype, form.about["dtype"])
    if dtype.hasobject or dtype.kind not in _BUFFERED:
        form.items, form.count = flat, len(flat)
        form.is_exact = form.is_exact and dtype.kind == "O"
        return form
    nbytes, form.first = base.nbytes.__get__(value), flat[:_SHOWN].tolist()
    if nbytes > most_bytes:
        return _sampled(form, nbytes, len(flat), dtype.itemsize, lambda step: flat[::step].tobytes())
    flags = base.flags.__get__(value)
    if flags.f_contiguous and not flags.c_contiguous:
        form.about["order"] = "F"
    if not flags.writeable:
        form.about["read_only"] = True
    form.data = base.tobytes(value, "A")
    return form


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
    form = ArrayForm({"dtype": str(dtype), "shape": [len(column)]}, items=column, count=len(column))
    if str(dtype) in ("str", "string"):
        form.about["storage"] = dtype.storage
        form.about["missing"] = repr(dtype.na_value)
    form.is_exact = str(dtype) in ("object", "str")
    return form


def _polars(value: Any, most_bytes: int) -> ArrayForm:
    polars: Any = sys.modules["polars"]
    is_series = issubclass(class_of(value), polars.Series)
    frame = value.to_frame() if is_series else value
    form = ArrayForm({**_about(value), "shape": [*value.shape]})
    schema: list[Any] = list(islice(frame.schema.items(), _MOST_NAMES))
    form.about["columns"] = [{"name": name, "dtype": str(dtype)} for name, dtype in schema]
    nbytes, form.first = frame.estimated_size(), frame[:_SHOWN].rows()
    if nbytes > most_bytes or len(frame.columns) > _MOST_NAMES:
        width = nbytes // max(1, len(frame))
        return _sampled(form, nbytes, len(frame), width, lambda step: _polars_bytes(frame.gather_every(step)))
    form.data = _polars_bytes(frame)
    form.is_exact = class_of(value) in (polars.DataFrame, polars.Series)
    return form


def _polars_bytes(frame: Any) -> bytes:
    written = io.BytesIO()
    frame.write_ipc(written)
    return written.getvalue()


def _arrow(value: Any, most_bytes: int) -> ArrayForm:
    arrow: Any = sys.modules["pyarrow"]
    form = ArrayForm({**_about(value), "shape": [*value.shape]})
    columns: list[Any] = list(islice(value.schema, _MOST_NAMES))
    form.about["columns"] = [{"name": column.name, "dtype": str(column.type)} for column in columns]
    form.first = value.slice(0, _SHOWN).to_pylist()
    if value.nbytes > most_bytes or len(value.schema) > _MOST_NAMES:
        form.about["bytes"], form.is_cut = value.nbytes, True
        return form
    written = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(written, value.schema) as stream:
        stream.write(value)
    form.data = written.getvalue().to_pybytes()
    form.is_exact = class_of(value) in (arrow.Table, arrow.RecordBatch)
    return form


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
