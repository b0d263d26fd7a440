"""Reads any object into plain JSON values: dictionaries with texts as keys, lists, texts, numbers, true, false, null.

A value that JSON cannot express becomes an object with a key that starts with `$`:

| value | described as |
|---|---|
| bytes | `{"$bytes": "<base64>"}` |
| an array, a tensor, a table, a picture (see `arrays.py`) | `{"$array": {"type": ..., "shape": ..., ...}}` |
| set, frozenset | `{"$set": [...]}` in canonical order |
| a mapping whose keys collide as text | `{"$items": [[key, value], ...]}` |
| a request, connection, lock, file, ... (see `infrastructure.py`), a lazy object | `{"$type": "module.Type"}` |
| a secret, if there is a mask (see `masking.py`) | `{"$masked": "str"}` |
| a cycle, or more than 254 levels | `{"$cycle": "module.Type"}`, `{"$deep": "module.Type"}` |
| an object or container that occurs again, after 100,000 repetitions | `{"$repeated": "module.Type"}` |
| a part that is left out: the value is too large, or reading it takes too long | `{"$cut": {"why": "size", ...}}` |
| anything else | `{"$repr": "...", "$type": "module.Type"}`, the text bounded |

`$cut` has the `type` of a value that is left out, or the number of `items` that are left out of a container; in an
object, it is next to the items that are shown. `limits.py` defines what is too large, and what takes too long.

A value that is too large is read again, as a sample: the first and the last items of each container, as far as they
fit, and shared parts once. Open containers are on a list, not on Python's call stack, and are read level by level. So
the depth of the caller does not change the result, and each part of a sample gets its share.
"""

import base64
import enum
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from playhead.model.objects.arrays import ArrayForm, ArrayRoom, outline, read_array
from playhead.model.objects.infrastructure import is_connection
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.kinds import ReadingPlan, plan_of
from playhead.model.objects.limits import (
    CUT,
    ITEM,
    NO_LIMITS,
    OBJECT,
    OPENED,
    SCALAR,
    STEP,
    Cut,
    ValueLimits,
    digits_weight,
    weigh,
    weigh_inside,
)
from playhead.model.objects.masking import Mask, masked
from playhead.model.objects.plain_forms import attributes_of, class_of, described, type_name
from playhead.model.objects.tree_json import MAX_LEVELS, Marker, tree_json

_MAX_STEPS = 16  # from an object to a plain value
# A part that occurs several times is written several times: millions of times for 45 objects that all refer to each
# other. This many repetitions take about a second; a table whose rows share some thousand objects has fewer.
MOST_REPEATED = 100_000
# Sample of a value that is too large: number of first and last items of each container, and weight of the whole.
_FIRST, _LAST = 40, 10
_SAMPLE_SIZE = 10_000
_SET_MEMBER = 20  # each is written separately, for sorting
_PLAIN_CONTAINERS = frozenset({list, tuple, dict})
_SCALARS = frozenset({str, int, bool, float, type(None)})
_SMALL = 2**63
# As for parts of messages: for fewer bytes, a content of their own costs more than it saves.
_MOST_INLINE = 16 * 1024
_DICT: Any = dict
_MISSING: Any = object()


KeepBytes = Callable[[bytes], str]
"""Stores bytes as a content of their own and returns its ref."""


class _SetMarker(Marker):
    """Marker of a set; its members are sorted after all of them have been read."""


class _TooLarge(Exception):
    """Raised if the value is above its limit of size."""


class _OutOfTime(Exception):
    """Raised if the program's own code has used up its time for this value."""


class _Container:
    """A container whose children are read into `out`. `above`: the container around it.

    `owners`: the objects that it was made from, kept alive so that no other object gets their ids. `mask` hides secrets
    in it; None outside of objects. `level`: number of containers around its children.
    """

    __slots__ = ("above", "children", "level", "mask", "out", "owners", "tree")

    children: Iterator[Any]
    """Values for a list, (key, value) pairs for a dictionary."""
    out: Any
    tree: Any
    """What represents it in the container above."""

    def __init__(self, above: "_Container | None", mask: Mask | None, *owners: object):
        self.above = above
        self.mask = mask
        self.owners = [*owners]
        self.level = 0 if above is None else above.level + 1

    def open(self, children: Iterator[Any], out: object, marker: Marker | None = None) -> "_Container":
        """Sets the children, and the object into which they are read. `marker`: a description around it, one level
        further out."""
        self.children, self.out = children, out
        self.tree = out if marker is None else marker
        self.level += marker is not None
        return self

    def is_part_of(self, value: object) -> bool:
        """Whether this container, or one around it, was made from this object."""
        container: _Container | None = self
        while container is not None:
            for owner in container.owners:
                if owner is value:
                    return True
            container = container.above
        return False


class TreeReader:
    """Reads one value. `mask` hides secrets in what is made from objects, but not in plain dictionaries and lists."""

    def __init__(self, mask: Mask | None = None, limits: ValueLimits = NO_LIMITS, keep: KeepBytes | None = None):
        """`keep` stores the elements of large arrays as content; without it, they are in the tree."""
        self.cut: Cut | None = None
        """Why a part of the value was left out; None: nothing was."""
        self._mask = mask
        self._limits = limits
        self._keep = keep
        self._seconds = 0.0
        self._array_room = ArrayRoom(limits.array_bytes)
        self._answers: dict[int, tuple[object, Any]] = {}
        self._secret_fields: dict[ReadingPlan, bool] = {}
        self._start(float("inf") if limits.size is None else limits.size, sampling=False)

    def _start(self, size: float, *, sampling: bool) -> None:
        self._left = size
        # Budget for finding plain containers: each container inside another kind of container is weighed.
        self._to_weigh = 0 if self._limits.size is None else 2 * self._limits.size
        self._sampling = sampling
        self._seen: dict[int, object] = {}  # keeps the objects alive, so that no other gets their ids
        self._repeated = 0

    def tree(self, value: object) -> Any:
        """Returns the value as plain JSON values. Parts of the result may belong to the program: write it before they
        change.

        Never raises (except MemoryError and the like).
        """
        try:
            return self._tree(value, None, None)
        except _TooLarge:
            return self.sample(value)

    def sample(self, value: object) -> Any:
        """Does the same as `tree` for a value that is known to be too large."""
        self.cut = self.cut or "size"
        self._start(_SAMPLE_SIZE, sampling=True)
        return self._tree(value, None, None)

    def _tree(self, value: object, mask: Mask | None, above: _Container | None) -> Any:
        root = _Container(above, mask).open(iter((value,)), [])
        root.level = 0 if above is None else above.level
        containers = [root]
        for container in containers:  # grows in the loop; by level, so that each part of a sample gets its share
            self._fill(container, containers)
        for container in reversed(containers):  # inner ones first
            if type(container.tree) is _SetMarker:
                container.out.sort(key=tree_json)
        return root.out[0]

    def _fill(self, container: _Container, containers: list[_Container]) -> None:
        out, mask = container.out, container.mask
        if class_of(out) is list:
            for child in container.children:
                tree = child if type(child) in _SCALARS else self._read(child, mask, container)
                if type(tree) is _Container:
                    containers.append(tree)
                    tree = tree.tree
                out.append(tree)
        else:
            for key, child in container.children:
                tree = child if type(child) in _SCALARS else self._read(child, mask, container)
                if type(tree) is _Container:
                    containers.append(tree)
                    tree = tree.tree
                out[key] = tree

    def _read(self, value: object, mask: Mask | None, above: _Container) -> Any:
        """Returns the plain value of a scalar or a description; for anything else, a container whose children are not
        read yet."""
        container = _Container(above, mask)
        original = value
        try:
            while True:
                kind = class_of(value)
                if kind in _SCALARS or kind is Marker:
                    return value
                if (marker := _end_of_the_way(value, container)) is not None:
                    return marker
                if kind in _PLAIN_CONTAINERS:
                    return self._plain_container(value, container)
                container.owners.append(value)
                plan = plan_of(kind)
                container.mask = container.mask if plan.own else self._mask
                if not self._take_object(value, plan):
                    return _cut("size", plan.name)
                if plan.is_final:
                    return self._final(value, plan, container)
                value = self._nearer(value, plan)
        except _TooLarge:
            raise
        except _OutOfTime:
            self.cut = "time"
            return _cut("time", type_name(original))
        except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
            reraise_if_for_program(error)
            return self._described(original)

    def _plain_container(self, value: Any, container: _Container) -> Any:
        if container.mask is None and self._is_plain(value):
            return value
        container.owners.append(value)
        return self._dict(value, container) if type(value) is dict else self._list(value, container)

    def _is_plain(self, value: object) -> bool:
        """Whether a container, with everything in it, is a tree already. If so, its weight is subtracted."""
        if self._sampling or self._to_weigh <= 0:
            return False
        weight, is_plain = weigh(value, int(self._left), as_tree=True)
        self._to_weigh -= weight
        if not is_plain or weight > self._left:
            return False
        self._left -= weight
        return True

    # --- what the program's own code says, within limits --------------------------------------------------------------

    def _timed(self, question: Callable[[], Any]) -> Any:
        """Calls code of the program and returns its result. Raises _OutOfTime if such code has used up its time."""
        limits = self._limits
        if limits.seconds is None:
            return question()
        if self._seconds >= limits.seconds:
            raise _OutOfTime
        start = limits.clock()
        try:
            return question()
        finally:
            self._seconds += limits.clock() - start

    def _asked_once(self, value: object, question: Callable[[], Any]) -> Any:
        """Does the same as `_timed` for code of one object; returns the first result if the object is read again."""
        answer = self._answers.get(id(value))
        if answer is None:
            answer = self._answers[id(value)] = value, self._timed(question)
        return answer[1]

    def _described(self, value: object) -> Marker:
        try:
            return Marker(self._asked_once(value, lambda: described(value, self._mask)))
        except _OutOfTime:
            self.cut = "time"
            return _cut("time", type_name(value))

    def _take(self, weight: int) -> bool:
        """Subtracts a weight and returns whether there was room for it. Raises _TooLarge if there was none, except in a
        sample."""
        self._left -= weight
        if self._left >= 0:
            return True
        if self._sampling:
            return False
        raise _TooLarge

    def _take_object(self, value: object, plan: ReadingPlan) -> bool:
        weight = STEP if plan.own else OBJECT
        if plan.weigh is None or self._limits.size is None:
            return self._take(weight)
        whole = plan.weigh(value)
        if self._sampling and whole > self._left:  # its neighbours are still shown
            self._take(weight)
            return False
        return self._take(weight + whole)

    def _take_inside(self, value: object, *, digits: bool = False) -> bool:
        """Does the same as `_take` for the weight of everything that code of Python or of a library reads in one step,
        or writes as digits."""
        return self._limits.size is None or self._take(weigh_inside(value, int(self._left), digits=digits))

    def _no_room(self, count: int, weight: int, container: _Container) -> Marker | None:
        """Returns the marker for a container that is not read: there is no room, or it was read before. None: read it.
        `count`: number of its items; `weight`: weight of each."""
        of = container.owners[0]
        if id(of) in self._seen and count:
            self._repeated += 1
            if self._sampling or self._repeated > MOST_REPEATED:
                return Marker({"$repeated": type_name(of)})
        self._seen[id(of)] = of
        if self._take(OPENED + weight * (min(count, _FIRST + _LAST) if self._sampling else count)):
            return None
        return _cut("size", type_name(of), count)

    def _is_sampled(self, count: int) -> bool:
        return self._sampling and count > _FIRST + _LAST

    # --- containers ---------------------------------------------------------------------------------------------------

    def _list(self, value: object, container: _Container, fields: tuple[str, ...] = ()) -> Any:
        base: Any = list if issubclass(type(value), list) else tuple
        count = base.__len__(value)
        if (marker := self._no_room(count, SCALAR, container)) is not None:
            return marker
        if self._is_sampled(count):
            first, last = base.__getitem__(value, slice(_FIRST)), base.__getitem__(value, slice(-_LAST, None))
            items: list[Any] = [*first, _cut("size", None, count - _FIRST - _LAST), *last]
        else:
            items = list(base.__iter__(value))  # a subclass's iterator may never end
        if container.mask:
            items = _without_secrets(items, fields, container.mask)
        return items if _SCALARS.issuperset(map(type, items)) else container.open(iter(items), [])

    def _dict(self, value: Any, container: _Container) -> Any:
        if is_connection(value):
            return Marker({"$type": "connection"})
        count = _DICT.__len__(value)
        if (marker := self._no_room(count, ITEM, container)) is not None:
            return marker
        view = _DICT.items(value)  # a subclass's `items` may be hostile
        if self._is_sampled(count):
            items = [*islice(view, _FIRST), *reversed([*islice(reversed(view), _LAST)])]
            return self._object(items, container, _cut("size", None, count - len(items)))
        return self._object(list(view), container)

    def _object(self, items: list[tuple[Any, Any]], container: _Container, left_out: Marker | None = None) -> Any:
        """Opens an object with these items, with secrets masked. `left_out`: marker for its other items."""
        mask = container.mask
        if mask:
            items = [(key, masked(item) if mask.hides(key, item) else item) for key, item in items]
        return self._named(items, container, left_out)

    def _named(self, items: list[tuple[Any, Any]], container: _Container, left_out: Marker | None = None) -> Any:
        """Does the same as `_object` for items without secrets."""
        named = {key if type(key) is str else self._key(key, container): item for key, item in items}
        if len(named) != len(items):  # 1 and "1": as text they are one key, so keep the pairs
            out: list[Any] = [] if left_out is None else [left_out]
            return container.open(iter([[key, item] for key, item in items]), out, Marker({"$items": out}))
        if left_out is not None:
            named |= left_out
        return named if _SCALARS.issuperset(map(type, named.values())) else container.open(iter(named.items()), {})

    def _key(self, key: Any, container: _Container) -> str:
        kind = class_of(key)
        if not self._take(ITEM + (digits_weight(key.bit_length()) if kind is int else 0)) and kind is int:
            return tree_json(_cut("size", type_name(key))).decode()
        if kind is int and -_SMALL < key < _SMALL:
            return str(key)
        if issubclass(kind, enum.Enum) and issubclass(type(key.value), str):
            key = key.value
        if issubclass(type(key), str):
            # `str()` of a subclass may return anything; orjson would write this text.
            return str.__str__(key)
        return tree_json(self._tree(key, container.mask, container)).decode()

    def _set(self, value: Any, container: _Container) -> Any:
        base: Any = next((kind for kind in (set, frozenset) if issubclass(type(value), kind)), None)
        count = self._timed(lambda: len(value)) if base is None else base.__len__(value)
        if (marker := self._no_room(count, _SET_MEMBER, container)) is not None:
            return marker
        if self._is_sampled(count):
            # The order differs from process to process, and finding the smallest members takes long.
            return Marker({"$set": [], **_cut("size", None, count)})
        members: list[Any] = self._timed(lambda: [*islice(value, count)]) if base is None else [*base.__iter__(value)]
        out: list[Any] = []
        return container.open(iter(members), out, _SetMarker({"$set": out}))

    def _mapping(self, value: Mapping[Any, Any], container: _Container) -> Any:
        count = self._timed(lambda: len(value))
        if (marker := self._no_room(count, ITEM, container)) is not None:
            return marker
        items: list[tuple[Any, Any]] = []
        why: Cut = "size"
        try:
            keys = self._timed(lambda: iter(value))
            for _ in range(_FIRST if self._is_sampled(count) else count):  # its iterator may never end
                key = self._timed(lambda: next(keys, _MISSING))
                if key is _MISSING:
                    count = len(items)
                    break
                items.append((key, self._timed(lambda key=key: value[key])))
        except _OutOfTime:
            why = self.cut = "time"
        left_out = count - len(items)
        return self._object(items, container, _cut(why, None, left_out) if left_out else None)

    def _fields(self, value: object, plan: ReadingPlan, container: _Container) -> Any:
        if (marker := self._no_room(len(plan.fields), ITEM, container)) is not None:
            return marker
        state = attributes_of(value)
        items: list[tuple[str, Any]] = []
        for name in plan.fields:
            item = state.get(name, _MISSING)
            if item is not _MISSING:
                items.append((name, item))
            elif not _is_loaded_when_read(value, name):
                items.append((name, self._timed(lambda name=name: getattr(value, name))))
        return self._object(items, container) if self._has_secrets(plan) else self._named(items, container)

    def _has_secrets(self, plan: ReadingPlan) -> bool:
        """Whether fields of this class may be masked."""
        answer = self._secret_fields.get(plan)
        if answer is None:
            mask = self._mask
            answer = mask is not None and any(mask.hides(name, "?") for name in plan.fields)
            self._secret_fields[plan] = answer
        return answer

    # --- objects ------------------------------------------------------------------------------------------------------

    def _final(self, value: Any, plan: ReadingPlan, container: _Container) -> Any:
        """Reads an object that does not stand for another value. Returns the same as `_read`."""
        match plan.reading:
            case "fields":
                return self._fields(value, plan, container)
            case "dict":
                return self._dict(value, container)
            case "list":
                return self._list(value, container, plan.fields)
            case "mapping":
                return self._mapping(value, container)
            case "set":
                return self._set(value, container)
            case "bytes":
                return Marker({"$bytes": base64.b64encode(bytes(value)).decode()})
            case "type only":
                return Marker({"$type": plan.name})
            case _:
                return self._by_repr(value, plan)

    def _by_repr(self, value: Any, plan: ReadingPlan) -> Marker:
        if plan.reading == "method":  # its `repr` includes that of its object
            return Marker({"$repr": f"<bound method {value.__func__.__qualname__}>", "$type": plan.name})
        if plan.reading == "default repr":
            return Marker(described(value, self._mask))
        if plan.reading == "holder repr" and not self._take_inside(
            (value.args, getattr(value, "keywords", None)), digits=True
        ):
            return _cut("size", plan.name)
        return self._described(value)

    def _nearer(self, value: Any, plan: ReadingPlan) -> Any:
        """Returns the value that an object stands for, one step nearer to plain values."""
        match plan.reading:
            case "dump":
                return self._dumped(value, plan)
            case "enum":
                return value.value
            case "array":
                return self._array(value, plan)
            case "array element":
                return _of_python(value)
            case "scalar":
                return _exact(value)
            case "namespace":
                return dict(attributes_of(value))
            case "items":
                return self._items(value)
            case "iso":
                return self._timed(value.isoformat)
            case "keyed value":
                is_secret = self._mask and self._mask.hides(value.key, value.value)
                return masked(value.value) if is_secret else value.value
            case _:
                return self._timed(lambda: str(value))

    def _dumped(self, value: object, plan: ReadingPlan) -> Any:
        if not self._take_inside(value):
            return _cut("size", plan.name)
        kind = class_of(value)
        # Its warnings are about the user's data, and the user did not ask for a dump.
        quiet = {"warnings": False} if hasattr(kind, "__pydantic_serializer__") else {}
        return self._asked_once(value, lambda: kind.model_dump(value, mode="python", **quiet))

    def _array(self, value: object, plan: ReadingPlan) -> Any:
        form = self._answers.get(id(value), (value, None))[1]
        if form is None:
            try:
                form = read_array(value, plan.family, self._array_room)
            except BaseException as error:  # noqa: BLE001 - a library's own, or the user's code in a subclass
                reraise_if_for_program(error)
                form = outline(value)
            self._answers[id(value)] = value, form
        for part in form.all_parts():
            self._take(OBJECT + SCALAR * (min(part.count, _FIRST) if self._sampling else part.count))
            if part.are_objects and not self._sampling and OBJECT * part.count > self._left:
                raise _TooLarge  # before the objects are made
        if form.is_cut:
            self._take(OBJECT)  # cost of a sample, or of the type and shape
            self.cut = self.cut or "size"
        return {"$array": self._form(form)}

    def _form(self, form: ArrayForm) -> dict[str, Any]:
        result = dict(form.about)
        if form.name is not None:
            result["name"] = form.name
            if self._mask and self._mask.hides(form.name, "?"):
                return {"name": form.name, "items": masked("?")}
        if form.data is not None:
            if form.kept is None:
                form.kept = kept_bytes(form.data, self._keep)
            result |= form.kept
        if first := list(form.first):
            result["first"] = first
        if form.items is not None:
            result["items"] = list(form.items(min(form.count, _FIRST if self._sampling else form.count)))
            if self._is_sampled(form.count):
                result["items"].append(_cut("size", None, form.count - _FIRST))
        return result | {name: [*map(self._form, parts)] for name, parts in form.parts.items()}

    def _items(self, value: Any) -> list[Any]:
        count = len(value)
        if self._is_sampled(count):
            return [*islice(value, _FIRST), _cut("size", None, count - _FIRST)]
        self._take(SCALAR * count)
        return list(islice(value, count))


def _end_of_the_way(value: object, container: _Container) -> Marker | None:
    """Returns the marker for a value that is not read further: it contains itself, or there are too many levels or
    steps. None: read it."""
    if container.is_part_of(value):
        return Marker({"$cycle": type_name(value)})
    if container.level > MAX_LEVELS or len(container.owners) >= _MAX_STEPS:
        return Marker({"$deep": type_name(value)})
    return None


def kept_bytes(data: bytes, keep: KeepBytes | None) -> dict[str, Any]:
    """Returns plain values for bytes: their size and the ref of a content, or the bytes as base64 if they are few or
    `keep` is None."""
    if keep is None or len(data) <= _MOST_INLINE:
        return {"base64": base64.b64encode(data).decode()}
    return {"bytes": len(data), "ref": keep(data)}


def _of_python(value: Any) -> Any:
    """Returns the Python value of an element of an array."""
    plain = value.item()
    return Marker(described(value, None)) if class_of(plain) is class_of(value) else plain  # more digits than Python's


def _exact(value: Any) -> Any:
    """Returns the text or number of an instance of a subclass, without calling code of the subclass."""
    if issubclass(type(value), str):
        return str.__str__(value)
    return int.__int__(value) if issubclass(type(value), int) else float.__float__(value)


def _cut(why: Cut, kind: str | None, items: int | None = None) -> Marker:
    about = {"why": why, "type": kind, "items": items}
    return Marker({CUT: {key: item for key, item in about.items() if item is not None}})


def _without_secrets(items: list[Any], fields: tuple[str, ...], mask: Mask) -> list[Any]:
    if fields and len(fields) == len(items):
        return [masked(item) if mask.hides(name, item) else item for name, item in zip(fields, items, strict=True)]
    return [items[0], masked(items[1])] if mask.hides_second(items) else items


def _is_loaded_when_read(value: object, name: str) -> bool:
    """Whether reading this attribute makes an object-relational mapper query the database."""
    return type(getattr(class_of(value), name, None)).__module__.startswith("sqlalchemy.")
