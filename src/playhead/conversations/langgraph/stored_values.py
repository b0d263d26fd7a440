"""Values of LangGraph as records have them. Pure.

A value is the JSON itself if that is short and reads back to the same value, else LangGraph's serialisation: in the
record if it is short, else as content of its own. In a list of messages, each message is such a content: the record has
what was added to the list before it.
"""

from dataclasses import dataclass
from typing import Final, cast

from playhead.model.json_value import Json, JsonMapping, int_at, list_of, object_at, text_at
from playhead.model.ref import ContentRef

PLAIN: Final = "json"
FORM: Final = "as"
"""How LangGraph's serialiser calls the form of the bytes."""
DATA: Final = "data"
"""The bytes, in base64."""
REF: Final = "ref"
ITEMS: Final = "items"
KEPT: Final = "kept"
"""Of a list: how many of the messages of the list before it are the first of this one."""
ON: Final = "on"
"""Of a list: the checkpoint that has the list before it; none: the parent."""
MEMBERS: Final = "members"
"""Of a dictionary with a list of messages in it: its names and values."""
SNAPSHOT: Final = "snapshot"
"""Whether this is what LangGraph keeps of a `DeltaChannel` from time to time."""


@dataclass(frozen=True, slots=True)
class MessageRefs:
    """The refs of a list of messages: the first `kept` of the list `before`, then `added`."""

    before: "MessageRefs | None"
    kept: int
    added: tuple[ContentRef, ...]

    def __len__(self) -> int:
        """The number of messages."""
        return self.kept + len(self.added)

    def refs(self) -> list[ContentRef]:
        """Returns the refs, first to last."""
        parts: list[tuple[ContentRef, ...]] = []
        at, wanted = self, len(self)
        while wanted:
            parts.append(at.added[: max(0, wanted - at.kept)])
            wanted = min(wanted, at.kept)
            if at.before is None:
                break
            at = at.before
        return [ref for part in reversed(parts) for ref in part]


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value as it is stored. `json`: see the constants above; without refs for a list, whose messages are `items`."""

    json: JsonMapping
    items: MessageRefs | None = None

    @property
    def is_snapshot(self) -> bool:
        """Whether it is a snapshot of a `DeltaChannel`."""
        return SNAPSHOT in self.json

    def refs(self) -> list[ContentRef]:
        """The contents that it needs."""
        return _refs_in(self.json) if self.items is None else self.items.refs()

    def same_as(self, other: "StoredValue | None") -> bool:
        """Whether both are the same value."""
        if other is None or self.json != other.json or (self.items is None) is not (other.items is None):
            return self is other
        return self.items is other.items or self.refs() == other.refs()


@dataclass(slots=True)
class LastList:
    """The list of messages that a channel had last, in the order of the records. `checkpoint`: which has it."""

    checkpoint: str
    items: MessageRefs
    refs: list[ContentRef]


def value_record(value: StoredValue, last: LastList | None, parent: str | None) -> Json:
    """Returns the JSON of a value of a checkpoint with this parent."""
    if value.items is None:
        return {**value.json}
    refs = value.items.refs()
    before = [] if last is None else last.refs
    first = next((at for at, (old, new) in enumerate(zip(before, refs, strict=False)) if old != new), None)
    kept = min(len(before), len(refs)) if first is None else first
    record: Json = {**value.json, ITEMS: [*refs[kept:]]}
    if kept and last is not None:
        record[KEPT] = kept
        if last.checkpoint != parent:
            record[ON] = last.checkpoint
    return record


def value_of_record(record: JsonMapping, before: MessageRefs | None) -> StoredValue:
    """Reads the JSON of a value. `before`: the list before it."""
    if ITEMS not in record:
        return StoredValue(record)
    kept = int_at(record, KEPT)
    added = tuple(ContentRef(str(ref)) for ref in list_of(record[ITEMS]))
    json = {key: part for key, part in record.items() if key not in (ITEMS, KEPT, ON)}
    return StoredValue(json, MessageRefs(before if kept else None, kept, added))


def _refs_in(json: JsonMapping) -> list[ContentRef]:
    own = [text_at(json, REF), *map(str, list_of(json.get(ITEMS)))]
    inside = [ref for member in list_of(json.get(MEMBERS)) for ref in _refs_in(object_at(member, 1))]
    return [*(ContentRef(ref) for ref in own if ref), *inside]


def is_plain(value: object) -> bool:
    """Whether JSON reads back to the same value, of the same types, but for the order of members (`is_ordered`)."""
    kind = type(value)
    if value is None or kind in (bool, int):
        return True
    if isinstance(value, float):
        return kind is float and value - value == 0  # finite
    if isinstance(value, str):
        return kind is str and _has_utf8(value)
    if isinstance(value, list):
        return kind is list and all(map(is_plain, cast("list[object]", value)))
    if isinstance(value, dict):
        members = cast("dict[object, object]", value)
        names = all(type(key) is str and _has_utf8(key) for key in members)
        return kind is dict and names and all(map(is_plain, members.values()))
    return False


def is_ordered(value: object) -> bool:
    """Whether the members of all dictionaries in a plain value are in the order that canonical JSON has."""
    if isinstance(value, list):
        return all(map(is_ordered, cast("list[object]", value)))
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return [*members] == sorted(members) and all(map(is_ordered, members.values()))
    return True


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True
