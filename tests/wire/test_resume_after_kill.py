"""A real agent killed with SIGKILL at many of its steps, and resumed in a new process: bar R1.

All of its points with PLAYHEAD_EVERY_STEP=1; a sample of them otherwise.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from playhead.testing import MockModelServer, text

PROGRAM = Path(__file__).with_name("resume_fifty_steps.py")
# Of 95: before a model, after one, inside a tool, after a tool, inside the error, in the parallel branch, around the
# stream, near the end.
SAMPLE = (1, 2, 3, 4, 43, 77, 82, 87, 91, 95)
POINTS = range(1, 96) if os.environ.get("PLAYHEAD_EVERY_STEP") else SAMPLE


@dataclass
class Program:
    """The agent, its folder, and the models it talks to."""

    folder: Path
    server: MockModelServer

    def run(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "OTEL_"))}
        kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(self.folder / "j")}
        kept |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
        kept |= {"OPENAI_BASE_URL": self.server.base_url, "OPENAI_API_KEY": "none"}
        kept |= {"EFFECTS": str(self.folder / "effects"), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
        command = [sys.executable, str(PROGRAM), *arguments]
        return subprocess.run(command, env=kept | environ, capture_output=True, text=True, timeout=120, check=False)

    def effects(self) -> list[str]:
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def asked(self) -> Counter[str]:
        """How often each question was put to a model."""
        return Counter(repr((request.stream, request.messages)) for request in self.server.requests)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with MockModelServer() as server:
        server.otherwise(text("one two three four five six seven eight nine ten"))
        yield Program(tmp_path, server)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the agent comes to when nobody kills it."""
    with MockModelServer() as server:
        server.otherwise(text("one two three four five six seven eight nine ten"))
        program = Program(tmp_path_factory.mktemp("whole"), server)
        done = program.run()
        assert done.returncode == 0, done.stderr
        assert len(server.requests) + len(program.effects()) == 50
        return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("die_at", POINTS)
def test_a_killed_agent_goes_on_to_the_same_answer_and_does_nothing_twice(
    program: Program, answer: str, die_at: int
) -> None:
    killed = program.run(DIE_AT=str(die_at))
    assert killed.returncode == -9, killed.stderr
    run_id, died = killed.stdout.splitlines()
    resumed = program.run(run_id)
    doubted = re.match(r"died at inside (\w+)", died)
    if doubted is not None:
        assert resumed.returncode == 1
        assert "InDoubt" in resumed.stderr
        assert f"/{doubted[1]}:tool had begun when the process died" in resumed.stderr
        before = program.effects()
        resumed = program.run(run_id, IN_DOUBT="rerun")
        assert program.effects()[len(before)] == before[-1] or "fetch" in died
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.splitlines()[0] == run_id
    assert resumed.stdout.splitlines()[-1] == answer
    told = json.loads(resumed.stdout.splitlines()[1])
    assert told["left"] == []
    # What another branch was waiting for at that moment was never received: asked again, and named.
    under_way = [place for place in told["in_doubt"] if place.endswith(":llm")]
    asked_twice = [question for question, times in program.asked().items() if times > 1]
    assert len(asked_twice) <= len(under_way)
    assert all("branch" in question for question in asked_twice)
    twice = [what for what, times in Counter(program.effects()).items() if times > 1]
    assert twice == ([died.removeprefix("died at inside ")] if doubted else [])


def test_a_run_that_was_resumed_and_killed_again_goes_on_once_more(program: Program, answer: str) -> None:
    run_id = program.run(DIE_AT="9").stdout.splitlines()[0]
    # In the second attempt only what is live passes its points and it dies at a later one.
    second = program.run(run_id, DIE_AT="60")
    assert second.returncode == -9, second.stderr
    third = program.run(run_id, IN_DOUBT="rerun")
    assert third.returncode == 0, third.stderr
    assert third.stdout.splitlines()[-1] == answer
    assert max(program.asked().values()) == 1


def test_a_run_that_has_ended_gives_its_answer_again_without_a_live_call(program: Program, answer: str) -> None:
    run_id = program.run().stdout.splitlines()[0]
    requests, effects = len(program.server.requests), program.effects()
    again = program.run(run_id)
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[-1] == answer
    assert '"live": 0' in again.stdout
    assert len(program.server.requests) == requests
    assert program.effects() == effects
