"""Instrumentation and resume against a real provider (`make live PROVIDER=...`), and the same against the mock server.

A real provider needs `PROVIDER` and its key; `MODEL` names another model. Without them only the mock is asked, so that
the test itself stays right. The result of the last real run stands in docs/testing.md.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playhead.testing import MockModelServer, text

PROGRAM = Path(__file__).with_name("provider_program.py")
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
ADDRESSES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}
MODELS = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-4-5", "gemini": "gemini-2.5-flash"}


@pytest.fixture(params=[(server, provider) for server in ("mock", "real") for provider in KEYS], ids="-".join)
def environ(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    server, provider = request.param
    said = {"PROVIDER": provider, "MODEL": os.environ.get("MODEL") or MODELS[provider]}
    if server == "mock":
        with MockModelServer() as model:
            model.otherwise(text("A1"))
            address = model.base_url if provider == "openai" else model.url
            yield said | {ADDRESSES[provider]: address, KEYS[provider]: "none", "NO_PROXY": "127.0.0.1"}
        return
    if os.environ.get("PROVIDER") != provider or not os.environ.get(KEYS[provider]):
        pytest.skip(f"PROVIDER={provider} and {KEYS[provider]} are not set: never asked")
    yield said


def run(command: list[str], journal: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(journal)}
    kept |= {"PLAYHEAD_ENDPOINT": "none"}
    return subprocess.run(
        [sys.executable, *command], env=kept | environ, capture_output=True, text=True, timeout=180, check=False
    )


def asked(question: str, journal: Path) -> Any:
    done = run(["-m", "playhead", *question.split(), "--local", "--json"], journal, {})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_killed_agent_is_recorded_and_resumed(environ: dict[str, str], tmp_path: Path):
    killed = run([str(PROGRAM)], tmp_path, environ | {"DIES": "1"})
    assert killed.stdout, killed.stderr
    first = json.loads(killed.stdout)["first"]
    [recorded] = asked("runs", tmp_path)
    events = asked(f"events {recorded['run']}", tmp_path)
    kinds = [event["kind"] for event in events if event["kind"].startswith(("llm_", "tool_"))]
    assert kinds == ["llm_called", "llm_completed", "tool_called", "tool_completed"]

    resumed = run([str(PROGRAM)], tmp_path, environ | {"PLAYHEAD_RESUME": recorded["run"]})
    assert resumed.returncode == 0, resumed.stderr
    answer = json.loads(resumed.stdout)
    assert answer["first"] == first
    assert answer["second"]
    kinds = [event["kind"] for event in asked(f"events {recorded['run']}", tmp_path)]
    assert kinds.count("llm_completed") == 2
    assert kinds[-1] == "run_completed"
    state = asked(f"state {recorded['run']}", tmp_path)
    assert state["status"] == "completed"
