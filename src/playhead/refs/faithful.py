"""capture → [refs] → journal.  Keeps results so that they can be rebuilt: values <-> tagged JSON, without pickle.

Plain JSON stands for itself.  Any other value is an object whose key `$` is its tag: `{"$": "tuple", "items": [...]}`.
A dictionary whose keys are not sorted is tagged, too, since canonical JSON sorts keys, and the program sees the order.

| tags | kept |
|---|---|
| json, dict, int, float, complex, decimal, fraction, range | exactly, at any size, NaN and infinities too |
| text | in parts, where JSON would join two surrogates; every other text stands for itself |
| bytes, bytearray, tuple, set, frozenset, deque, OrderedDict, Counter, defaultdict | with what is inside |
| datetime, date, time, timedelta, timezone, zone, uuid, path | with time zone and fold |
| array, array element | arrays of numpy and of Python, tensors, tables and pictures: type, shape, elements |
| enum, namedtuple, dataclass, model (pydantic) | by class name; all attributes, private ones too |
| error | type, args, attributes, notes, cause and context one level deep; no traceback |

Values that are shared come back as copies.  Cycles, local classes, instances of other classes and subclasses of
built-in types (`class Name(str)`) are `NotFaithful`.  Decoding makes only instances of enums, named tuples,
dataclasses, models, exceptions and the types above, calls nothing that a record names, and raises only `CannotRestore`.
"""

import base64
from collections.abc import Callable
from typing import Any, cast

from playhead.errors import CannotRestore, NotFaithful
from playhead.model.objects.arrays import ArrayRoom
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.limits import (
    CONTAINER,
    CUT_SENTENCES,
    NO_LIMITS,
    OBJECT,
    OPENED,
    ValueLimits,
    digits_weight,
    weigh,
    weigh_inside,
)
from playhead.model.objects.plain_tree import MOST_REPEATED, KeepBytes, kept_bytes
from playhead.model.objects.tree_json import MAX_INTEGER_BITS, MAX_LEVELS
from playhead.model.ref import ContentRef
from playhead.refs.array_codecs import ARRAY_DECODERS, array_tree
from playhead.refs.error_codecs import ERROR_DECODERS, ReplayedError, error_outline, error_tree, http_tree
from playhead.refs.named_classes import model_reference
from playhead.refs.object_codecs import OBJECT_DECODERS, object_tree
from playhead.refs.plain import MARK, NOT_KEPT, in_key_order, is_text, json_text, key_orders, key_orders_of
from playhead.refs.value_codecs import DECODERS, ENCODERS, LEAVES, SHORT_BITS, encoder_of, tagged

__all__ = [
    "CannotRestore",
    "NotFaithful",
    "ReplayedError",
    "decode",
    "decode_error",
    "encode",
    "encode_error",
    "is_plain",
    "refuse_marker",
    "restore_data",
    "restored_value",
    "with_key_orders",
]

_CONTAINERS = frozenset({list, dict, tuple, set, frozenset})
_LEVELS_OF_A_TAG = 3  # an object, its array, a pair in it
# Weights in the units of `limits.py`: of a text with a lone surrogate, of NaN or infinity; and an integer weighs 1 for
# each of so many bits.
_ODD_TEXT, _ODD_NUMBER, _HEX_BITS = 50, 10, 80
_DECODERS = DECODERS | OBJECT_DECODERS | ARRAY_DECODERS | ERROR_DECODERS
FetchBytes = Callable[[ContentRef], bytes | None]
"""Returns the bytes of a content; None: it is not available."""


def is_plain(value: object) -> bool:
    """Whether the plain canonical content alone restores this value exactly: it is plain JSON, and its keys are
    sorted."""
    survey = key_orders_of(value)
    return survey is not None and survey.exact


def restore_data(value: object, limits: ValueLimits = NO_LIMITS, keep: KeepBytes | None = None) -> Any:
    """Returns what must be stored beside the plain content so that `restored_value` can rebuild the value; None:
    nothing. `keep` takes the elements of large arrays. Raises NotFaithful, also for a value larger than the limits."""
    if type(value) is bytes:
        return None
    survey = key_orders_of(value)
    if survey is None:
        return _encoded(value, limits, keep, lenient=False)
    if survey.exact:
        return None
    if survey.one_order and not survey.marked:
        return tagged("key order", orders=key_orders(survey))
    return tagged("json", text=_json_text(value, limits))


def _json_text(value: object, limits: ValueLimits) -> str:
    if limits.size is not None and weigh_inside(value, limits.size, digits=True) > limits.size:
        raise NotFaithful(CUT_SENTENCES["size"])
    return json_text(value)


def restored_value(
    ordinary: Any, restore_tree: Any, *, with_defaults: bool = False, fetch: FetchBytes | None = None
) -> Any:
    """Rebuilds the value from its plain content and the result of `restore_data`. `with_defaults`: fields that were
    added to a class since then get their defaults; otherwise they are an error. `fetch` returns the bytes of a content;
    None: it is not available. Raises CannotRestore."""
    if restore_tree is None:
        refuse_marker(ordinary)
        return ordinary
    if isinstance(restore_tree, dict) and cast(dict[str, Any], restore_tree).get(MARK) == "key order":
        refuse_marker(ordinary)
        try:
            return in_key_order(ordinary, cast(Any, restore_tree)["orders"])
        except Exception as error:
            raise CannotRestore("the order of a recorded value's keys is damaged") from error
    return decode(restore_tree, with_defaults=with_defaults, fetch=fetch)


def with_key_orders(ordinary: Any, restore_tree: Any) -> Any:
    """Returns the plain value with its keys in the orders that `restore_data` returned for values inside of it. Returns
    it unchanged if `restore_data` returned anything but orders. Raises CannotRestore."""
    is_orders = isinstance(restore_tree, dict) and cast(dict[str, Any], restore_tree).get(MARK) == "key order"
    return restored_value(ordinary, restore_tree) if is_orders else ordinary


def encode(value: object, limits: ValueLimits = NO_LIMITS, keep: KeepBytes | None = None) -> Any:
    """Returns JSON values from which `decode` makes an equal value of the same types. Parameters and errors are those
    of `restore_data`.

    A plain value stands for itself: the returned object may be the value itself, and must be written before it changes.
    """
    if limits.size is not None and weigh(value, limits.size)[0] > limits.size:
        raise NotFaithful(CUT_SENTENCES["size"])
    survey = key_orders_of(value)
    if survey is not None:
        return value if survey.exact else tagged("json", text=_json_text(value, limits))
    return _encoded(value, limits, keep, lenient=False)


def decode(tree: Any, *, with_defaults: bool = False, fetch: FetchBytes | None = None) -> Any:
    """Returns the value that was encoded. Parameters are those of `restored_value`. Raises CannotRestore."""
    refuse_marker(tree)
    try:
        return _TaggedDecoding(with_defaults, fetch)(tree)
    except CannotRestore:
        raise
    except RecursionError:
        raise CannotRestore("a recorded value nests too deeply to be read here") from None
    except Exception as error:
        raise CannotRestore(f"a recorded value is damaged ({type(error).__name__}: {error})") from error


def encode_error(raised: BaseException, limits: ValueLimits = NO_LIMITS, keep: KeepBytes | None = None) -> Any:
    """Returns the tree from which `decode_error` rebuilds an exception. Parts that cannot be kept are left out, and
    listed in `left_out`."""
    try:
        return _encoded(raised, limits, keep, lenient=True)
    except NotFaithful as reason:
        return error_outline(raised, str(reason))


def decode_error(tree: object, fetch: FetchBytes | None = None) -> BaseException:
    """Rebuilds the exception; returns a `ReplayedError` if its class is gone. Raises CannotRestore if the tree is not
    an exception's."""
    raised = decode(tree, fetch=fetch)
    if not isinstance(raised, BaseException):
        raise CannotRestore(f"a recorded error is damaged: it holds a {type(raised).__name__}")
    return raised


def refuse_marker(value: object) -> None:
    """Raises CannotRestore if the value is a marker for content that was not kept."""
    if isinstance(value, dict) and NOT_KEPT in value:
        reason = cast(dict[str, Any], value)[NOT_KEPT]
        raise CannotRestore(f"this value was not kept ({reason}); the call has to be made again")


def _encoded(value: object, limits: ValueLimits, keep: KeepBytes | None, *, lenient: bool) -> Any:
    try:
        return _TaggedEncoding(limits, keep, lenient=lenient)(value)
    except NotFaithful:
        raise
    except RecursionError:
        raise NotFaithful("it nests too deeply") from None
    except BaseException as error:
        reraise_if_for_program(error)
        raise NotFaithful(f"reading it raised {type(error).__name__}: {error}") from error


class _TaggedEncoding:
    """Encodes one value. Tracks the objects around the current one, to find a cycle, and their depth, to stay within
    the limit of canonical JSON."""

    def __init__(self, limits: ValueLimits, keep: KeepBytes | None, *, lenient: bool):
        self.lenient = lenient
        self.array_room = ArrayRoom(limits.array_bytes)
        self._keep = keep
        self._left: float = float("inf") if limits.size is None else limits.size
        self.with_defaults = False
        self._inside: set[int] = set()
        self._levels = 0
        self._seen: dict[int, object] = {}  # with the objects: while they are held, no other object gets their ids
        self._repeated = 0
        self._names: dict[Any, Any] = {}

    def name_of(self, kind: object) -> Any:
        name = self._names.get(kind)
        if name is None:
            name = self._names[kind] = model_reference(kind)
        return name

    def __call__(self, value: Any, /) -> Any:
        kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind in LEAVES:
            tree = ENCODERS[kind](value, self)
            if kind is int or tree is not value or (kind is str and not value.isascii()):
                self._take_leaf(value, kind, tree)
            return tree
        if id(value) in self._inside:
            raise NotFaithful(f"a {kind.__qualname__} holds itself")
        self._take_one(value, kind)
        if _holds_others(kind):
            self._count(value)
        levels = 1 if kind is list else _LEVELS_OF_A_TAG
        if self._levels + levels > MAX_LEVELS:
            raise NotFaithful("it nests too deeply")
        self._inside.add(id(value))
        self._levels += levels
        try:
            return self._tree(value, kind)
        finally:
            self._inside.discard(id(value))
            self._levels -= levels

    def _take_one(self, value: Any, kind: Any) -> None:
        if kind is list:
            self.take(CONTAINER + len(value))
        else:
            self.take(OPENED + len(value) if kind in _CONTAINERS else OBJECT)

    def _take_leaf(self, value: Any, kind: Any, tree: Any) -> None:
        """Counts the weight of leaves that canonical JSON writes one by one."""
        if kind is int and (bits := value.bit_length()) > SHORT_BITS:
            self.take(digits_weight(bits) if bits <= MAX_INTEGER_BITS else bits // _HEX_BITS)
        elif kind is float and tree is not value:
            self.take(_ODD_NUMBER)
        elif kind is str and not value.isascii() and not is_text(value):
            self.take(_ODD_TEXT)

    def take(self, weight: int) -> None:
        self._left -= weight
        if self._left < 0:
            raise NotFaithful(CUT_SENTENCES["size"])

    def kept(self, data: bytes) -> Any:
        return kept_bytes(data, self._keep)

    def _count(self, value: object) -> None:
        if id(value) in self._seen:
            self._repeated += 1
            if self._repeated > MOST_REPEATED:
                raise NotFaithful("the same objects stand in it too often")
        self._seen[id(value)] = value

    def _tree(self, value: Any, kind: Any) -> Any:
        encoder = encoder_of(kind)
        if encoder is not None:
            return encoder(value, self)
        if issubclass(kind, BaseException):
            return error_tree(value, self)
        if (tree := array_tree(value, self)) is not None:
            return tree
        outline = http_tree(value) if self.lenient else None
        return object_tree(value, self) if outline is None else outline


def _holds_others(kind: Any) -> bool:
    return kind in _CONTAINERS or hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__pydantic_fields__")


class _TaggedDecoding:
    lenient = False

    def __init__(self, with_defaults: bool, fetch: FetchBytes | None):
        self.with_defaults = with_defaults
        self._fetch = fetch

    def bytes_of(self, tree: Any) -> bytes:
        if "base64" in tree:
            return base64.b64decode(tree["base64"], validate=True)
        data = None if self._fetch is None else self._fetch(ContentRef(tree["ref"]))
        if data is None or len(data) != tree["bytes"]:
            raise CannotRestore("the elements of a recorded array are not at hand; the call has to be made again")
        return data

    def __call__(self, tree: object, /) -> Any:
        if type(tree) is list:
            return [self(item) for item in cast(list[Any], tree)]
        if type(tree) is not dict:
            return tree
        fields = cast(dict[str, Any], tree)
        if MARK not in fields:
            return {key: self(item) for key, item in fields.items()}
        decoder = _DECODERS.get(fields[MARK])
        if decoder is None:
            raise CannotRestore(f"a recorded value has the unknown tag {fields[MARK]!r}; it may be of a newer version")
        return decoder(fields, self)
