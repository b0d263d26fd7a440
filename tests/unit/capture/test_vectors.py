"""Vectors are given back as they were, and take a quarter of the room where 32 bits hold them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.capture.vectors import pack_vector, unpack_vector
from playhead.errors import CannotRestore
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import JsonValue, list_of

NUMBERS = st.floats(allow_nan=False) | st.floats(width=32, allow_nan=False) | st.integers()


@given(st.lists(NUMBERS, max_size=20) | st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_a_vector_comes_back_as_it_was(values: list[Any]):
    packed = pack_vector(values)
    again = list_of(unpack_vector(packed))
    assert again == values
    assert [type(value) for value in again] == [type(value) for value in values]


def test_a_usual_vector_takes_a_quarter_and_travels_as_json():
    values: list[JsonValue] = [(number * 7919 % 4096) / 2**24 for number in range(1536)]
    packed = pack_vector(values)
    written = canonical_json(packed)
    assert len(written) < len(canonical_json(values)) / 2
    assert unpack_vector(parse_json(written)) == values


@pytest.mark.parametrize("other", [None, "base64", [], ["a"], {"a": 1}, [True, 1.0], [1e300, 0.1], 7])
def test_what_is_no_vector_of_32_bits_stays_as_it_is(other: Any):
    assert pack_vector(other) == other
    assert unpack_vector(other) == other


@pytest.mark.parametrize("broken", ["!", "AAA=", 7, None])
def test_a_broken_vector_cannot_be_restored(broken: Any):
    with pytest.raises(CannotRestore, match="cannot be read"):
        unpack_vector({"$f32": broken})
