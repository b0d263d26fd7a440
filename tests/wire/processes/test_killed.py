"""A process is killed, and another one that has the same journal finds its lock free: its run is lost at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from playhead.client import Client
from playhead_collector.process import CollectorProcess

KILLED = """
import os, signal
import playhead

@playhead.observe(kind="tool")
def tool():
    playhead.flush(timeout=60)
    os.kill(os.getpid(), signal.SIGKILL)

with playhead.run("agent") as run:
    print(run.id, flush=True)
    tool()
"""


def test_a_run_is_lost_as_soon_as_another_process_has_found_its_lock_free(
    tmp_path: Path, module_database_url: str
) -> None:
    settings = {"PLAYHEAD_RUN_LOST_AFTER_SECONDS": "120"}  # it is looked for ten times as often
    with CollectorProcess(database_url=module_database_url, env=settings) as collector, Client(collector.url) as client:
        env = {**os.environ, "PLAYHEAD_ENDPOINT": collector.url, "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "journal")}
        killed = subprocess.run([sys.executable, "-c", KILLED], env=env, capture_output=True, text=True, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        began = time.monotonic()
        run = killed.stdout.strip()
        assert client.run(run)["status"] == "running"
        subprocess.run(
            [sys.executable, "-m", "playhead", "ship"], env=env, check=True, capture_output=True, timeout=300
        )
        assert list(client.watch(run))  # ends when it is lost
        assert time.monotonic() - began < 115  # not by its silence
        lost = client.run(run)
        assert lost["status"] == "lost"
        assert lost["last_record"] is not None
