"""What a destination's answers mean, wherever spans leave."""

import pytest

from playhead.outbound.answers import Verdict, verdict_of


@pytest.mark.parametrize(
    ("verdict", "statuses"),
    [
        (Verdict.ACCEPTED, [200, 201, 202, 204, 207]),
        (Verdict.REFUSED, [400, 413, 422]),
        (Verdict.UNAVAILABLE, [408, 425, 429, 502, 503, 504]),
        (Verdict.BROKEN, [500, 507, 511, 520]),
        (Verdict.MISCONFIGURED, [301, 307, 401, 403, 404, 405, 407, 415, 501]),
    ],
)
def test_a_status_has_one_meaning(verdict: Verdict, statuses: list[int]):
    assert {verdict_of(status) for status in statuses} == {verdict}
