"""A chat with a managed context is killed at random points and resumed: it compresses where the whole one did, with the
same summaries, and no question is asked twice."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from playhead.local.client import JournalClient

PROGRAM = Path(__file__).parents[2] / "support" / "programs" / "compressing_chat.py"
KILLS = int(os.environ.get("PLAYHEAD_CONTEXT_KILLS", "6"))


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **os.environ,
        "PLAYHEAD_JOURNAL_DIR": str(folder / "journal"),
        "PLAYHEAD_ENDPOINT": "",
        "ASKED": str(folder / "asked"),
        **environment,
    }
    return subprocess.run(
        [sys.executable, PROGRAM], env=variables, capture_output=True, text=True, timeout=120, check=False
    )


def ended(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def asked(folder: Path) -> Counter[str]:
    return Counter((folder / "asked").read_text(encoding="utf-8").splitlines())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Counter[str]]:
    folder = tmp_path_factory.mktemp("whole")
    return ended(run(folder)), asked(folder)


def test_the_whole_chat_compresses_several_times(whole: tuple[dict[str, Any], Counter[str]]):
    result, questions = whole
    assert len(result["places"]) >= 3
    assert max(questions.values()) == 1


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_chat_goes_on_as_the_whole_one_would_have(
    seed: int, whole: tuple[dict[str, Any], Counter[str]], tmp_path: Path
):
    result, questions = whole
    randomly = random.Random(seed)
    first = randomly.randrange(1, result["points"])
    killed = run(tmp_path, DIE_AT=str(first))
    assert killed.returncode == -9, killed.stderr
    run_id = killed.stdout.split()[0]
    # Of a resumed run, only the live part passes points inside the model.
    again = run(tmp_path, RUN=run_id, DIE_AT=str(randomly.randrange(1, result["points"])))
    assert again.returncode in (0, -9), again.stderr
    last = ended(run(tmp_path, RUN=run_id)) if again.returncode else ended(again)
    for name in ("places", "messages", "history"):
        assert last[name] == result[name], name
    repeated = asked(tmp_path) - questions
    assert asked(tmp_path).keys() == questions.keys()
    assert sum(repeated.values()) <= 2  # those during which it was killed
    with JournalClient(tmp_path / "journal", pytest.fail) as journal:
        recorded = list(journal.compressions(run_id))
    assert [row["tokens"]["before"] for row in recorded] == [place[1] for place in result["places"]]
    assert all(row["summariser"] is not None for row in recorded)
