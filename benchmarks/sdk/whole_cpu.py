"""C4: what recording costs the whole process, background threads included, against the Langfuse SDK on the same calls.

Each is measured in a process of its own, in an environment of its own (`make peers PEERS=install` makes the peer's):
the recorded runs' model calls, made with a client whose answers cost nothing, exported to a local endpoint.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.recorded_runs import model_calls
from benchmarks.sdk.sink import Sink
from tests.support.bar import ROUNDS, Row, at_most, not_measured
from tests.support.replayed_runs import recorded_runs

PEERS = Path(os.environ.get("PLAYHEAD_PEERS", ".venv-peers")) / "bin" / "python"
_WORKER = Path(__file__).with_name("cpu_worker.py")
_WHAT = "CPU of the process per model call ÷ Langfuse's"


def measure() -> Iterator[Row]:
    runs = recorded_runs()
    if not runs or not PEERS.exists():
        missing = "no recorded runs" if not runs else "no environment with peers: `make peers PEERS=install` makes it"
        yield not_measured("C4", _WHAT, f"there are {missing}" if not runs else f"there is {missing}")
        return
    with tempfile.TemporaryDirectory() as folder, Sink() as sink:
        calls = Path(folder) / "calls.json"
        calls.write_text(json.dumps([{"messages": run.messages, "tools": run.tools} for run in runs]))
        seconds: dict[str, list[float]] = {"nothing": [], "playhead": [], "langfuse": []}
        for _ in range(ROUNDS):
            for what, measured in seconds.items():
                measured.append(_cpu_seconds(what, calls, sink.url))
    count = sum(1 for _ in model_calls(runs))
    nothing, ours, theirs = (statistics.median(seconds[what]) / count * 1e6 for what in seconds)
    against = f"{ours - nothing:.0f} us ÷ {theirs - nothing:.0f} us, beside {nothing:.0f} us for the loop itself"
    yield at_most("C4", _WHAT, (ours - nothing) / (theirs - nothing), 1 / 2, unit="x", against=against)


def _cpu_seconds(what: str, calls: Path, url: str) -> float:
    with tempfile.TemporaryDirectory() as journal:
        env = {
            **os.environ,
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "PLAYHEAD_JOURNAL_DIR": journal,
            "LANGFUSE_BASE_URL": url,
            "LANGFUSE_HOST": url,
            "LANGFUSE_PUBLIC_KEY": "pk-lf-bench",
            "LANGFUSE_SECRET_KEY": "sk-lf-bench",
            "NO_PROXY": "127.0.0.1",
        }
        python = str(PEERS) if what == "langfuse" else sys.executable
        if what == "langfuse":
            env.pop("PYTHONPATH", None)
        command = [python, str(_WORKER), what, str(calls)]
        done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True, timeout=600)
    return float(done.stdout.split()[-1])
