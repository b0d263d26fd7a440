"""The items of one namespace of a store, folded from its records. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, cast

from playhead.conversations.langgraph.stored_values import StoredValue, value_of_record, value_record
from playhead.model.json_value import Json, JsonMapping, object_at, text_at
from playhead.model.ref import ContentRef

_KEY, _VALUE, _AT, _CREATED, _TTL, _READ, _GONE = "key", "value", "at", "created", "ttl", "read", "gone"
# A log with so many records that say nothing any more is written anew.
_FEWEST_STALE: Final = 100


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item. `ttl`: it expires so many minutes after it was written or `read` last; None: never."""

    value: StoredValue
    created: datetime
    updated: datetime
    ttl: float | None = None
    read: datetime | None = None

    def is_expired(self, now: datetime) -> bool:
        """Whether it counts as deleted."""
        return self.ttl is not None and now >= (self.read or self.updated) + timedelta(minutes=self.ttl)


@dataclass(slots=True)
class ItemLog:
    """The items of a namespace by key."""

    items: dict[str, StoredItem] = field(default_factory=dict[str, StoredItem])
    _records: int = 0
    _named: set[ContentRef] = field(default_factory=set[ContentRef])

    def names(self, ref: ContentRef) -> bool:
        """Whether a record names this content."""
        return ref in self._named

    def is_stale(self, now: datetime) -> bool:
        """Whether most records say nothing any more."""
        living = sum(1 for item in self.items.values() if not item.is_expired(now))
        return self._records > 2 * living + _FEWEST_STALE

    def put_record(self, key: str, value: StoredValue, ttl: float | None, now: datetime) -> Json:
        """Returns the record of an item that is written now."""
        before = self.items.get(key)
        created = now if before is None or before.is_expired(now) else before.created
        return _record(key, StoredItem(value, created, now, ttl))

    def living_records(self, now: datetime) -> list[Json]:
        """Returns the records of a log that has these items alone, without those that have expired."""
        return [_record(key, item) for key, item in self.items.items() if not item.is_expired(now)]

    def apply(self, record: JsonMapping) -> None:
        """Adds a record."""
        self._records += 1
        key = text_at(record, _KEY)
        if _GONE in record:
            self.items.pop(key, None)
        elif _VALUE in record:
            value = value_of_record(object_at(record, _VALUE), None)
            self._named.update(value.refs())
            updated, read = _time(record, _AT), record.get(_READ)
            created = _time(record, _CREATED) if _CREATED in record else updated
            ttl = cast("float | None", record.get(_TTL))
            self.items[key] = StoredItem(value, created, updated, ttl, None if read is None else _time(record, _READ))
        elif key in self.items:
            self.items[key] = replace(self.items[key], read=_time(record, _READ))


def read_record(key: str, now: datetime) -> Json:
    """Returns the record of an item that is read now: its time to live begins anew."""
    return {_KEY: key, _READ: now.isoformat()}


def gone_record(key: str) -> Json:
    """Returns the record of an item that is deleted."""
    return {_KEY: key, _GONE: True}


def _record(key: str, item: StoredItem) -> Json:
    record: Json = {_KEY: key, _VALUE: value_record(item.value, None, None), _AT: item.updated.isoformat()}
    if item.created != item.updated:
        record[_CREATED] = item.created.isoformat()
    if item.ttl is not None:
        record[_TTL] = item.ttl
    if item.read is not None:
        record[_READ] = item.read.isoformat()
    return record


def _time(record: JsonMapping, name: str) -> datetime:
    return datetime.fromisoformat(text_at(record, name))


# --- searches --------------------------------------------------------------------------------------------------------


def matches(value: object, wanted: object) -> bool:
    """Whether a value is as a filter wants it: equal, with these members, or as its operators (`$eq`, `$ne`, `$gt`,
    `$gte`, `$lt`, `$lte`) say. Raises ValueError for another operator."""
    if isinstance(wanted, Mapping):
        conditions = cast("Mapping[str, Any]", wanted)
        if any(name.startswith("$") for name in conditions):
            return all(_compares(value, operator, operand) for operator, operand in conditions.items())
        if not isinstance(value, Mapping):
            return False
        members = cast("Mapping[str, Any]", value)
        return all(matches(members.get(name), each) for name, each in conditions.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple):
            return False
        have, want = cast("Sequence[object]", value), cast("Sequence[object]", wanted)
        return len(have) == len(want) and all(map(matches, have, want))
    return value == wanted


def _compares(value: object, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return (value == operand) is (operator == "$eq")
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"unsupported operator {operator!r}: expected $eq, $ne, $gt, $gte, $lt or $lte")
    try:
        have, want = float(cast(Any, value)), float(operand)
    except (TypeError, ValueError):  # not a number: no other item is hidden by it
        return False
    if operator.startswith("$gt"):
        return have > want or (operator == "$gte" and have == want)
    return have < want or (operator == "$lte" and have == want)


def share_of_words(query: str, text: str) -> float:
    """Returns the share of the words of a query that are in a text, whatever their case: 0 to 1."""
    words = set(query.casefold().split())
    folded = text.casefold()
    return sum(1 for word in words if word in folded) / len(words) if words else 1.0


def namespace_matches(namespace: Sequence[str], kind: str, path: Sequence[str]) -> bool:
    """Whether a namespace begins (`prefix`) or ends (`suffix`) with a path; `*` in it stands for any label. Raises
    ValueError for another kind."""
    if kind not in ("prefix", "suffix"):
        raise ValueError(f"unsupported match type {kind!r}: expected 'prefix' or 'suffix'")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
