from datetime import UTC, datetime
from itertools import islice

import pytest

from playhead.export.http import retry_after_seconds
from playhead.wire.retries import ProblemReporter, backoff_delays


def test_delays_double_from_a_fifth_of_a_second_to_half_a_minute_with_jitter():
    for delay, longest in zip(
        islice(backoff_delays(), 12), [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30, 30], strict=True
    ):
        assert longest / 2 <= delay <= longest


def test_a_problem_is_reported_once_per_cause():
    reported: list[str] = []
    problems = ProblemReporter(reported.append)
    for cause, sentence in [("down", "it is down"), ("down", "still down"), ("denied", "wrong key")]:
        problems.warn_once_per_cause(cause, sentence)
    assert reported == ["it is down", "wrong key"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("7", 7),
        ("-7", 0),
        ("nan", 0),
        ("99999999", 300),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0),
        ("tomorrow", 0),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_never_too_long(text: str, seconds: float):
    assert retry_after_seconds(text, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)) == seconds
