"""From the embedded Postgres to one's own: what the page about deployment says moves all that is stored."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.embedded.cluster import binaries
from playhead_collector.process import CollectorProcess
from playhead_collector.serve.routing import PREFIX
from playhead_collector.store.postgres.store import connect
from tests.integration.read.recorded import conversation

RUN = "0c" * 16
PAGE = Path(__file__).parents[2] / "docs" / "deployment.md"
COMMANDS = re.compile(r"<!-- run: own-postgres -->\n```sh\n(.*?)```", re.DOTALL)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    folder = Path(tempfile.mkdtemp(prefix="playhead-moved-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


async def ingest(database_url: str) -> None:
    store = await connect(database_url, pool_size=1)
    await store.spans.ingest(PROJECT, conversation(RUN, 3).batch())
    await store.close()


def answers(collector: CollectorProcess) -> list[object]:
    paths = (f"/runs/{RUN}/events", f"/runs/{RUN}/context", "/keys")
    key = {"x-api-key": "the operator's"}
    return [
        httpx.get(f"{collector.url}{PREFIX}{path}", headers=key, timeout=60).raise_for_status().json() for path in paths
    ]


def test_a_dump_takes_runs_and_keys_along(data_dir: Path, empty_database_url: str, tmp_path: Path):
    [commands] = COMMANDS.findall(PAGE.read_text(encoding="utf-8"))
    env = {"PLAYHEAD_ADMIN_KEY": "the operator's"}
    with CollectorProcess(data_dir=data_dir, env=env) as before:
        asyncio.run(ingest(before.database))
        body = {"name": "dashboards", "scopes": ["read"]}
        httpx.post(
            f"{before.url}{PREFIX}/keys", json=body, headers={"x-api-key": "the operator's"}, timeout=60
        ).raise_for_status()
        expected = answers(before)
        places = {"PLAYHEAD_DATA_DIR": str(data_dir), "PLAYHEAD_DATABASE_URL": empty_database_url}
        path = os.pathsep.join((str(binaries()), os.environ["PATH"]))
        subprocess.run(["sh", "-ec", commands], cwd=tmp_path, env={**os.environ, **places, "PATH": path}, check=True)
    with CollectorProcess(database_url=empty_database_url, env=env) as after:
        assert answers(after) == expected
