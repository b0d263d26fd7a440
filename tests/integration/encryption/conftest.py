import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from playhead.client import Client
from playhead_collector.process import CollectorProcess
from playhead_collector.store.operator_key import KeySource
from playhead_collector.store.postgres.store import connect
from tests.integration.encryption.recorded_texts import RUNS, send_the_rest, store_runs
from tests.support.at_rest import until_at_rest

OPERATOR = "the operator's key"
KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OTHER_KEY = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
PROJECT = "blue"
_SETTINGS = {"PLAYHEAD_ADMIN_KEY": OPERATOR, "PLAYHEAD_SEAL_AFTER_SECONDS": "0.1", "PLAYHEAD_GRPC_PORT": "off"}


@contextmanager
def open_folder() -> Iterator[Path]:
    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    folder = Path(tempfile.mkdtemp(prefix="playhead-encryption-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def collector_in(folder: Path, key: str | None = KEY, **more: str) -> CollectorProcess:
    env = _SETTINGS | more | ({} if key is None else {"PLAYHEAD_ENCRYPTION_KEY": key})
    return CollectorProcess(data_dir=folder, env=env)


def client_of(url: str) -> Client:
    return Client(url, OPERATOR, project=PROJECT)


def http_of(url: str) -> httpx.Client:
    headers = {"authorization": f"Bearer {OPERATOR}", "playhead-project": PROJECT}
    return httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False)


async def fill(dsn: str) -> None:
    store = await connect(dsn, pool_size=1, operator_key=KeySource(KEY).open())
    number = next(project.number for project in await store.projects.all() if project.name == PROJECT)
    await store_runs(store, number)
    await store.close()


@dataclass
class Filled:
    """A collector that has the records of `recorded_texts.py` in a project."""

    collector: CollectorProcess
    folder: Path

    @property
    def url(self) -> str:
        return self.collector.url


@contextmanager
def filled(*, encrypted: bool) -> Iterator[Filled]:
    with open_folder() as folder, collector_in(folder) as collector:
        with Client(collector.url, OPERATOR) as operator:
            operator.create_project(PROJECT, encrypted=encrypted)
        asyncio.run(fill(collector.database))
        asyncio.run(until_at_rest(collector.database, RUNS))
        with client_of(collector.url) as client, http_of(collector.url) as http:
            send_the_rest(client, http)
        asyncio.run(until_at_rest(collector.database, RUNS))
        yield Filled(collector, folder)
        assert "Traceback" not in collector.log()


@pytest.fixture(scope="package")
def encrypted() -> Iterator[Filled]:
    with filled(encrypted=True) as each:
        yield each


@pytest.fixture(scope="package")
def plain() -> Iterator[Filled]:
    with filled(encrypted=False) as each:
        yield each
