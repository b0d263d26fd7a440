"""A program that was killed, and whose record the collector has masked: what is missing is not made up."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playhead.client import Client
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess

PROGRAM = "tests.support.programs.masked_agent"


@pytest.fixture
def collector(database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=database_url) as collector:
        yield collector


def run(
    collector: CollectorProcess, models: MockModelServer, journal: Path, *more: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", PROGRAM, collector.url, models.base_url, str(journal), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_a_run_whose_record_is_masked_is_refused_and_says_what_to_do(collector: CollectorProcess, tmp_path: Path):
    with MockModelServer() as models, Client(collector.url) as client:
        models.otherwise(text("Hello!"))
        client.set_redaction(presets=["email"])
        died = run(collector, models, tmp_path / "here")
        assert died.returncode == -signal.SIGKILL, died.stderr
        run_id = died.stdout.split()[0]
        [tool] = client.tool_calls(run_id)
        assert client.contents([tool["refs"]["result"]])[tool["refs"]["result"]].get("value") == {
            "mail": "[masked:email]", "name": "Jo",
        }  # fmt: skip

        elsewhere = tmp_path / "elsewhere"
        refused = run(collector, models, elsewhere, run_id)
        assert refused.returncode != 0
        assert refused.stdout == ""
        error = refused.stderr.strip().splitlines()[-1]
        assert "MaskedContent" in error
        assert "find_address" in error
        assert "playhead.RERUN" in error
        assert "[masked:" not in refused.stderr

        again = run(collector, models, elsewhere, run_id, tool["span"] or "")
        assert again.stdout.splitlines() == ["executed", "Hello! jo.secret@example.com"], again.stderr
        assert len(models.requests) == 1

        # On the machine whose journal has it, nothing is missing.
        other = run(collector, models, tmp_path / "there").stdout.split()[0]
        whole = run(collector, models, tmp_path / "there", other)
        assert whole.stdout.splitlines() == ["Hello! jo.secret@example.com"], whole.stderr
