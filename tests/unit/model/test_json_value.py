"""Typed reading of JSON: the values themselves where the type fits, and the default everywhere else."""

from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from playhead.model.json_value import (
    JsonValue,
    int_at,
    list_at,
    list_of,
    mapping_of,
    object_at,
    object_of,
    objects_at,
    objects_of,
    text_at,
    value_at,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
KEYS = st.sampled_from(["a", "b", "c", "d"]) | st.integers(-5, 5)


def test_a_value_of_the_wanted_type_is_returned_itself():
    inner: JsonValue = {"text": "t"}
    answer: JsonValue = {"object": inner, "list": [inner, 1], "text": "t", "count": 3}

    assert object_at(answer, "object") is inner
    assert list_at(answer, "list") is answer["list"]
    assert objects_at(answer, "list") == [inner]
    assert text_at(answer, "text") == "t"
    assert int_at(answer, "count") == 3


def test_what_is_missing_or_of_another_type_is_the_default():
    answer: JsonValue = {"object": [], "list": {}, "text": 1, "count": "3", "flag": True, "none": None}

    assert object_at(answer, "object") == object_at(answer, "absent") == object_of("text") == {}
    assert list_at(answer, "list") == list_at(answer, "absent") == list_of(None) == []
    assert objects_of([1, "two", None]) == []
    assert text_at(answer, "text") == text_at(answer, "none") == ""
    assert text_at(answer, "absent", None) is None
    assert int_at(answer, "count") == int_at(answer, "flag") == 0
    assert int_at(answer, "absent", None) is None


def test_a_mapping_that_is_no_dictionary_is_read_as_it_is():
    frozen = MappingProxyType({"a": 1})
    assert mapping_of(frozen) is frozen
    assert mapping_of([("a", 1)]) == mapping_of("a") == mapping_of(None) == {}


def test_members_of_lists_are_read_by_index():
    answer: JsonValue = [{"a": 1}, "two"]

    assert object_at(answer, 0) == {"a": 1}
    assert text_at(answer, -1) == "two"
    assert value_at(answer, 2) is value_at(answer, -3) is value_at(answer, "0") is None


@given(JSON, KEYS)
def test_any_json_can_be_read_by_any_key(value: JsonValue, key: str | int):
    member = value_at(value, key)

    if isinstance(value, dict):
        assert member is (value.get(key) if isinstance(key, str) else None)
    elif isinstance(value, list) and isinstance(key, int):
        assert member is (value[key] if -len(value) <= key < len(value) else None)
    else:
        assert member is None
    assert object_at(value, key) == (member if isinstance(member, dict) else {})
    assert list_at(value, key) == (member if isinstance(member, list) else [])
    assert all(isinstance(item, dict) for item in objects_at(value, key))
    assert text_at(value, key, None) == (member if isinstance(member, str) else None)
    assert int_at(value, key, None) == (member if type(member) is int else None)
