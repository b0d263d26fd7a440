"""What lies in the journal does not make a program's start, first call or end slower: counted, not timed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.export.fake_collector import FakeCollector
from tests.integration.export.test_expiry import lane_of, root

LANES = 2_000
# An audit hook sees each folder that is listed and each file that is opened, in whatever thread.
PROGRAM = """
import json, os, sys, threading, time
journal, main, seen = os.environ["PLAYHEAD_JOURNAL_DIR"], threading.get_ident(), {"main": set(), "other": set()}
def hook(event, args):
    if event in {"os.listdir", "os.scandir", "open"} and str(args[0]).startswith(journal):
        seen["main" if threading.get_ident() == main else "other"].add(str(args[0]))
sys.addaudithook(hook)
import playhead
@playhead.observe
def step(x): return x
begun = time.process_time()
step(1)
first = time.process_time() - begun
own = {path for path in seen["main"] | seen["other"] if f"-{os.getpid()}-" in path}
of_first = sorted(seen["main"] - own)
playhead.shutdown()
print(json.dumps({"of_first": of_first, "main": sorted(seen["main"] - own), "other": len(seen["other"] - own),
                  "first": first, "all": time.process_time()}))
"""


def run(journal: Path, collector: FakeCollector) -> dict[str, Any]:
    environ = {
        **os.environ,
        "PLAYHEAD_ENDPOINT": collector.url,
        "PLAYHEAD_JOURNAL_DIR": str(journal),
        # So large that this program's few records are no reason to measure what the folder takes.
        "PLAYHEAD_JOURNAL_MAX_BYTES": str(2**45),
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def left_over(tmp_path_factory: pytest.TempPathFactory) -> Path:
    journal = tmp_path_factory.mktemp("left-over")
    for number in range(LANES):
        lane_of(journal, root(f"{number:032x}"), age=0)
    return journal


def test_neither_the_first_call_nor_the_end_looks_at_what_others_left(left_over: Path, collector: FakeCollector):
    said = run(left_over, collector)
    assert said["of_first"] == []
    assert said["main"] == []
    assert said["other"] < LANES // 50


def test_thousands_of_delivered_lanes_cost_nearly_nothing(left_over: Path, tmp_path: Path, collector: FakeCollector):
    pairs = [(run(tmp_path / "empty", collector), run(left_over, collector)) for _ in range(3)]
    # Each scan of all lanes is a fifth of what such a program takes; the best of three is what it takes undisturbed.
    for what in ("first", "all"):
        alone, beside = (min(pair[which][what] for pair in pairs) for which in (0, 1))
        assert beside < alone * 1.15 + 0.02
