"""The drill: a backup is made while programs record, restored into an empty place, and answers as the original does."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from playhead.client import Client
from playhead.errors import NotFound
from playhead.model.message import text_message
from playhead_collector import embedded
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.embedded.cluster import account_for, binaries, environment
from playhead_collector.errors import BadSetting, CannotStart, DatabaseError
from playhead_collector.process import CollectorProcess
from playhead_collector.settings import CollectorSettings
from playhead_collector.store import schema
from playhead_collector.store.postgres.store import connect
from playhead_collector.upkeep import backup, restore, tool_of
from tests.integration.read.recorded import Recorder, conversation
from tests.support.at_rest import until_at_rest
from tests.support.readers.questions import across, answer, questions

RUNS = [f"{n:02x}" * 16 for n in range(1, 7)]
ENV = {"PLAYHEAD_SEAL_AFTER_SECONDS": "1", "PLAYHEAD_LOG_LEVEL": "warning", "PLAYHEAD_ADMIN_KEY": ""}


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    made = Path(tempfile.mkdtemp(prefix="playhead-backup-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def command(*arguments: str, data: Path, expect: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", "playhead", *arguments],
        env={**os.environ, "PYTHONPATH": path, "PLAYHEAD_DATA_DIR": str(data), **env},
        capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert done.returncode == expect, done.stderr
    return done


def with_a_tool(run: str) -> Recorder:
    made = Recorder(run, name="refunds", session="s9")
    made.tool("look_up", {"order": run[:4]}, {"state": "paid"})
    made.change("plan", ["look up", "refund"])
    for n in range(4):
        made.tool("wait", {"n": n}, {"waited": n})
    made.tool("refund", {"order": run[:4], "amount": 20}, {"ok": True})
    return made


async def record(database: str) -> None:
    store = await connect(database, pool_size=1)
    for n, run in enumerate(RUNS):
        made = conversation(run, 2 + n) if n % 2 else with_a_tool(run)
        await store.spans.ingest(PROJECT, made.batch())
    await store.close()


class Ingesting:
    """Records runs in another thread, one after another, until it ends; `acknowledged` has those that are stored."""

    def __init__(self, database: str) -> None:
        self.acknowledged: list[str] = []
        self._database = database
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._record()))

    def __enter__(self) -> "Ingesting":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def wait(self, count: int) -> None:
        deadline = time.monotonic() + 180
        while len(self.acknowledged) < count:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    async def _record(self) -> None:
        store = await connect(self._database, pool_size=1)
        n = 0
        while not self._over.is_set():
            n += 1
            run = f"{n:04x}" + "ab" * 14
            # Another task than that of the runs before, which else would be siblings of these.
            made = Recorder(run, name="importer", session="s3")
            made.model([text_message("user", f"import {n}")], text_message("assistant", f"{n} is imported"))
            await store.spans.ingest(PROJECT, made.batch())
            self.acknowledged.append(run)
        await store.close()


async def answers(url: str, asked: Sequence[str] | None = None) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        if asked is None:
            asked = [question for run in RUNS for question in await questions(client, run)]
        return {question: await answer(client, question) for question in asked}


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {*one, *other}:
            yield from differences(one.get(key), other.get(key), f"{place} {key}")
    elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        for n, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differences(first, second, f"{place}[{n}]")
    elif one != other:
        yield f"{place}: {one!r:.200} instead of {other!r:.200}"


def epoch_of(url: str) -> str:
    asked = httpx.post(f"{url}/v1/content/missing", json={"refs": []}, trust_env=False, timeout=60)
    return asked.raise_for_status().json()["epoch"]


def test_nobody_else_may_read_a_backup_while_it_is_written(
    module_database_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Into a folder that was there already, and that others may read."""
    saved, run, modes = folder / "backup", subprocess.run, list[int]()
    saved.mkdir(mode=0o755)

    def watched(*arguments: Any, **options: Any) -> Any:
        modes.append((saved / "database.dump").stat().st_mode & 0o777)
        return run(*arguments, **options)

    monkeypatch.setattr(subprocess, "run", watched)
    backup(CollectorSettings(database_url=module_database_url), saved)
    assert modes == [0o600]
    assert (saved / "database.dump").stat().st_mode & 0o777 == 0o600
    assert (saved / "database.dump").read_bytes().startswith(b"PGDMP")


@pytest.fixture
def older_postgres(folder: Path) -> Iterator[str]:
    """A database of Postgres 16, of which the embedded Postgres has the programs, too."""
    data = folder / "older"
    data.mkdir(mode=0o711)
    account = account_for(data / "postgres")
    os.chown(data, account.uid, account.gid)
    make = [binaries(16) / "initdb", "--pgdata", data / "postgres", "--username=postgres", "--auth=trust", "--no-sync"]
    subprocess.run(
        make, env=environment(), cwd=data, capture_output=True, check=True, umask=0o077, **account.popen_options()
    )
    with embedded.start(data) as postgres:
        yield postgres.dsn


def of(database_url: str) -> CollectorSettings:
    return CollectorSettings(database_url=database_url)


def test_a_backup_is_restored_into_an_older_postgres(module_database_url: str, older_postgres: str, folder: Path):
    backup(of(module_database_url), folder / "backup")
    restore(of(older_postgres), folder / "backup")
    assert asyncio.run(schema.current(older_postgres)) == schema.head()
    backup(of(older_postgres), folder / "again")


def test_of_a_backup_that_is_not_whole_nothing_is_restored(
    module_database_url: str, empty_database_url: str, folder: Path
):
    backup(of(module_database_url), folder / "backup")
    dump = folder / "backup" / "database.dump"
    whole = dump.read_bytes()
    for part in (0.1, 0.97):  # in the table of what it has, and in the data
        dump.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(DatabaseError, match="pg_restore failed .*end of file"):
            restore(of(empty_database_url), folder / "backup")
        assert asyncio.run(schema.current(empty_database_url)) is None
    dump.write_bytes(whole)
    restore(of(empty_database_url), folder / "backup")
    assert asyncio.run(schema.current(empty_database_url)) == schema.head()


def test_what_the_database_refuses_is_said_whole(module_database_url: str, empty_database_url: str, folder: Path):
    backup(of(module_database_url), folder / "backup")

    async def take_a_name() -> None:
        conn = await schema.connect(empty_database_url)
        await conn.execute("create table conversation (id int)")
        await conn.close()

    asyncio.run(take_a_name())
    with pytest.raises(DatabaseError, match='psql failed .*relation "conversation" already exists'):
        restore(of(empty_database_url), folder / "backup")
    assert asyncio.run(schema.current(empty_database_url)) is None


def test_a_folder_that_cannot_be_made_is_said(folder: Path, module_database_url: str):
    (folder / "file").touch()
    with pytest.raises(BadSetting, match="cannot write to .*Not a directory.*another folder"):
        backup(of(module_database_url), folder / "file" / "backup")


def test_over_tls_the_programs_of_this_machine_are_used(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Those of the embedded Postgres are built without it."""
    monkeypatch.setenv("PATH", str(folder))
    assert tool_of("pg_dump", with_tls=False) == binaries() / "pg_dump"
    with pytest.raises(CannotStart, match="TLS.*client programs"):
        tool_of("pg_dump", with_tls=True)
    (folder / "pg_dump").touch(mode=0o755)
    assert tool_of("pg_dump", with_tls=True) == folder / "pg_dump"


@pytest.mark.slow
def test_a_backup_that_is_made_while_runs_arrive_answers_as_the_original(folder: Path):
    data, saved, other = folder / "data", folder / "backup", folder / "restored"
    with CollectorProcess(data_dir=data, env=ENV) as collector:
        asyncio.run(record(collector.database))
        with Client(collector.url) as client:
            client.score(RUNS[0], "quality", 1.0, comment="good")
            client.add_note(RUNS[1], "look at this")
            client.save_conversation("chat", None, revision=0, scope="acme")
        asyncio.run(until_at_rest(collector.database, len(RUNS)))
        expected = asyncio.run(answers(collector.url))
        with Ingesting(collector.database) as ingesting:
            ingesting.wait(3)
            before = list(ingesting.acknowledged)
            command("backup", str(saved), data=data)
        during = len(ingesting.acknowledged)
        assert during > len(before), "nothing arrived during the backup, so that this test shows less than it says"
        whole = asyncio.run(answers(collector.url, [f"/runs/{run}/messages?hydrate=true" for run in before]))
        epoch = epoch_of(collector.url)
    command("restore", str(saved), data=other)
    with CollectorProcess(data_dir=other, env=ENV) as collector:
        assert len(expected) > 100
        restored = asyncio.run(answers(collector.url, [*expected]))
        assert list(differences(restored, expected)) == []
        assert asyncio.run(answers(collector.url, [*whole])) == whole
        assert all(status == 200 for status, _ in asyncio.run(answers(collector.url, across())).values())
        with Client(collector.url) as client:
            assert client.conversation("chat", scope="acme")["revision"] == 1
            # Of what arrived during the backup, a run is there whole or not at all.
            for run in ingesting.acknowledged:
                try:
                    about = client.run(run)
                except NotFound:
                    assert run not in before
                    continue
                assert about["completeness"]["content_pending"] == 0
                assert about["completeness"]["spans_missing"] == 0
        assert epoch_of(collector.url) != epoch  # senders do not believe that what came after the backup is here


@pytest.mark.slow
def test_a_backup_of_a_stopped_collector_goes_into_a_database_of_ones_own(folder: Path, empty_database_url: str):
    data, saved = folder / "data", folder / "backup"
    with CollectorProcess(data_dir=data, env=ENV) as collector:
        asyncio.run(record(collector.database))
        asyncio.run(until_at_rest(collector.database, len(RUNS)))
        expected = asyncio.run(answers(collector.url))
    command("backup", str(saved), data=data)
    assert "is not empty" in command("backup", str(saved), data=data, expect=2).stderr
    assert "has a database already" in command("restore", str(saved), data=data, expect=2).stderr
    assert "no readable backup.json" in command("restore", str(folder), data=data, expect=2).stderr
    command("restore", str(saved), data=data, PLAYHEAD_DATABASE_URL=empty_database_url)
    again = command("restore", str(saved), data=data, PLAYHEAD_DATABASE_URL=empty_database_url, expect=2)
    assert "not empty" in again.stderr
    with CollectorProcess(database_url=empty_database_url, env=ENV) as collector:
        assert asyncio.run(answers(collector.url, [*expected])) == expected
        refused = command("scrub", data=data, PLAYHEAD_DATABASE_URL=empty_database_url, expect=1)
        assert "stop all of them" in refused.stderr
    command("scrub", data=data, PLAYHEAD_DATABASE_URL=empty_database_url)
