"""The web UI in a real browser, against a real collector with recorded runs."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead_collector.process import CollectorProcess
from playhead_collector.serve.browser.ui_files import UiFiles
from tests.ui.node import FOLDER, run_node

ROOT = FOLDER.parents[1]
KEY = "the operator's"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
PROGRAMS = ("examples/support_agent.py", "examples/what_if.py", "tests/ui/programs.py", "tests/ui/many_runs.py")


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    env = {"PLAYHEAD_SEAL_AFTER_SECONDS": "0"}  # sealed runs are searched
    with CollectorProcess(database_url=module_database_url, env=env) as collector:
        yield collector


@pytest.fixture(scope="module")
def url(collector: CollectorProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A collector that knows runs."""
    for program in PROGRAMS:
        env = {"PLAYHEAD_ENDPOINT": collector.url, "PLAYHEAD_JOURNAL_DIR": str(tmp_path_factory.mktemp("journal"))}
        env |= {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, ROOT / program], env=env, check=True, capture_output=True, timeout=120)
    return collector.url


def browse(name: str, url: str, **env: str) -> None:
    run_node("--test", FOLDER / "browser" / f"{name}.test.ts", cwd=FOLDER, env={"PLAYHEAD_UI_URL": url, **env})


def test_the_ui_is_built():
    assert UiFiles().is_built, "the web UI is not built: make ui"


# Before the others, which record more runs.
def test_snapshots_of_the_main_pages(url: str, tmp_path: Path, pytestconfig: pytest.Config):
    env = {"PLAYHEAD_UI_SNAPSHOTS": str(FOLDER / "snapshots"), "PLAYHEAD_UI_PICTURES": str(tmp_path)}
    env |= {"PLAYHEAD_UI_WRITE": "1"} if pytestconfig.getoption("--write-golden") else {}
    browse("snapshots", url, **env)


# `search` comes last: until then, the collector has had time to index the runs.
@pytest.mark.parametrize(
    "name", ["runs", "run", "large", "axe", "compare", "live", "across", "approvals", "content", "tasks", "search"]
)
def test_in_the_browser(name: str, url: str, tmp_path: Path):
    agent = {"PLAYHEAD_UI_PYTHON": sys.executable, "PLAYHEAD_UI_AGENT": str(ROOT / PROGRAMS[0])}
    agent |= {"PLAYHEAD_UI_WAITING": str(FOLDER / "waiting_agent.py")}
    agent |= {"PLAYHEAD_UI_ASKING": str(FOLDER / "asking_agent.py")}
    browse(name, url, PLAYHEAD_JOURNAL_DIR=str(tmp_path), **agent)


def test_signing_in_with_a_key_in_the_browser(database_url: str):
    with CollectorProcess(database_url=database_url, env={"PLAYHEAD_API_KEY": KEY}) as collector:
        browse("sign_in", collector.url, PLAYHEAD_UI_KEY=KEY)
