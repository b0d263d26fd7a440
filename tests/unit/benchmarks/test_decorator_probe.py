"""The decorator probe: `@observe` does right in every case, and the table in the docs says what was found."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers.cases import ALL
from benchmarks.peers.table import tables
from benchmarks.peers.tools import NAMES

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "decorators.md"
RESULTS: dict[str, Any] = json.loads((ROOT / "benchmarks" / "peers" / "results.json").read_text(encoding="utf-8"))
MARK = "<!-- probe -->\n"


def probed() -> dict[str, str | None]:
    """What is wrong with `@observe` by case: in a process of its own, since memory is measured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]), "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0"}
    command = [sys.executable, "-m", "benchmarks.peers.probe", "playhead"]
    done = subprocess.run(command, env=kept, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])["wrong"]


@pytest.mark.slow
def test_observe_is_right_in_every_case_and_the_table_in_the_docs_says_so(pytestconfig: pytest.Config):
    """One test: the probe takes ten seconds, and each process of pytest that has one of these tests would run it."""
    own = probed()
    assert own == {case.title: None for case in ALL}
    head, _, found = PAGE.read_text(encoding="utf-8").partition(MARK)
    table = tables(RESULTS, own)
    if pytestconfig.getoption("--write-golden"):
        PAGE.write_text(f"{head}{MARK}{table}", encoding="utf-8")
        found = table
    assert found == table, "run pytest tests/unit/benchmarks/test_decorator_probe.py --write-golden"


def test_each_other_tool_was_run_through_every_case():
    titles = [case.title for case in ALL]
    assert sorted(RESULTS["tools"]) == sorted(NAMES)
    for found in RESULTS["tools"].values():
        assert sorted(found["wrong"]) == sorted(titles)
        assert found["version"]
