from itertools import islice

import pytest

from playhead.wire.delays import backoff_delays, delay_s, retry_after_s


def test_delays_double_from_a_fifth_of_a_second_to_half_a_minute_with_jitter():
    for delay, longest in zip(
        islice(backoff_delays(), 12), [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30, 30], strict=True
    ):
        assert longest / 2 <= delay <= longest


def test_a_delay_doubles_with_each_failure_up_to_the_longest():
    assert [delay_s(failures, 0.05, 5.0) for failures in (0, 1, 2, 3, 7, 8)] == [0.05, 0.05, 0.1, 0.2, 3.2, 5.0]


def test_a_day_of_failures_is_no_overflow():
    assert delay_s(100_000, 1.0, 30.0) == 30.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7),
        (" 7 ", 7),
        ("-7", None),
        ("nan", None),
        ("\N{SUPERSCRIPT TWO}", None),
        ("99999999", 300),
        ("9" * 400, 300),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0),
        ("Tue, 14 Nov 2023 22:13:50", None),
        ("tomorrow", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_never_too_long(text: str | None, seconds: float | None):
    assert retry_after_s(text, 1_700_000_000.0, 300.0) == seconds
