"""Draws the pages of the web UI, in both themes and three widths: `python -m tests.ui.pictures [FOLDER [SCENE ...]]`.

Without a folder, those that the README and docs show, into docs/pictures. It starts a collector with its own Postgres,
and records the example agents on it. Scenes are named in browser/support/scenes.ts.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playhead_collector.process import CollectorProcess
from tests.ui.node import FOLDER, run_node

ROOT = FOLDER.parents[1]
# What the pages show; the newest run is the first in the list.
PROGRAMS = (
    "examples/scenarios/parallel_review.py",
    "examples/scenarios/error_recovery.py",
    "examples/code_editing_agent.py",
    "examples/what_if.py",
    "tests/ui/managed_chat.py",
    "tests/ui/many_runs.py",
    "tests/ui/programs.py",
    "examples/support_agent.py",
    "tests/ui/scored_runs.py",
)


DOCUMENTED = ("run", "runs")
WIDTHS = "1440,900,390"


def draw(folder: Path, scenes: Sequence[str], widths: str) -> None:
    """Writes NAME-THEME-WIDTH.png for each scene, theme and width.  No scenes: all."""
    env = {"PLAYHEAD_SEAL_AFTER_SECONDS": "0"}  # sealed runs are searched
    with CollectorProcess(env=env) as collector, tempfile.TemporaryDirectory() as journal:
        env = {
            **os.environ,
            "PLAYHEAD_ENDPOINT": collector.url,
            "PLAYHEAD_JOURNAL_DIR": journal,
            "PYTHONPATH": str(ROOT),
        }
        for program in PROGRAMS:
            subprocess.run([sys.executable, ROOT / program], env=env, check=True, capture_output=True, timeout=300)
        words = {"PLAYHEAD_UI_URL": collector.url, "PLAYHEAD_UI_PICTURES": str(folder)}
        words |= {"PLAYHEAD_UI_WIDTHS": widths, "PLAYHEAD_UI_SCENES": ",".join(scenes)}
        words |= {"PLAYHEAD_UI_PYTHON": sys.executable, "PLAYHEAD_UI_CHANGE": str(FOLDER / "waiting_change.py")}
        run_node("--test", FOLDER / "browser/support/pictures.ts", cwd=FOLDER, env={**env, **words}, seconds=3600)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "pictures"
    target.mkdir(parents=True, exist_ok=True)
    draw(target.resolve(), sys.argv[2:] or (() if sys.argv[1:] else DOCUMENTED), WIDTHS if sys.argv[1:] else "1440")
