"""Runs the probe under the other tools, each in a process of its own in the peers' environment, and stores the results.

make peers PEERS=install && .venv/bin/python -m benchmarks.peers [TOOL ...]
"""

import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers.tools import NAMES

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.json")
PEERS = Path(os.environ.get("PLAYHEAD_PEERS", ROOT / ".venv-peers")) / "bin" / "python"
_SECONDS = 1200


def main(tools: list[str]) -> None:
    if not PEERS.exists():
        sys.exit(f"There is no environment with the other tools at {PEERS}: run `make peers PEERS=install` first.")
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"tools": {}}
    for name in tools or NAMES:
        sys.stderr.write(f"{name} ...\n")
        found["tools"][name] = _run(name)
    found["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    found["python"] = platform.python_version()
    RESULTS.write_text(json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def _run(name: str) -> dict[str, object]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1"}
    command = [str(PEERS), "-m", "benchmarks.peers.probe", name]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        sys.exit(f"the probe of {name} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main(sys.argv[1:])
