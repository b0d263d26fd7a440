"""Unmodified exporters and SDKs, pointed at a collector by the lines that the page about integrations has for them.

Each holds a conversation with the mock model server; its runs are there with events, messages and contexts, and no
content of it stands in a span.
"""

import asyncio
import json
from typing import Any

import httpx
import pytest

from playhead.testing import MockModelServer
from playhead_collector.process import CollectorProcess
from tests.senders.capture import script
from tests.senders.pointing import POINTINGS, run
from tests.senders.programs import scene
from tests.wire.test_otlp_exporters import rows_with

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="the lines are those of a POSIX shell")


def ask(collector: CollectorProcess, path: str, **params: Any) -> Any:
    answer = httpx.get(f"{collector.url}/api/v1/{path}", params=params, timeout=60)
    assert answer.status_code == 200, (path, answer.text)
    return answer.json()


def runs_of(collector: CollectorProcess) -> set[str]:
    return {run["run"] for run in ask(collector, "runs", limit=200)["items"]}


@pytest.mark.parametrize("name", POINTINGS)
def test_what_a_sender_sends_is_recorded(collector: CollectorProcess, name: str):
    pointing = POINTINGS[name]
    if not pointing.is_installed():
        pytest.skip(f"`make senders` installs the packages of {pointing.group}")
    before = runs_of(collector)
    with MockModelServer() as server:
        script(server)
        assert collector.grpc_url is not None
        done = run(pointing, server, collector.url, collector.grpc_url)
        asked = len(server.requests)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = runs_of(collector) - before
    assert runs, done.stdout + done.stderr
    calls = {run: ask(collector, f"runs/{run}/llm-calls")["items"] for run in runs}
    assert sum(map(len, calls.values())) == (2 if pointing.spans_only else asked) > 0
    events = [event["kind"] for run in runs for event in ask(collector, f"runs/{run}/events", limit=200)["items"]]
    assert {"run_started", "llm_called", "llm_completed", "run_completed"} <= set(events)
    context = json.dumps([ask(collector, f"runs/{run}/context") for run in runs if calls[run]])
    assert scene.FOLLOW_UP in context
    assert scene.QUESTION in json.dumps([ask(collector, f"runs/{run}/messages") for run in runs])
    assert asyncio.run(rows_with(collector, "Marker-")) == []
