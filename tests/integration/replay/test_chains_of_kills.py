"""A run that is killed twice in a tool below a step, and resumed each time: what the collector has of it in the end."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead_collector.process import CollectorProcess

EXAMPLE = Path(__file__).parents[3] / "examples" / "resume_after_crash.py"
PROGRAM = """
import os, signal
import playhead
from playhead import observe

@observe(kind="tool", idempotent=True)
def work(number):
    if os.environ.get("DIE_AT") == str(number):
        playhead.flush(float(os.environ["DELIVER"]))
        os.kill(os.getpid(), signal.SIGKILL)
    return number

@observe(kind="step")
def stage(number):
    return work(number)

@observe
def agent():
    return [stage(int(number)) for number in os.environ.get("STAGES", "123")]

with playhead.run("stages") as run:
    print(run.id, flush=True)
    agent()
if os.environ.get("DIE_AT") == "end":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as running:
        yield running


def process(journal: Path, url: str, **environ: str) -> tuple[int, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_ENDPOINT": url}
    kept |= {"PLAYHEAD_JOURNAL_DIR": str(journal), "PLAYHEAD_LINGER_SECONDS": "60", "PLAYHEAD_LEASE_SECONDS": "0"}
    kept |= {"PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=kept | environ, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout.strip() or done.stderr


@pytest.mark.parametrize(
    ("deliver", "elsewhere"),
    [("0 0", False), ("0 30", False), ("30 0", False), ("30 30", True)],
    ids=["nothing was delivered", "by the second", "by the first", "all, and the last one is on another machine"],
)
def test_a_run_that_was_killed_twice_is_whole_and_over(
    tmp_path: Path, collector: CollectorProcess, deliver: str, elsewhere: bool
) -> None:
    here, there = tmp_path / "here", tmp_path / ("there" if elsewhere else "here")
    first, second = deliver.split()
    code, run_id = process(here, collector.url, DIE_AT="1", DELIVER=first)
    assert code == -9, run_id
    code, said = process(here, collector.url, DIE_AT="2", DELIVER=second, PLAYHEAD_RESUME=run_id)
    assert (code, said) == (-9, run_id)
    code, said = process(there, collector.url, PLAYHEAD_RESUME=run_id)
    assert (code, said) == (0, run_id)
    if elsewhere:  # the journal that it was killed over does not have its end
        how = {"PLAYHEAD_RESUME_ON_DIVERGENCE": "live", "PLAYHEAD_LEASE_SECONDS": "30"}
        code, _ = process(here, collector.url, STAGES="1234", PLAYHEAD_RESUME=run_id, **how)
        assert code == 1
    with playhead.Client(collector.url) as client:
        run: Any = client.run(run_id)
        kinds = Counter(event["kind"] for event in client.events(run_id))
    assert (run["status"], run["attempt"], run["completeness"]["spans_missing"]) == ("completed", 2, 0)
    assert run["completeness"]["complete"]
    assert (kinds["run_resumed"], kinds["run_completed"], kinds["run_diverged"]) == (2, 1, 0)
    assert kinds["tool_completed"] == 3


def test_a_run_that_had_completed_before_it_was_delivered_is_delivered_by_who_asks_for_its_results(
    tmp_path: Path, collector: CollectorProcess
) -> None:
    code, run_id = process(tmp_path / "here", collector.url, DIE_AT="end")
    assert code == -9, run_id
    with playhead.Client(collector.url) as client:
        assert run_id not in {run["run"] for run in client.runs()}
        code, said = process(tmp_path / "here", collector.url, PLAYHEAD_RESUME=run_id)
        assert (code, said) == (0, run_id)
        run: Any = client.run(run_id)
    assert (run["status"], run["attempt"], run["completeness"]["complete"]) == ("completed", 0, True)


def test_the_bundled_example_leaves_a_run_that_is_complete(tmp_path: Path, collector: CollectorProcess) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_", "OPENAI_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1"}
    kept |= {"PLAYHEAD_ENDPOINT": collector.url, "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], env=kept, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    with playhead.Client(collector.url) as client:
        run: Any = next(each for each in client.runs() if each["name"] == "receipts")
    assert (run["status"], run["attempt"], run["completeness"]["spans_missing"]) == ("completed", 1, 0)
    assert run["completeness"]["complete"]
