"""Two agents with a choice of models are killed at each point (between a choice and its call, inside a model, after a
call) and resumed: the same models are chosen for the same reasons, and no question is asked twice."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from playhead.local.client import JournalClient
from playhead.model.canonical import parse_json

PROGRAM = Path(__file__).parents[2] / "support" / "programs" / "choosing_agents.py"
CHOOSERS = ("select", "fallback", "streamed", "sticky", "cooling", "budget", "router")
# Every so many points one is tried; PLAYHEAD_CHOICE_STEP=1 tries each.
STEP = int(os.environ.get("PLAYHEAD_CHOICE_STEP", "11"))


def run(folder: Path, chooser: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **os.environ,
        "PLAYHEAD_JOURNAL_DIR": str(folder / "journal"),
        "PLAYHEAD_ENDPOINT": "",
        "ASKED": str(folder / "asked"),
        "CHOOSER": chooser,
        **environment,
    }
    return subprocess.run(
        [sys.executable, PROGRAM], env=variables, capture_output=True, text=True, timeout=300, check=False
    )


def asked(folder: Path) -> Counter[str]:
    return Counter((folder / "asked").read_text(encoding="utf-8").splitlines())


def decisions(folder: Path, run_id: str) -> list[Any]:
    """Actor, choice and alternatives of each decision, sorted: agents side by side have no fixed order."""
    with JournalClient(folder / "journal", pytest.fail) as journal:
        found = [event for event in journal.events(run_id) if event["kind"] == "orchestration_decision"]
        noted: list[Any] = [parse_json(journal.content(event["refs"]["annotation"]).data) for event in found]
    return sorted(
        [str(event.get("actor")), note["decision"], *note["alternatives"]]
        for event, note in zip(found, noted, strict=True)
    )


def counted(decided: list[Any]) -> Counter[tuple[str, ...]]:
    return Counter(map(tuple, decided))


class Whole(NamedTuple):
    """A run that nobody killed."""

    result: dict[str, Any]
    questions: Counter[str]
    decisions: list[Any]


@pytest.fixture(scope="module", params=CHOOSERS)
def chooser(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def whole(chooser: str, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp(f"whole-{chooser}")
    done = run(folder, chooser)
    assert done.returncode == 0, done.stderr
    run_id, result = done.stdout.splitlines()
    return Whole(json.loads(result), asked(folder), decisions(folder, run_id))


def test_a_whole_run_decides_before_each_call_and_shortens_the_context_for_a_smaller_window(chooser: str, whole: Whole):
    attempts = sum(count for question, count in whole.questions.items() if not question.startswith("judge"))
    assert len(whole.decisions) == attempts
    assert max(whole.questions.values()) == 1
    said = [answer for models in whole.result["models"] for answer in models]
    small = [int(answer.split(", ")[1].split()[0]) for answer in said if answer.startswith("b,")]
    assert bool(small) == (chooser != "router")
    assert all(messages <= 6 for messages in small)


def test_a_killed_run_chooses_again_as_the_whole_one_did(chooser: str, whole: Whole, tmp_path: Path):
    for die_at in range(1 + CHOOSERS.index(chooser) % STEP, whole.result["points"] + 1, STEP):
        folder = tmp_path / str(die_at)
        folder.mkdir()
        killed = run(folder, chooser, DIE_AT=str(die_at))
        if killed.returncode == 0:  # how many models are tried in vain is a matter of time: it had fewer points
            assert json.loads(killed.stdout.splitlines()[-1])["points"] < die_at
            continue
        assert killed.returncode == -9, killed.stderr
        run_id = killed.stdout.split()[0]
        decided = decisions(folder, run_id)
        again = run(folder, chooser, RUN=run_id)
        assert again.returncode == 0, (die_at, again.stderr)
        models = json.loads(again.stdout.splitlines()[-1])["models"]
        repeated = [question for question, count in asked(folder).items() if count > 1]
        assert len(repeated) <= 2, die_at  # those during which it was killed, one of each agent
        assert [decision for decision in decided if decision not in decisions(folder, run_id)] == []
        if chooser == "budget":
            # The two share it: which of them makes the last call of the dear one is a matter of time.
            dear = [answer for each in models for answer in each if answer.startswith("a,")]
            assert len(dear) in (5, 6), die_at
            continue
        if chooser == "cooling":
            # What cools down is left out by both. Whether it fails for the second one, too, is a matter of time: all
            # else is as in the whole run.
            assert models == whole.result["models"], die_at
            made, expected = counted(decisions(folder, run_id)), counted(whole.decisions)
            different = (made - expected) + (expected - made)
            assert {chosen for _, chosen, *_ in different} <= {"a"}, die_at
            assert different.total() <= 1, die_at
            assert len(asked(folder).keys() ^ whole.questions.keys()) == different.total(), die_at
            continue
        assert models == whole.result["models"], die_at
        assert asked(folder).keys() == whole.questions.keys(), die_at
        assert decisions(folder, run_id) == whole.decisions, die_at
