"""Draws the pages of the web UI, in both themes: `python -m tests.ui.pictures [FOLDER] [--narrow]`.

Without a folder, those of docs/pictures. It starts a collector with its own Postgres, and records the example agents
on it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playhead_collector.process import CollectorProcess
from tests.ui.node import FOLDER, run_node

ROOT = FOLDER.parents[1]
# What the pages show; the newest run is the first in the list.
PROGRAMS = (
    "examples/scenarios/parallel_review.py",
    "examples/scenarios/error_recovery.py",
    "examples/scenarios/code_assistant.py",
    "examples/what_if.py",
    "tests/ui/programs.py",
    "examples/support_agent.py",
)


def draw(folder: Path, width: int) -> None:
    """Writes NAME-THEME-WIDTH.png for each page and theme."""
    with CollectorProcess() as collector, tempfile.TemporaryDirectory() as journal:
        env = {
            **os.environ,
            "PLAYHEAD_ENDPOINT": collector.url,
            "PLAYHEAD_JOURNAL_DIR": journal,
            "PYTHONPATH": str(ROOT),
        }
        for program in PROGRAMS:
            subprocess.run([sys.executable, ROOT / program], env=env, check=True, capture_output=True, timeout=120)
        words = {"PLAYHEAD_UI_URL": collector.url, "PLAYHEAD_UI_PICTURES": str(folder), "PLAYHEAD_UI_WIDTH": str(width)}
        run_node("--test", FOLDER / "browser" / "pictures.ts", cwd=FOLDER, env=words)


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    target = Path(names[0]) if names else ROOT / "docs" / "pictures"
    target.mkdir(parents=True, exist_ok=True)
    draw(target.resolve(), 900 if "--narrow" in sys.argv else 1440)
