"""The examples of histories in queues run as they stand: a queue of Python, and Celery over its filesystem transport,
to a worker in a process of its own."""

import json
import os
import sys
import uuid
from pathlib import Path

import pytest

from playhead import History
from playhead_collector.process import CollectorProcess
from tests.support.programs.examples import NOBODY, ROOT, load_example, run_example
from tests.wire.conversations.test_histories import Machine, chat


def test_a_task_is_given_a_history_and_returns_it_longer(
    machine: Machine, collector: CollectorProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("QUEUE", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", collector.url)
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "worker"))
    example = load_example("history_celery")
    for name in ("queue", "results", "control"):
        (tmp_path / name).mkdir()
    messages = chat(100, uuid.uuid4().hex)
    history = History(messages)
    assert history.persist()
    sent = example.step.delay(history.to_json())
    [queued] = (tmp_path / "queue").iterdir()
    assert queued.stat().st_size < 0.05 * len(json.dumps(messages))
    with example.worker() as process:
        try:
            result = History.load(sent.get(timeout=120))
        finally:
            process.terminate()
    assert len(result) == 101
    assert result.hydrate()[:-1] == messages
    assert result[-1].text == "I have read 100 messages"


@pytest.mark.parametrize("reaches", [True, False])
def test_the_example_of_a_queue_sends_refs_where_a_collector_answers(
    collector: CollectorProcess, tmp_path: Path, reaches: bool
):
    endpoint = collector.url if reaches else NOBODY
    ended = run_example(ROOT / "examples" / "history_queue.py", tmp_path, PLAYHEAD_ENDPOINT=endpoint)
    assert ended.code == 0, ended.errors
    *steps, last = ended.out.splitlines()
    assert ([line.partition(",")[0] for line in steps], last) == ([f"{n} messages" for n in (3, 5, 7)], "I see.")
    assert all((int(line.split()[2]) < 150) is reaches for line in steps)
