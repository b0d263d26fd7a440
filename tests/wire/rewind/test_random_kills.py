"""An agent with parallel branches, killed at random moments and resumed: the short version of bar R3.

`python -m benchmarks.chaos --kills 1000` is the long one.
"""

import os
from pathlib import Path

from tests.support.chaos.many import kill_at_random

KILLS = int(os.environ.get("PLAYHEAD_RANDOM_KILLS", "8"))
SEED = int(os.environ.get("PLAYHEAD_RANDOM_KILLS_SEED", "8"))


def test_random_kills_change_no_answer_repeat_no_call_and_leave_no_run_running(tmp_path: Path):
    total = kill_at_random(KILLS, tmp_path, seed=SEED)
    assert total.wrong == []
    assert total.running == 0
    assert total.sum("kills") >= KILLS
    assert total.sum("completed") > 0  # else nothing could have been repeated
