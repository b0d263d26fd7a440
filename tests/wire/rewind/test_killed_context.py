"""A chat with a managed context is killed at random points and resumed: it compresses where the whole one did, with the
same summaries, and no question is asked twice."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from playhead.local.client import JournalClient
from playhead.wire.operations import RecordedCompression

PROGRAM = Path(__file__).parents[2] / "support" / "programs" / "compressing_chat.py"
KILLS = int(os.environ.get("PLAYHEAD_CONTEXT_KILLS", "6"))


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **os.environ,
        "PLAYHEAD_JOURNAL_DIR": str(folder / "journal"),
        "PLAYHEAD_ENDPOINT": "none",
        "ASKED": str(folder / "asked"),
        **environment,
    }
    return subprocess.run(
        [sys.executable, PROGRAM], env=variables, capture_output=True, text=True, timeout=300, check=False
    )


def ended(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def asked(folder: Path) -> Counter[str]:
    return Counter((folder / "asked").read_text(encoding="utf-8").splitlines())


def compressions(folder: Path, run_id: str) -> list[RecordedCompression]:
    with JournalClient(folder / "journal", pytest.fail) as journal:
        return list(journal.compressions(run_id))


class Whole(NamedTuple):
    """A chat that nobody killed."""

    result: dict[str, Any]
    questions: Counter[str]
    compressions: list[RecordedCompression]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    done = run(folder)
    return Whole(ended(done), asked(folder), compressions(folder, done.stdout.split()[0]))


def test_the_whole_chat_compresses_several_times(whole: Whole):
    assert len(whole.result["places"]) >= 3
    assert len(whole.compressions) == len(whole.result["places"])
    assert max(whole.questions.values()) == 1


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_chat_goes_on_as_the_whole_one_would_have(seed: int, whole: Whole, tmp_path: Path):
    result, questions = whole.result, whole.questions
    randomly = random.Random(seed)
    first = randomly.choice(result["points"])
    killed = run(tmp_path, DIE_AT=str(first))
    assert killed.returncode == -9, killed.stderr
    run_id = killed.stdout.split()[0]
    # Of a resumed run, only the live part passes points inside the model.
    again = run(tmp_path, RUN=run_id, DIE_AT=str(randomly.choice(result["points"])))
    assert again.returncode in (0, -9), again.stderr
    last = ended(run(tmp_path, RUN=run_id)) if again.returncode else ended(again)
    for name in ("places", "messages", "history"):
        assert last[name] == result[name], name
    repeated = asked(tmp_path) - questions
    assert asked(tmp_path).keys() == questions.keys()
    assert sum(repeated.values()) <= 2  # those during which it was killed
    recorded = compressions(tmp_path, run_id)
    assert [row["tokens"] for row in recorded] == [row["tokens"] for row in whole.compressions]
    assert all(row["summariser"] is not None for row in recorded)
