"""The pure parts of LangGraph's checkpointer: differences of JSON, lists of messages, records in any order."""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playhead.conversations.langgraph.checkpoints import CheckpointLog, StoredCheckpoint
from playhead.conversations.langgraph.differences import difference, patched
from playhead.conversations.langgraph.stored_values import MessageRefs, StoredValue, is_ordered, is_plain
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import Json
from playhead.model.ref import ContentRef

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab1")
VALUES = st.recursive(LEAVES, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text("abc"), inside))
OBJECTS = st.dictionaries(st.text("abcd", max_size=2), VALUES)
REFS = [ContentRef.of(bytes([number])) for number in range(5)]


@given(OBJECTS, OBJECTS)
def test_a_difference_makes_the_new_object_of_the_old_one(old: dict[str, Any], new: dict[str, Any]):
    change = parse_json(canonical_json(difference(old, new)))
    assert canonical_json(patched(old, change)) == canonical_json(new)
    assert difference(new, new) == {}


@given(VALUES)
def test_plain_and_ordered_values_are_the_same_after_reading(value: Any):
    if is_plain(value) and is_ordered(value):
        assert repr(parse_json(canonical_json(value))) == repr(value)


def checkpoint(name: str, parent: str | None, messages: list[ContentRef], **versions: int) -> StoredCheckpoint:
    values: Mapping[str, StoredValue] = {"m": StoredValue({"as": "msgpack"}, MessageRefs(None, 0, tuple(messages)))}
    fields: Json = {"checkpoint": {"channel_versions": {**versions}}, "metadata": {}}
    return StoredCheckpoint("", name, parent, fields, values)


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(st.sampled_from(REFS), max_size=8)), max_size=12))
def test_lists_come_back_whatever_list_they_follow(steps: list[tuple[int, list[ContentRef]]]):
    """Each checkpoint goes on from any one before it: forks, messages that were removed, lists that begin anew."""
    log = CheckpointLog()
    expected: dict[str, list[ContentRef]] = {}
    records: list[Any] = []
    for number, (back, messages) in enumerate(steps):
        parent = None if not number else f"{max(0, number - 1 - back):02}"
        record = log.put_record(checkpoint(f"{number:02}", parent, messages, m=number))
        records.append(parse_json(canonical_json(record)))
        log.apply(records[-1])
        expected[f"{number:02}"] = messages
    again = CheckpointLog()
    for record in [*records, *records]:  # sent twice after a lost answer
        again.apply(record)
    for each in (log, again):
        assert {name: each.checkpoints["", name].values["m"].refs() for name in expected} == expected
    assert not again.unreadable


def test_records_of_two_writers_may_come_in_any_order():
    common = CheckpointLog()
    first = common.put_record(checkpoint("1", None, REFS[:2], m=1))
    here, there = CheckpointLog(), CheckpointLog()
    for log in (here, there):
        log.apply(first)
    ours = [here.put_record(checkpoint("2", "1", REFS[:3], m=2))]
    here.apply(ours[0])
    ours.append(here.put_record(checkpoint("4", "2", REFS[:4], m=3)))
    theirs = there.put_record(checkpoint("3", "1", [REFS[0], REFS[4]], m=2))
    for order in ([theirs, *ours], [ours[0], theirs, ours[1]], [*ours, theirs]):
        log = CheckpointLog()
        for record in [first, *order]:
            log.apply(record)
        refs = {name: log.checkpoints["", name].values["m"].refs() for name in "1234"}
        assert refs == {"1": REFS[:2], "2": REFS[:3], "3": [REFS[0], REFS[4]], "4": REFS[:4]}


def test_a_checkpoint_whose_parent_was_deleted_before_it_came_is_not_read_as_another_one():
    log = CheckpointLog()
    log.apply(log.put_record(checkpoint("1", None, REFS[:2], m=1)))
    late = log.put_record(checkpoint("2", "1", REFS[:3], m=2))
    other = CheckpointLog()
    other.apply(late)
    assert other.unreadable == {("", "2")}
    assert other.latest("") is None
    other.apply(other.put_record(checkpoint("2", "1", REFS[:3], m=2)))  # whole, since its parent is not there
    assert other.checkpoints["", "2"].values["m"].refs() == REFS[:3]
    assert not other.unreadable


class Noticing(str):
    """A text which, when it is compared with, does something else first: as another thread may."""

    __slots__ = ("meanwhile",)
    __hash__ = str.__hash__
    meanwhile: Callable[[], object]

    def __eq__(self, other: object) -> bool:
        self.meanwhile()
        return str.__eq__(self, other)


class NoticingSet(set[Any]):
    """The same for a set in which something is looked up."""

    meanwhile: Callable[[], object]

    def __contains__(self, item: object) -> bool:
        self.meanwhile()
        return super().__contains__(item)


def test_a_checkpoint_that_comes_while_others_are_looked_through_disturbs_nobody():
    log, numbers = CheckpointLog(), iter(range(100, 200))

    def another() -> None:
        name = str(next(numbers))
        log.apply(log.put_record(checkpoint(name, None, REFS[:2])))
        log.apply(log.writes_record(("", name), "t", "", []))

    for _ in range(3):
        another()
    namespace, removed = Noticing(""), NoticingSet()
    namespace.meanwhile = removed.meanwhile = another
    assert log.latest(namespace) is not None
    assert len(log.without(removed)) >= 6
