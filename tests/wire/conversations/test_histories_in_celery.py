"""A history goes through Celery as JSON: over its filesystem transport, to a worker in a process of its own."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from playhead import History
from playhead_collector.process import CollectorProcess
from tests.wire.conversations.test_histories import Machine, chat

APP = """
import os
import pathlib

from celery import Celery

import playhead

folder = pathlib.Path(os.environ["QUEUE"])
app = Celery("histories", broker="filesystem://", backend=(folder / "results").as_uri())
app.conf.update(
    broker_transport_options={
        "data_folder_in": str(folder / "queue"),
        "data_folder_out": str(folder / "queue"),
        "control_folder": str(folder / "control"),
    },
    task_serializer="json",
    result_serializer="json",
    accept_content=["json"],
)


@app.task(name="step")
def step(value):
    history = playhead.History.load(value)
    history.call(lambda messages: f"I have read {len(messages)} messages")
    history.persist()
    return history.to_json()
"""


@contextmanager
def worker(folder: Path, env: dict[str, str]) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", "histories", "worker", "--pool=solo", "--loglevel=warning",
               "--without-gossip", "--without-mingle", "--without-heartbeat"]  # fmt: skip
    with (
        (folder / "worker.log").open("wb") as log,
        subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def test_a_task_is_given_a_history_and_returns_it_longer(
    machine: Machine, collector: CollectorProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("queue", "results", "control"):
        (tmp_path / name).mkdir()
    (tmp_path / "histories.py").write_text(APP, encoding="utf-8")
    monkeypatch.setenv("QUEUE", str(tmp_path))
    scope: dict[str, Any] = {"__name__": "histories"}
    exec(compile(APP, "histories.py", "exec"), scope)
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)]),
        "PLAYHEAD_ENDPOINT": collector.url,
        "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "worker"),
    }
    messages = chat(100, uuid.uuid4().hex)
    history = History(messages)
    assert history.persist()
    sent = scope["step"].delay(history.to_json())
    [queued] = (tmp_path / "queue").iterdir()
    assert queued.stat().st_size < 0.05 * len(json.dumps(messages))
    with worker(tmp_path, env):
        result = History.load(sent.get(timeout=120))
    assert len(result) == 101
    assert result.hydrate()[:-1] == messages
    assert result[-1].text == "I have read 100 messages"
