"""JSON Patch between two values: what it says is enough to make the one of the other."""

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model.json_changes import patch_between, patched

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2, width=16) | st.sampled_from(["", "a", "~/"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b/", "~1", ""]), inner),
    max_leaves=12,
)


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(VALUES, VALUES)
def test_a_patch_makes_the_one_value_of_the_other(before: Any, after: Any):
    kept = copy.deepcopy(before)
    assert as_json(patched(before, patch_between(before, after))) == as_json(after)
    assert as_json(before) == as_json(kept)


@given(VALUES)
def test_equal_values_have_no_differences(value: Any):
    assert patch_between(value, copy.deepcopy(value)) == []


def test_only_what_differs_is_said():
    before = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a":1}'}}]}
    after: Any = copy.deepcopy(before) | {"content": None}
    after["tool_calls"][0]["function"]["arguments"] = '{"a": 1}'
    assert patch_between(before, after) == [
        {"op": "replace", "path": "/tool_calls/0/function/arguments", "value": '{"a": 1}'},
        {"op": "add", "path": "/content", "value": None},
    ]


@pytest.mark.parametrize(
    ("before", "after"), [(1, 1.0), (1, True), (0, False), (0.0, False), ("1", 1), (None, 0), (0.0, -0.0)]
)
def test_values_that_python_takes_for_equal_differ(before: Any, after: Any):
    assert patch_between({"a": [before]}, {"a": [after]}) == [{"op": "replace", "path": "/a/0", "value": after}]


@pytest.mark.parametrize(
    "operation",
    [
        {},
        {"op": "move", "path": "/a"},
        {"op": "remove", "path": "/x"},
        {"op": "replace", "path": "/a/9", "value": 1},
        {"op": "replace", "path": "/a/x", "value": 1},
        {"op": "add", "path": "/s/x", "value": 1},
        {"op": "add", "path": "/b"},
        {"op": "add", "path": 7, "value": 1},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "a", "value": 1},
        {"op": "replace", "path": "/a/-1", "value": 1},
        {"op": "replace", "path": "/a/\u0661", "value": 1},
        {"op": ["add"], "path": "/a", "value": 1},
        "add",
        7,
        None,
        ["add", "/a", 1],
    ],
)
def test_an_operation_that_does_not_fit_is_a_value_error(operation: Any):
    with pytest.raises(ValueError, match="this is no operation|does not fit"):
        patched({"a": [1], "s": "text"}, [operation])


@pytest.mark.parametrize("patch", [7, "add", {"op": "remove", "path": "/a"}, True, 1.5])
def test_what_is_no_list_is_no_patch(patch: Any):
    with pytest.raises(ValueError, match="this is no JSON Patch"):
        patched({"a": [1]}, patch)


@given(VALUES, VALUES | st.lists(st.fixed_dictionaries({"op": VALUES, "path": VALUES, "value": VALUES})))
def test_any_other_value_is_a_patch_or_a_value_error(value: Any, patch: Any):
    with suppress(ValueError):
        patched(value, patch)
