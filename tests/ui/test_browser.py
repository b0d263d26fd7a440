"""The web UI in a real browser, against a real collector with recorded runs.

One process of Node runs all files of tests/ui/browser, with one browser.  PLAYHEAD_UI_TESTS=run,axe runs these only.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess
from playhead_collector.serve.browser.pages import UiFiles
from tests.ui.node import FOLDER, run_node

ROOT = FOLDER.parents[1]
# Programs that are recorded run with the packages of this tree, wherever others are installed.
PYTHONPATH = os.pathsep.join(str(ROOT / folder) for folder in ("", "src", "collector"))
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
# In one process, in this order: the newest run is the first in the list, and the last program ends the recording.
PROGRAMS = (
    "tests/ui/scored_runs.py",
    "tests/ui/managed_chat.py",
    "examples/support_agent.py",
    "examples/scenarios/parallel_review.py",
    "tests/ui/programs.py",
    "tests/ui/many_runs.py",
    "examples/what_if.py",
)
RECORD = "import runpy, sys\nfor program in sys.argv[1:]: runpy.run_path(program, run_name='__main__')"
# Snapshots come first: the others record more runs. Until `search`, the collector has had time to index the runs. With
# `sign_in`, it begins to ask for a key.
TESTS = (
    "snapshots", "runs", "run", "panel", "axe", "compare", "live", "across", "content", "conversations", "tasks",
    "search", "frame", "sign_in",
)  # fmt: skip
# This one has a collector of its own: it looks at all that waits.
ALONE = ("approvals",)
# A run of 24,000 events needs the machine for itself: PLAYHEAD_UI_TESTS=large.
ON_REQUEST = ("large",)


def test_the_ui_is_built():
    assert UiFiles().is_built, "the web UI is not built: make ui"


# Live streams end every second, so that every page that follows one goes on over many ends.
SETTINGS = {"PLAYHEAD_SEAL_AFTER_SECONDS": "0", "PLAYHEAD_STREAM_SECONDS": "1"}
# Where the machine stands still, an answer comes late: a refusal would be an error in the page.
SETTINGS |= dict.fromkeys(
    (
        "PLAYHEAD_DATABASE_SILENT_SECONDS",
        "PLAYHEAD_POOL_WAIT_SECONDS",
        "PLAYHEAD_ANALYSIS_SECONDS",
        "PLAYHEAD_SEARCH_SECONDS",
    ),
    "60",
)


def test_in_the_browser(database_url: str, tmp_path: Path, pytestconfig: pytest.Config):
    in_the_browser(chosen(TESTS), database_url, tmp_path, pytestconfig, seconds=900)


def test_what_waits_in_the_browser(database_url: str, tmp_path: Path, pytestconfig: pytest.Config):
    in_the_browser(chosen(ALONE), database_url, tmp_path, pytestconfig, seconds=300)


def test_a_long_run_in_the_browser(database_url: str, tmp_path: Path, pytestconfig: pytest.Config):
    wanted = chosen(ON_REQUEST) if os.environ.get("PLAYHEAD_UI_TESTS") else []
    in_the_browser(wanted, database_url, tmp_path, pytestconfig, seconds=400)


def chosen(names: Sequence[str]) -> list[str]:
    """Those of the files that PLAYHEAD_UI_TESTS names; without it, all."""
    wanted = os.environ.get("PLAYHEAD_UI_TESTS")
    return [name for name in names if not wanted or name in wanted.split(",")]


def in_the_browser(
    names: Sequence[str], database_url: str, folder: Path, config: pytest.Config, *, seconds: float
) -> None:
    """Runs these files against a collector with the recorded programs."""
    if not names:
        pytest.skip("PLAYHEAD_UI_TESTS names none of these")
    with (
        MockModelServer() as model,
        CollectorProcess(database_url=database_url, env=SETTINGS | asked_again(model)) as collector,
    ):
        env = {"PLAYHEAD_ENDPOINT": collector.url, "PLAYHEAD_JOURNAL_DIR": str(folder)}
        env |= {"PLAYHEAD_EXIT_TIMEOUT_SECONDS": "120"}  # what is not delivered at a program's end never is
        record(env)
        env |= {"PLAYHEAD_UI_URL": collector.url, "PLAYHEAD_UI_PYTHON": sys.executable}
        env |= {"PLAYHEAD_UI_WAITING": str(FOLDER / "waiting_agent.py")}
        env |= {"PLAYHEAD_UI_LONG": str(FOLDER / "long_run.py")}
        env |= {"PLAYHEAD_UI_CHANGE": str(FOLDER / "waiting_change.py"), "PYTHONPATH": PYTHONPATH}
        env |= {"PLAYHEAD_UI_ASKING": str(FOLDER / "asking_agent.py")}
        env |= {"PLAYHEAD_UI_ODD": str(FOLDER / "odd_texts.py")}
        env |= {"PLAYHEAD_UI_SNAPSHOTS": str(FOLDER / "snapshots"), "PLAYHEAD_UI_PICTURES": str(folder)}
        env |= {"PLAYHEAD_UI_WRITE": "1"} if config.getoption("--write-golden") else {}
        env |= {"PLAYHEAD_UI_TESTS": ",".join(names)}
        run_node(
            "--test", "--test-isolation=none", FOLDER / "browser/in_order.ts", cwd=FOLDER, env=env, seconds=seconds
        )


def asked_again(model: MockModelServer) -> dict[str, str]:
    """Settings with which recorded calls are asked again of this server."""
    model.otherwise(text("RX110 and RX172 together cost €69, which is less."))
    return {"PLAYHEAD_EXPLAIN_URL": model.base_url, "PLAYHEAD_EXPLAIN_MODEL": "gpt-4o"}


def test_every_file_of_the_browser_is_run():
    assert {path.name for path in (FOLDER / "browser").glob("*.test.ts")} == {
        f"{name}.test.ts" for name in (*TESTS, *ALONE, *ON_REQUEST)
    }


def record(env: dict[str, str]) -> None:
    """Runs the programs, which send what they record to the collector."""
    env = env | {"PATH": "/usr/bin:/bin", "PYTHONPATH": PYTHONPATH}
    subprocess.run(
        [sys.executable, "-c", RECORD, *PROGRAMS], cwd=ROOT, env=env, check=True, capture_output=True, timeout=300
    )
