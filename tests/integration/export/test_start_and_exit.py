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

LANES = 400
# Of so many at most, the shipping thread reads something while a program ends.
READ_AT_THE_END = 10
# An audit hook sees each folder that is listed and each file that is opened, in whatever thread.
PROGRAM = """
import json, os, sys, threading
journal, main, seen = os.environ["PLAYHEAD_JOURNAL_DIR"], threading.get_ident(), {"main": set(), "other": set()}
def hook(event, args):
    if event in {"os.listdir", "os.scandir", "open"} and str(args[0]).startswith(journal):
        seen["main" if threading.get_ident() == main else "other"].add(str(args[0]))
sys.addaudithook(hook)
import playhead
@playhead.observe
def step(x): return x
step(1)
own = {path for path in seen["main"] | seen["other"] if f"-{os.getpid()}-" in path}
of_first, before = sorted(seen["main"] - own), set(seen["other"])  # on a busy machine, it had time to read until here
playhead.shutdown()
at_the_end = sorted(seen["other"] - before - own)
print(json.dumps({"of_first": of_first, "main": sorted(seen["main"] - own), "at_the_end": at_the_end}))
"""


def run(journal: Path, collector: FakeCollector) -> dict[str, Any]:
    environ = {
        **os.environ,
        "PLAYHEAD_ENDPOINT": collector.url,
        "PLAYHEAD_JOURNAL_DIR": str(journal),
        # The shipping thread looks at lanes of others after that time, which must not come while this program is slow.
        "PLAYHEAD_LINGER_SECONDS": "60",
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
        # One of a program that was not delivered, one that is old enough to be looked into, and a young one.
        lane_of(journal, root(f"{number:032x}"), delivered=number % 3 > 0, age=0 if number % 3 == 1 else 10**6)
    return journal


def test_neither_the_first_call_nor_the_end_looks_at_what_others_left(left_over: Path, collector: FakeCollector):
    said = run(left_over, collector)
    assert said["of_first"] == []
    assert said["main"] == []
    lanes = {Path(path).relative_to(left_over).parts[:1] for path in said["at_the_end"]}
    assert len(lanes) <= READ_AT_THE_END + 3, "the folder itself, and the files beside the lanes"
