"""An agent of ours is killed at every step and resumed: nothing that was recorded is done again, and the result is that
of the whole run."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PROGRAM = Path(__file__).parents[2] / "support" / "programs" / "killed_assistant.py"
CLIENTS = ("openai", "openai-async", "mock", "streamed-openai")
# Effects of the whole run, in order: questions to the model, and what tools did.
EFFECTS = [
    "model Fix it.",
    "search bug",
    "read a.py",
    "model shorten a.py",
    "model a.py is short",
    "edit a.py 3",
]


def run(folder: Path, client: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **os.environ,
        "PLAYHEAD_JOURNAL_DIR": str(folder / "journal"),
        "PLAYHEAD_ENDPOINT": "",
        "DONE": str(folder / "done"),
        "CLIENT": client,
        **environment,
    }
    return subprocess.run(
        [sys.executable, PROGRAM], env=variables, capture_output=True, text=True, timeout=300, check=False
    )


def ended(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def effects(folder: Path) -> Counter[str]:
    return Counter((folder / "done").read_text(encoding="utf-8").splitlines())


class Whole(NamedTuple):
    """A run that nobody killed."""

    result: dict[str, Any]
    points: int
    effects: Counter[str]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    @cache
    def of_client(client: str) -> Whole:
        folder = tmp_path_factory.mktemp(client)
        last = ended(run(folder, client))
        return Whole(last["result"], last["points"], effects(folder))

    return of_client


@pytest.mark.parametrize("client", CLIENTS)
def test_the_whole_run_does_each_thing_once(client: str, whole: Callable[[str], Whole]):
    result, points, done = whole(client)
    assert result["output"] == {"changed": ["a.py"]}
    assert [name for name, _ in result["tools"]] == ["search", "read", "edit", "edit", "edit"]
    assert set(EFFECTS) <= set(done)
    assert max(done.values()) == 1
    assert points >= 10
    assert result["kept"] < result["history"]  # it was compressed


# The tools of the first turn run side by side, the task inside one of them.
SIDE_BY_SIDE = {"search bug", "read a.py", "model shorten a.py"}
# What is made again after a kill at a point: what was under way there, from its beginning.
UNDER_WAY = {
    "dies in search": {"search bug"},
    "dies in read": {"read a.py"},
    "dies in the model of the task": {"read a.py", "model shorten a.py"},
    "dies after the task": {"read a.py"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("client", "every"), [("openai", 1), ("mock", 3), ("openai-async", 3), ("streamed-openai", 3)])
def test_killed_at_every_step_it_repeats_nothing(
    client: str, every: int, whole: Callable[[str], Whole], tmp_path: Path
):
    result, points, once = whole(client)
    for number in range(1, points + 1, every):
        folder = tmp_path / str(number)
        folder.mkdir()
        killed = run(folder, client, DIE_AT=str(number))
        assert killed.returncode == -9, killed.stderr
        where = killed.stdout.splitlines()[-1]
        found = re.search(r"^run (\w+)$", killed.stdout, re.MULTILINE)
        assert found is not None, killed.stdout
        before = effects(folder)
        again = run(folder, client, RUN=found[1])
        if where == "dies in edit" or ("InDoubt" in again.stderr and where == "dies at an event"):
            # Nobody knows whether what writes was done: a person decides, and nothing more is done until then.
            assert again.returncode != 0
            assert "InDoubt" in again.stderr
            assert effects(folder) == before
            continue
        assert ended(again)["result"] == result, where
        repeated = effects(folder) - once
        assert effects(folder).keys() == once.keys(), where
        assert not repeated or max(repeated.values()) == 1, (where, repeated)
        if where in UNDER_WAY:
            assert set(repeated) <= UNDER_WAY[where]
        elif len(repeated) > 1:  # an event is read at any time of the turn that it is of
            assert where == "dies at an event"
            assert set(repeated) <= SIDE_BY_SIDE
        elif where == "dies in the model":  # the question that was not answered
            assert all(effect.startswith("model ") for effect in repeated)
