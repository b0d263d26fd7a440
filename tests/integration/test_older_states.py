"""What released versions wrote is read, resumed, delivered, imported and migrated: journal, export file, database. What
their SDK sends is taken, and what their collector answers is what the SDK's tests are answered.

tests/fixtures/states has a folder for each version (`tests.support.recorded_state`).
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

import playhead
from playhead.journal.lane import FORMAT_VERSION
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess
from playhead_collector.store import schema
from tests.integration.export.fake_collector import FakeCollector
from tests.support.recorded_state import run_program

STATES = sorted((Path(__file__).parents[1] / "fixtures" / "states").iterdir())
QUESTION, STATUS, ANSWER = "Where is order A1?", '"status": "delayed"', "It is three days late."


@pytest.fixture(params=STATES, ids=[state.name for state in STATES])
def state(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def about(state: Path) -> dict[str, str]:
    return json.loads((state / "about.json").read_text())


@pytest.fixture
def journal(state: Path, tmp_path: Path) -> Path:
    return shutil.copytree(state / "journal", tmp_path / "journal")


def command(*words: object, **environ: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-m", "playhead", *map(str, words)],
        env=kept | environ, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def calls(events: list[Any]) -> list[str]:
    return [event["kind"] for event in events if event["kind"].startswith(("llm_", "tool_", "run_"))]


WHOLE = [
    "run_started", "tool_called", "tool_completed", "llm_called", "llm_completed", "tool_called", "tool_completed",
    "llm_called", "llm_completed", "run_completed",
]  # fmt: skip


def test_its_journal_is_read(journal: Path, about: dict[str, str]):
    said = json.loads(command("events", about["killed"], "--local", "--json", PLAYHEAD_JOURNAL_DIR=str(journal)))
    assert calls(said) == WHOLE[:6]
    context = command("context", about["killed"], "--at", "4", "--local", PLAYHEAD_JOURNAL_DIR=str(journal))
    assert QUESTION in context
    assert STATUS in context


def test_its_killed_run_is_resumed(journal: Path, about: dict[str, str]):
    with MockModelServer() as model:
        model.otherwise(text("Refunded."))
        done = run_program(journal, model, PLAYHEAD_RESUME=about["killed"], PLAYHEAD_ENDPOINT="none")
        asked = len(model.requests)
    assert done.returncode == 0, done.stderr
    # The first tool and the first model call are answered from the record.
    assert done.stdout.splitlines() == ["refund", "Refunded."]
    assert asked == 1
    said = json.loads(command("events", about["killed"], "--local", "--json", PLAYHEAD_JOURNAL_DIR=str(journal)))
    assert calls(said)[-1] == "run_completed"


def test_its_journal_is_delivered_to_a_collector_of_today(journal: Path, about: dict[str, str]):
    with CollectorProcess() as collector:
        command("ship", PLAYHEAD_JOURNAL_DIR=str(journal), PLAYHEAD_ENDPOINT=collector.url)
        with playhead.Client(collector.url) as client:
            assert calls(list(client.events(about["killed"]))) == WHOLE[:6]
            context = json.dumps(client.context(about["killed"], at=4))
    assert QUESTION in context
    assert ANSWER not in context


def test_its_export_file_is_imported(state: Path, about: dict[str, str]):
    with CollectorProcess() as collector:
        command("import", state / "export.tar.zst", PLAYHEAD_COLLECTOR_URL=collector.url)
        with playhead.Client(collector.url) as client:
            assert calls(list(client.events(about["ended"]))) == WHOLE
            assert ANSWER in json.dumps(client.context(about["ended"]))


async def test_its_database_is_migrated_and_read(state: Path, about: dict[str, str], empty_database_url: str):
    dump = (state / "database.sql").read_text()
    statements = [line for line in dump.splitlines() if not line.startswith("\\")]  # psql's own commands
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute("\n".join(statements))
    await connection.close()
    assert await schema.current(empty_database_url) == about["schema"]
    with CollectorProcess(database_url=empty_database_url) as collector:
        assert await schema.current(empty_database_url) == schema.head()
        with playhead.Client(collector.url) as client:
            assert calls(list(client.events(about["ended"]))) == WHOLE
            assert ANSWER in json.dumps(client.context(about["ended"]))


def exchanges(state: Path) -> list[Any]:
    return json.loads((state / "requests.json").read_text())


def test_what_its_sdk_sends_is_taken_by_a_collector_of_today(state: Path):
    with CollectorProcess() as collector:
        for exchange in exchanges(state):
            body, before = base64.b64decode(exchange["body"]), exchange["answer"]
            answer = httpx.post(collector.url + exchange["path"], content=body, headers=exchange["headers"], timeout=60)
            assert (answer.status_code, answer.headers["content-type"]) == (before["status"], before["content-type"])
            assert int(answer.headers["playhead-collector"]) >= 1
            assert fields_of(answer.content, before["content-type"]) >= fields_of(
                base64.b64decode(before["body"]), before["content-type"]
            )
        with playhead.Client(collector.url) as client:
            [run] = client.runs()
            assert calls(list(client.events(run["run"]))) == WHOLE
            assert ANSWER in json.dumps(client.context(run["run"]))


def test_the_sdk_of_today_is_tested_with_the_answers_of_its_collector(state: Path):
    with FakeCollector() as fake:
        for exchange in exchanges(state):
            body, before = base64.b64decode(exchange["body"]), exchange["answer"]
            answer = httpx.post(fake.url + exchange["path"], content=body, headers=exchange["headers"], timeout=60)
            kind = before["content-type"]
            assert (answer.status_code, answer.headers["content-type"]) == (before["status"], kind)
            # The SDK needs nothing that the older collector did not answer.
            assert fields_of(answer.content, kind) <= fields_of(base64.b64decode(before["body"]), kind)


def fields_of(body: bytes, content_type: str) -> set[str]:
    """The fields of an answer; an empty protobuf message has none."""
    return set(json.loads(body)) if "json" in content_type else {str(body)} - {"b''"}


def test_there_is_a_state_of_the_version_of_today():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["version"] in {state.name for state in STATES}


def test_a_journal_of_a_newer_version_is_left_alone_and_said(journal: Path, about: dict[str, str]):
    [lane] = [path for path in journal.iterdir() if (path / "lock").exists()]
    (lane / "format").write_text(f"{FORMAT_VERSION + 1}\n")
    before = {path.name: path.read_bytes() for path in lane.iterdir()}
    done = subprocess.run(
        [sys.executable, "-m", "playhead", "runs", "--local", "--json"],
        env={**os.environ, "PLAYHEAD_JOURNAL_DIR": str(journal)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert about["killed"] not in done.stdout
    assert "upgrade playhead" in done.stderr
    assert {path.name: path.read_bytes() for path in lane.iterdir()} == before
