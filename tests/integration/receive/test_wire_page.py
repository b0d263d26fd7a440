"""The sender of the page about the wire, which imports nothing of ours, against a collector."""

import os
import subprocess
import sys
from pathlib import Path

import playhead
from playhead_collector.process import CollectorProcess
from tests.test_docs import code_of


def test_the_sender_of_the_page_is_understood(tmp_path: Path):
    with CollectorProcess() as collector:
        env = {"PATH": os.environ["PATH"], "COLLECTOR": collector.url, "NO_PROXY": "127.0.0.1"}
        program = [sys.executable, "-I", "-c", code_of("docs/wire.md")["sender"]]
        done = subprocess.run(program, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with playhead.Client(collector.url) as client:
            [run] = client.runs()
            kinds = [event["kind"] for event in client.events(run["run"])]
            context = client.context(run["run"])
    assert kinds[0] == "run_started"
    assert kinds[-1] == "run_completed"
    assert {"llm_called", "llm_completed"} <= set(kinds)
    assert context["messages"][0]["parts"] == [{"type": "text", "content": "Where is A1?"}]
    assert not run.get("content_pending")
