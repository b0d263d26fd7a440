"""The keys of encrypted projects: wrong, missing, wrapped anew, destroyed, and kept by a command."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from playhead.client import Client
from playhead.errors import ClientError, Conflict
from playhead_collector.errors import CannotStart
from playhead_collector.process import CollectorProcess
from tests.integration.encryption.conftest import (
    KEY,
    OPERATOR,
    OTHER_KEY,
    PROJECT,
    client_of,
    collector_in,
    fill,
    http_of,
    open_folder,
)
from tests.integration.encryption.recorded_texts import RUNS, TEXTS, run_id
from tests.integration.encryption.scanning import found_in
from tests.support.sweep import PREFIX


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


def make_blue(collector: CollectorProcess) -> None:
    with Client(collector.url, OPERATOR) as operator:
        assert operator.create_project(PROJECT, encrypted=True)["encryption"] == "on"
    asyncio.run(fill(collector.database))


def start(folder: Path, key: str | None = KEY, **more: str) -> None:
    with collector_in(folder, key, **more):
        pass


def prompt_of(collector: CollectorProcess, number: int = 0) -> str:
    with client_of(collector.url) as client:
        return str(client.context(run_id(number))["messages"])


def test_with_a_wrong_key_or_none_the_collector_does_not_start_and_nothing_is_damaged(folder: Path):
    with collector_in(folder) as collector:
        make_blue(collector)
        assert TEXTS["prompt"] in prompt_of(collector)
    for key, said in ((OTHER_KEY, "wrapped by the key"), (None, "there is no operator's key")):
        with pytest.raises(CannotStart, match=f"'{PROJECT}'.*{said}"):
            start(folder, key)
    with collector_in(folder) as collector:
        assert TEXTS["prompt"] in prompt_of(collector)


def test_a_text_that_is_no_key_is_refused_before_anything_is_started(folder: Path):
    with pytest.raises(CannotStart, match="PLAYHEAD_ENCRYPTION_KEY cannot be"):
        start(folder, "c2hvcnQ=")
    assert not (folder / "postgres").exists()
    file = folder / "key"
    file.write_text(KEY)
    with pytest.raises(CannotStart, match="set one"):
        start(folder, KEY, PLAYHEAD_ENCRYPTION_KEY_FILE=str(file))
    file.write_text("no key")
    with pytest.raises(CannotStart, match="openssl rand"):
        start(folder, None, PLAYHEAD_ENCRYPTION_KEY_FILE=str(file))


def test_without_an_operator_s_key_no_project_can_be_encrypted(database_url: str):
    env = {"PLAYHEAD_ADMIN_KEY": OPERATOR}
    with CollectorProcess(database_url=database_url, env=env) as collector, Client(collector.url, OPERATOR) as operator:
        with pytest.raises(Conflict, match="PLAYHEAD_ENCRYPTION_KEY"):
            operator.create_project(PROJECT, encrypted=True)
        assert [project["name"] for project in operator.projects()["items"]] == ["default"]
        operator.create_project(PROJECT)
        with pytest.raises(Conflict, match="not encrypted"):
            operator.destroy_key(PROJECT)


def rewrap(folder: Path, old: str, new: str | None) -> subprocess.CompletedProcess[str]:
    file = folder / "old-key"
    file.write_text(old)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_DATA_DIR": str(folder)}
    env |= {} if new is None else {"PLAYHEAD_ENCRYPTION_KEY": new}
    command = [sys.executable, "-m", "playhead", "rewrap", "--old-key-file", str(file)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


def test_keys_are_wrapped_by_another_operator_s_key(folder: Path):
    with collector_in(folder) as collector:
        make_blue(collector)
    wrong = rewrap(folder, OTHER_KEY, KEY)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "wrapped by the key" in wrong.stderr
    assert rewrap(folder, KEY, None).returncode == 2
    done = rewrap(folder, KEY, OTHER_KEY)
    assert (done.returncode, done.stdout) == (0, "wrapped the keys of 1 projects with the new key\n"), done.stderr
    with pytest.raises(CannotStart, match="wrapped by the key"):
        start(folder, KEY)
    with collector_in(folder, OTHER_KEY) as collector:
        assert TEXTS["prompt"] in prompt_of(collector)


COMMAND = """
import base64, pathlib, sys
what, data = sys.argv[1], base64.b64decode(sys.stdin.read())
print(base64.b64encode(bytes(each ^ 0x5A for each in data)).decode())
"""


def test_a_command_wraps_and_unwraps_keys(folder: Path):
    script = folder / "service.py"
    script.write_text(COMMAND)
    command = f"{sys.executable} {script}"
    with collector_in(folder, None, PLAYHEAD_ENCRYPTION_COMMAND=command) as collector:
        with Client(collector.url, OPERATOR) as operator:
            operator.create_project(PROJECT, encrypted=True)
        with http_of(collector.url) as http:
            http.post(f"{PREFIX}/promises", json=PROMISE).raise_for_status()
    with (
        collector_in(folder, None, PLAYHEAD_ENCRYPTION_COMMAND=command) as collector,
        client_of(collector.url) as client,
    ):
        assert client.promise(PROMISE["id"])["key"] == PROMISE["key"]
    with pytest.raises(CannotStart, match="ended with 1"):
        start(folder, None, PLAYHEAD_ENCRYPTION_COMMAND=f"{sys.executable} -c raise(SystemExit(1))")
    with pytest.raises(CannotStart, match="wrapped by a command"):
        start(folder, KEY)


PROMISE = {"id": "d" * 32, "kind": "approval", "key": "refund of Ann"}


# --- destroyed --------------------------------------------------------------------------------------------------------


def test_without_its_key_a_project_is_gone_for_all_and_can_be_deleted(folder: Path):
    with collector_in(folder) as collector:
        make_blue(collector)
        with client_of(collector.url) as client:
            key = client.create_key("all of blue", ["ingest", "read", "admin"])["key"]
            assert len(list(client.runs())) == RUNS
        wrapped = asyncio.run(wrapped_key(collector.database))
        with Client(collector.url, OPERATOR) as operator:
            operator.create_project("red", encrypted=True)
            assert operator.destroy_key(PROJECT) == {"destroyed": True}
            assert operator.destroy_key(PROJECT) == {"destroyed": False}
            listed = {project["name"]: project["encryption"] for project in operator.projects()["items"]}
            assert listed == {"default": "off", PROJECT: "key_destroyed", "red": "on"}
        for http in (
            http_of(collector.url),
            httpx.Client(base_url=collector.url, headers={"x-api-key": key}, timeout=60),
        ):
            with http:
                refused(http.get(f"{PREFIX}/runs"))
                refused(http.get(f"{PREFIX}/runs/{run_id(0)}/context"))
                refused(http.post(f"{PREFIX}/promises", json=PROMISE))
                assert http.post("/v1/traces", json={"resourceSpans": []}).status_code == 410
        asyncio.run(checkpointed(collector.database))
    assert wrapped not in b"".join(
        path.read_bytes() for path in (folder / "postgres" / "base").rglob("*") if path.is_file()
    )
    with collector_in(folder) as collector:  # what is destroyed keeps nobody from starting
        with client_of(collector.url) as client, pytest.raises(ClientError, match="destroyed"):
            list(client.runs())
        with Client(collector.url, OPERATOR, project="red") as red:
            assert list(red.runs()) == []
        with Client(collector.url, OPERATOR) as operator:
            assert operator.delete_project(PROJECT) == {"deleted": True}
            assert [project["name"] for project in operator.projects()["items"]] == ["default", "red"]
        assert "Traceback" not in collector.log()
    assert found_in(folder, TEXTS) == {}


def refused(answer: httpx.Response) -> None:
    assert answer.status_code == 410
    assert answer.json()["error"]["code"] == "key_destroyed"
    assert "projects delete" in answer.json()["error"]["message"]


async def wrapped_key(dsn: str) -> bytes:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("select wrapped_key from project_key")
    finally:
        await connection.close()


async def checkpointed(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("checkpoint")
    await connection.close()
