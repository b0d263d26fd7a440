"""The checkpoints of one thread of LangGraph, folded from its records. Pure.

A record is a checkpoint, with what differs from its parent, or the writes of one task. Of a list of messages, it has
what differs from the list that the channel had last.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from playhead.conversations.langgraph.differences import difference, patched
from playhead.conversations.langgraph.stored_values import (
    KEPT,
    ON,
    LastList,
    MessageRefs,
    StoredValue,
    value_of_record,
    value_record,
)
from playhead.model.json_value import Json, JsonMapping, JsonValue, int_at, list_of, object_at, object_of, text_at
from playhead.model.ref import ContentRef

PUT: Final = "checkpoint"
WRITES_OF: Final = "writes_of"
_NAMESPACE, _PARENT, _CHANGE, _VALUES, _GONE = "namespace", "parent", "change", "values", "gone"
_WHOLE: Final = "whole"
_TASK, _PATH, _WRITES = "task", "path", "writes"

Place = tuple[str, str]
"""The namespace and the id of a checkpoint."""


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint. `fields`: all but the values, as JSON: `checkpoint` and `metadata`. `values`: by channel."""

    namespace: str
    id: str
    parent: str | None
    fields: JsonMapping
    values: Mapping[str, StoredValue]

    @property
    def place(self) -> Place:
        """Its namespace and id."""
        return self.namespace, self.id

    @property
    def metadata(self) -> JsonMapping:
        """Its metadata, as JSON."""
        return object_at(self.fields, "metadata")

    @property
    def versions(self) -> JsonMapping:
        """The version of each channel."""
        return object_at(object_at(self.fields, "checkpoint"), "channel_versions")


@dataclass(frozen=True, slots=True)
class StoredWrite:
    """What a task has written to a channel. `index`: its place among the task's writes; negative: LangGraph's own."""

    task: str
    index: int
    channel: str
    value: StoredValue
    path: str

    @property
    def order(self) -> tuple[str, str, int]:
        """In this order, the writes of a step are applied."""
        return self.path, self.task, self.index


@dataclass(slots=True)
class CheckpointLog:
    """All checkpoints of a thread, in the order in which they were stored.

    Another thread may add records while one looks at it: what is gone through is a copy, made in one step."""

    checkpoints: dict[Place, StoredCheckpoint] = field(default_factory=dict[Place, StoredCheckpoint])
    _writes: dict[Place, dict[tuple[str, int], StoredWrite]] = field(
        default_factory=dict[Place, dict[tuple[str, int], StoredWrite]]
    )
    _lists: dict[tuple[str, str], LastList] = field(default_factory=dict[tuple[str, str], LastList])
    unreadable: set[Place] = field(default_factory=set[Place])
    """Checkpoints whose record goes on from one that is not there any more."""
    _named: set[ContentRef] = field(default_factory=set[ContentRef])

    # --- questions ---------------------------------------------------------------------------------------------------

    def names(self, ref: ContentRef) -> bool:
        """Whether a record names this content."""
        return ref in self._named

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored."""
        return not self.checkpoints and not self._writes

    def latest(self, namespace: str) -> StoredCheckpoint | None:
        """Returns the last checkpoint of a namespace by id; None: there is none."""
        ids = [id for ns, id in [*self.checkpoints] if ns == namespace]  # noqa: A001 - the word for it
        return self.checkpoints[namespace, max(ids)] if ids else None

    def newest_first(self) -> list[StoredCheckpoint]:
        """Returns all checkpoints, by id."""
        return sorted(self.checkpoints.values(), key=lambda checkpoint: checkpoint.id, reverse=True)

    def writes(self, place: Place) -> list[StoredWrite]:
        """Returns the writes that belong to a checkpoint, in the order in which they are applied."""
        return sorted(self._writes.get(place, {}).values(), key=lambda write: write.order)

    def ancestors(self, place: Place) -> Iterator[StoredCheckpoint]:
        """Yields the parent of a checkpoint, the parent's parent, and so on."""
        at = self.checkpoints.get(place)
        while at is not None and at.parent is not None:
            at = self.checkpoints.get((at.namespace, at.parent))
            if at is not None:
                yield at

    # --- records -----------------------------------------------------------------------------------------------------

    def put_record(self, new: StoredCheckpoint) -> Json:
        """Returns the record of a checkpoint that comes after the others. Its parent's values are left out."""
        parent = self._parent(new)
        old = StoredCheckpoint("", "", None, {}, {}) if parent is None else parent
        values: Json = {
            channel: value_record(value, self._lists.get((new.namespace, channel)), new.parent)
            for channel, value in new.values.items()
            if not value.same_as(old.values.get(channel))
        }
        gone: list[JsonValue] = [channel for channel in old.values if channel not in new.values]
        record: Json = {PUT: new.id}
        optional: Json = {
            _NAMESPACE: new.namespace, _PARENT: new.parent, _CHANGE: difference(old.fields, new.fields),
            _VALUES: values, _GONE: gone, _WHOLE: parent is None and new.parent is not None,
        }  # fmt: skip
        return record | {name: part for name, part in optional.items() if part}

    def writes_record(self, place: Place, task: str, path: str, writes: Sequence[StoredWrite]) -> Json:
        """Returns the record of writes of one task."""
        namespace, checkpoint = place
        stored: list[JsonValue] = [
            [write.index, write.channel, value_record(write.value, None, None)] for write in writes
        ]
        record: Json = {WRITES_OF: checkpoint, _TASK: task, _WRITES: stored}
        if namespace:
            record[_NAMESPACE] = namespace
        if path:
            record[_PATH] = path
        return record

    def apply(self, record: JsonMapping) -> None:
        """Adds a record."""
        namespace = text_at(record, _NAMESPACE)
        if PUT in record:
            self._put(namespace, record)
        else:
            self._write((namespace, text_at(record, WRITES_OF)), record)

    def _put(self, namespace: str, record: JsonMapping) -> None:
        new = StoredCheckpoint(namespace, text_at(record, PUT), text_at(record, _PARENT, None), {}, {})
        parent = self._parent(new)
        parts = {channel: object_of(part) for channel, part in object_at(record, _VALUES).items()}
        bases = {channel: self._base(new, channel, part) for channel, part in parts.items() if KEPT in part}
        if (parent is None and new.parent is not None and _WHOLE not in record) or None in bases.values():
            self.unreadable.add(new.place)
            return
        gone = list_of(record.get(_GONE))
        values = {} if parent is None else {name: value for name, value in parent.values.items() if name not in gone}
        for channel, part in parts.items():
            values[channel] = self._value(new, channel, value_of_record(part, bases.get(channel)))
        fields = patched({} if parent is None else parent.fields, object_at(record, _CHANGE))
        self.checkpoints.pop(new.place, None)  # put again: it is the last one now
        self.checkpoints[new.place] = StoredCheckpoint(namespace, new.id, new.parent, fields, values)
        self.unreadable.discard(new.place)

    def _write(self, place: Place, record: JsonMapping) -> None:
        task, path = text_at(record, _TASK), text_at(record, _PATH)
        stored = self._writes.setdefault(place, {})
        for each in list_of(record.get(_WRITES)):
            index, channel, part = int_at(each, 0), text_at(each, 1), object_at(each, 2)
            if index >= 0 and (task, index) in stored:
                continue
            value = value_of_record(part, None)
            self._named.update(value.refs())
            stored[task, index] = StoredWrite(task, index, channel, value, path)

    def _value(self, new: StoredCheckpoint, channel: str, value: StoredValue) -> StoredValue:
        if value.items is None:
            self._named.update(value.refs())
            return value
        self._named.update(value.items.added)
        last = self._lists.get((new.namespace, channel))
        if last is not None and last.items is value.items.before:
            refs = last.refs
            del refs[value.items.kept :]
            refs += value.items.added
        else:
            refs = value.refs()
        self._lists[new.namespace, channel] = LastList(new.id, value.items, refs)
        return value

    def _base(self, new: StoredCheckpoint, channel: str, part: JsonMapping) -> MessageRefs | None:
        """Returns the list that a list goes on from; None: it is not there any more."""
        on = text_at(part, ON, None) or new.parent or ""
        checkpoint = self.checkpoints.get((new.namespace, on))
        value = None if checkpoint is None else checkpoint.values.get(channel)
        return None if value is None else value.items

    def _parent(self, new: StoredCheckpoint) -> StoredCheckpoint | None:
        return None if new.parent is None else self.checkpoints.get((new.namespace, new.parent))

    # --- fewer checkpoints -------------------------------------------------------------------------------------------

    def without(self, removed: Collection[Place]) -> list[Json]:
        """Returns the records of a log that has all but these checkpoints, and their writes."""
        return _Rewriting().all_of(self, removed).records

    def with_all_of(self, other: "CheckpointLog") -> list[Json]:
        """Returns the records of a log that has what this one and another have."""
        return _Rewriting().all_of(self, ()).all_of(other, ()).records

    def stored_writes(self) -> Iterator[tuple[Place, list[StoredWrite]]]:
        """Yields all writes, also of checkpoints that are about to be put."""
        for place in [*self._writes]:
            yield place, self.writes(place)

    def of_runs(self, runs: Collection[str]) -> set[Place]:
        """Returns the checkpoints with one of these `run_id`s in their metadata."""
        return {each.place for each in self.checkpoints.values() if text_at(each.metadata, "run_id") in runs}

    def not_latest(self) -> set[Place]:
        """Returns the checkpoints that are not the last of their namespace, and that no last one needs to rebuild the
        values of its delta channels."""
        latest = [self.latest(namespace) for namespace in {namespace for namespace, _ in self.checkpoints}]
        kept: set[Place] = set()
        for checkpoint in latest:
            if checkpoint is not None:
                kept |= {checkpoint.place, *(ancestor.place for ancestor in self._needed(checkpoint))}
        return set(self.checkpoints) - kept

    def _needed(self, checkpoint: StoredCheckpoint) -> Iterator[StoredCheckpoint]:
        """Yields the ancestors back to the one that has a value of each delta channel. LangGraph counts what it has
        written to these channels since then."""
        counted = object_at(checkpoint.metadata, "counters_since_delta_snapshot")
        wanted = {name for name in counted if name in checkpoint.versions and name not in checkpoint.values}
        for ancestor in self.ancestors(checkpoint.place):
            if not wanted:
                return
            yield ancestor
            wanted -= set(ancestor.values)


class _Rewriting:
    """Makes the records of a new log."""

    def __init__(self) -> None:
        self.records: list[Json] = []
        self._log = CheckpointLog()

    def all_of(self, log: CheckpointLog, removed: Collection[Place]) -> "_Rewriting":
        """Adds all of a log but these checkpoints."""
        for checkpoint in [*log.checkpoints.values()]:
            if checkpoint.place not in removed:
                self._add(self._log.put_record(checkpoint))
        for place, writes in log.stored_writes():
            if place not in removed:
                for (task, path), of_task in _by_task(writes):
                    self._add(self._log.writes_record(place, task, path, of_task))
        return self

    def _add(self, record: Json) -> None:
        self.records.append(record)
        self._log.apply(record)


def _by_task(writes: Iterable[StoredWrite]) -> Iterator[tuple[tuple[str, str], list[StoredWrite]]]:
    tasks: dict[tuple[str, str], list[StoredWrite]] = {}
    for write in writes:
        tasks.setdefault((write.task, write.path), []).append(write)
    yield from tasks.items()
