"""What came of a run: one word, and what it rests on."""

from dataclasses import replace

import pytest

from playhead_collector.read.outcome import DecidingScore, deciding_score, outcome_of
from playhead_collector.store.ports.scores import POSTED, StoredScore

REWARD = DecidingScore("reward", 0.0)
SCORE = StoredScore("0a" * 16, "1", "reward", 1.0, None, None, POSTED, None, None, None, None, 1, True)


@pytest.mark.parametrize(
    ("status", "score", "waits", "word", "because"),
    [
        ("failed", DecidingScore("reward", 1.0), False, "crashed", "failed"),
        ("failed", None, True, "crashed", "failed"),
        ("running", None, False, "running", "running"),
        ("running", REWARD, False, "running", "running"),
        ("running", REWARD, True, "waiting", "running"),
        ("completed", REWARD, True, "failed", "reward>=0.5"),
        ("completed", DecidingScore("reward", 0.5), False, "succeeded", "reward>=0.5"),
        ("completed", DecidingScore("resolved", True), False, "succeeded", "resolved=true"),
        ("completed", DecidingScore("resolved", False), False, "failed", "resolved=true"),
        ("completed", None, False, "unknown", "completed"),
        ("cancelled", None, False, "cancelled", "cancelled"),
        ("cancelled", REWARD, False, "failed", "reward>=0.5"),
        ("lost", None, False, "lost", "lost"),
        ("lost", DecidingScore("reward", 1.0), False, "succeeded", "reward>=0.5"),
    ],
)
def test_the_word_and_what_it_rests_on(status: str, score: DecidingScore | None, waits: bool, word: str, because: str):
    outcome = outcome_of(status, score, waits=waits)
    assert (outcome["word"], outcome["because"]) == (word, because)
    assert outcome["value"] == (score.value if score is not None and because == score.condition else None)


def test_the_newest_number_or_boolean_of_the_whole_run_decides():
    of_a_call, replaced = replace(SCORE, span="5" * 16), replace(SCORE, is_latest=False)
    category = replace(SCORE, name="verdict", value="good")
    older = replace(SCORE, name="resolved", value=False)
    assert deciding_score([of_a_call, replaced, category, SCORE, older]) == DecidingScore("reward", 1.0)
    assert deciding_score([of_a_call, category]) is None
