"""What is shown of a destination's answers."""

import base64

import pytest

from playhead.outbound.answers import Verdict
from playhead_collector.forward.attempts import Answer, without_secrets

KEY = "sk-lf-0123456789abcdef"
BASIC = "Basic " + base64.b64encode(f"pk-lf-public:{KEY}".encode()).decode()


@pytest.mark.parametrize("header", [KEY, f"Bearer {KEY}", BASIC])
@pytest.mark.parametrize("before", range(470, 501))
def test_no_part_of_a_key_is_shown_wherever_an_answer_is_cut(header: str, before: int):
    answer = Answer(Verdict.MISCONFIGURED, "." * before + KEY + header + "." * 100)
    reason = without_secrets(answer, [header]).reason
    assert len(reason) <= 500
    secret = KEY + header.rpartition(" ")[2]
    assert not [part for at in range(len(secret) - 3) if (part := secret[at : at + 4]) in reason]


@pytest.mark.parametrize("header", ["Basic !!!not base64", "Basic /w==", "Basic", ""])
def test_a_header_that_has_no_password_changes_nothing_else(header: str):
    assert without_secrets(Answer(Verdict.BROKEN, "answered\n500:\x1b  failed"), [header]).reason == (
        "answered 500: failed"
    )
