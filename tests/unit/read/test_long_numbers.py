"""Numbers of more digits than anybody means: no number to reason about, and no reason to fail."""

import pytest

from playhead_collector.analysis.texts.words import numbers_in, plain_number, read_number


@pytest.mark.parametrize("digits", [28, 33, 40, 4_299, 4_301, 20_000])
def test_a_number_of_very_many_digits_is_none(digits: int):
    text = "9" * digits
    expected = text if digits == 28 else None
    assert read_number(text) == expected
    assert read_number(f" ${text}% ") == expected
    assert [plain for plain, _, _ in numbers_in(f"x {text} y")] == ([expected] if expected else [])
    assert plain_number(10**digits) == (f"1{text}".replace("9", "0") if digits == 28 else None)
