"""Agents of frameworks that compress through our adapters: over their threshold several times, with tools in flight,
streamed; killed and resumed, they compress where whole ones did, and ask no question twice."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from playhead.local.client import JournalClient
from playhead.model.message import message_contents

pytestmark = pytest.mark.slow
PROGRAMS = Path(__file__).parents[2] / "support" / "programs"
FRAMEWORKS = ("langchain", "pydantic_ai", "openai_agents")
KILLS = int(os.environ.get("PLAYHEAD_CONTEXT_KILLS", "2"))


def run(framework: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PLAYHEAD_JOURNAL_DIR": str(folder / "journal"),
        "PLAYHEAD_ENDPOINT": "",
        "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1",
        "ASKED": str(folder / "asked"),
        **environment,
    }
    program = [sys.executable, PROGRAMS / f"compressing_{framework}.py"]
    return subprocess.run(program, env=variables, capture_output=True, text=True, timeout=300, check=False)


def ended(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def asked(folder: Path) -> Counter[str]:
    return Counter((folder / "asked").read_text(encoding="utf-8").splitlines())


class Recorded(NamedTuple):
    """The compressions of a run, as they are listed and as they are audited, and the contexts of the model calls that
    came directly after them."""

    listed: list[dict[str, Any]]
    audits: list[dict[str, Any]]
    contexts: list[dict[str, Any]]


def recorded(folder: Path, run_id: str) -> Recorded:
    with JournalClient(folder / "journal", pytest.fail) as journal:
        listed: list[Any] = list(journal.compressions(run_id))
        audits: list[Any] = [journal.compression(run_id, str(row["seq"])) for row in listed]
        contexts: list[Any] = [journal.context(run_id, at=str(row["call"])) for row in listed]
        return Recorded(listed, audits, contexts)


class Whole(NamedTuple):
    """An agent that nobody killed."""

    result: dict[str, Any]
    questions: Counter[str]
    recorded: Recorded


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    @cache
    def of(framework: str) -> Whole:
        folder = tmp_path_factory.mktemp(framework)
        done = run(framework, folder)
        return Whole(ended(done), asked(folder), recorded(folder, done.stdout.split()[0]))

    return of


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_agent_compresses_several_times_and_the_record_says_so(framework: str, whole: Callable[[str], Whole]):
    result, questions, (listed, audits, contexts) = whole(framework)
    assert len(result["places"]) >= 2
    assert result["in_flight"] >= 1
    assert result["broken"] == []
    assert [answer.split()[:2] for answer in result["answers"]] == [["answer", str(turn)] for turn in range(12)]
    assert max(questions.values()) == 1
    assert [row["origin"] for row in listed] == ["declared"] * len(result["places"])
    assert {(row["trigger"], row["strategy"], row["fallback"]) for row in listed} == {("threshold", "summary", None)}
    assert [row["messages"]["before"] for row in listed] == [place[0] for place in result["places"]]
    for row, audit, context in zip(listed, audits, contexts, strict=True):
        assert row["summariser"] is not None
        assert audit["refs"].keys() == {"before", "after", "summary", "policy"}
        assert audit["missing"] == []
        assert (row["messages"]["summarised"], row["messages"]["dropped"]) == (len(audit["summarised"]), 0)
        kept = {message["message"] for message in audit["kept"]}
        seen = {str(message_contents(message)[0].ref) for message in context["messages"]}
        assert kept <= seen, "a message that is said to be kept is not in the next model call"
        assert seen.isdisjoint(message["message"] for message in audit["summarised"])


@pytest.mark.parametrize("framework", ["langchain", "pydantic_ai"])
def test_the_framework_s_own_history_is_the_compressed_one(framework: str, whole: Callable[[str], Whole]):
    kept = whole(framework).result["kept"]
    assert len([text for text in kept if text.startswith("Summary of the conversation so far:")]) == 1
    assert not any(text.startswith("question 0 ") for text in kept)


@pytest.mark.covers("langchain", "resume")
@pytest.mark.covers("pydantic_ai", "resume")
@pytest.mark.covers("agents", "resume")
@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_killed_agent_goes_on_as_the_whole_one_would_have(
    framework: str, seed: int, whole: Callable[[str], Whole], tmp_path: Path
):
    result, questions, (listed, _, _) = whole(framework)
    randomly = random.Random(f"{framework} {seed}")
    # Late enough that some turns are recorded.
    killed = run(framework, tmp_path, DIE_AT=str(randomly.randrange(10, result["points"])))
    assert killed.returncode == -9, killed.stderr
    run_id = killed.stdout.split()[0]
    # Of a resumed run, only the live part passes points inside the model.
    again = run(framework, tmp_path, RUN=run_id, DIE_AT=str(randomly.randrange(1, result["points"])))
    assert again.returncode in (0, -9), again.stderr
    last = ended(run(framework, tmp_path, RUN=run_id)) if again.returncode else ended(again)
    for name in ("places", "answers", "kept"):
        assert last[name] == result[name], name
    repeated = asked(tmp_path) - questions
    assert asked(tmp_path).keys() == questions.keys()
    assert sum(repeated.values()) <= 2  # those during which it was killed
    again_listed = recorded(tmp_path, run_id).listed
    assert [row["messages"] for row in again_listed] == [row["messages"] for row in listed]
    assert all(row["summariser"] is not None for row in again_listed)
