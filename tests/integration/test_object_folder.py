"""A collector process whose object store is a folder: it moves contents by itself, and all its processes read them."""

import random
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx
import pytest
from typer.testing import CliRunner

from playhead.cli import app
from playhead.client import Client
from playhead.model import names
from playhead.model.canonical import JSON, Content, canonical_json
from playhead_collector.errors import CannotStart
from playhead_collector.process import CollectorProcess
from tests.support.made_up_runs import MadeUpRun, send

API = "/api/v1"


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


def metrics(collector: CollectorProcess) -> dict[str, float]:
    lines = httpx.get(f"{collector.url}/metrics", trust_env=False, timeout=60).text.splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if line.startswith("playhead_object_store")]
    return {name.removeprefix("playhead_object_store_"): float(value) for name, value in pairs}


def run_with_large_content() -> tuple[MadeUpRun, Content]:
    """A run with a tool's result that takes about half of its 200 kB when it is compressed."""
    run = MadeUpRun(4)
    content = Content(canonical_json(f"a needle {random.Random(1).randbytes(100_000).hex()}"), JSON)
    run.contents[content.ref] = content
    tool = next(span for span in run.spans if names.TOOL_RESULT_REF in span.attributes)
    tool.attributes[names.TOOL_RESULT_REF] = content.ref
    return run, content


async def test_contents_move_to_the_folder_and_are_read_by_the_collector_and_its_workers(
    database_url: str, tmp_path: Path, sql: asyncpg.Connection
):
    env = {
        "PLAYHEAD_OBJECT_STORE": f"file://{tmp_path}/objects",
        "PLAYHEAD_OBJECT_STORE_MIN_BYTES": "64 KiB",
        "PLAYHEAD_OBJECT_STORE_WAIT_SECONDS": "0",
        "PLAYHEAD_ADMIN_KEY": "",
    }
    run, content = run_with_large_content()
    with CollectorProcess(database_url=database_url, env=env) as collector:
        send(collector.url, [run])
        until = time.monotonic() + 180
        while await sql.fetchval("select count(*) from content where body is null") < 1:
            assert time.monotonic() < until, collector.log()
        in_folder = sum(path.stat().st_size for path in (tmp_path / "objects").rglob("*") if path.is_file())
        assert 90_000 < in_folder < 130_000
        with Client(collector.url) as client:
            assert client.about(content.ref)["tier"] == "warm"
            assert client.storage()["project"]["by_tier"]["warm"]["contents"]["value"] == 1
            client.set_retention({"default": {"hot": "7d", "archive": "1y"}})
        told = CliRunner(env={"PLAYHEAD_COLLECTOR_URL": collector.url}).invoke(app, ["storage"]).stdout
        assert re.search(r"^warm\s+1\s", told, re.MULTILINE), told
        assert "within 30 days: 1 runs to " in told
        while (figures := metrics(collector))["moved"] < 1:  # counted a moment after it was moved
            assert time.monotonic() < until, figures
        assert (figures["ok"], figures["moved"], figures["waiting"]) == (1, 1, 0)
        assert figures["bytes"] == figures["named_bytes"] == in_folder
        # 503 when Postgres has not answered for a second, as on a busy machine.
        while (ready := httpx.get(f"{collector.url}/readyz", trust_env=False, timeout=60)).status_code == 503:
            assert time.monotonic() < until, ready.text
        assert ready.json() == {"status": "ready"}
        answer = httpx.get(f"{collector.url}{API}/content/{content.ref}", trust_env=False, timeout=60)
        assert answer.content == content.data
        # An analysis process answers this, and reads the text.
        found = httpx.get(f"{collector.url}{API}/runs/{run.run}/search?q=needle", timeout=60, trust_env=False)
        assert "a needle" in found.text, found.text
        assert "Traceback" not in collector.log()


@pytest.mark.parametrize("url", ["ftp://there", "s3://", "/a/folder"])
def test_an_object_store_that_cannot_be_is_told_at_the_start(database_url: str, url: str):
    with (
        pytest.raises(CannotStart, match=r"PLAYHEAD_OBJECT_STORE cannot be .*s3://bucket/prefix"),
        CollectorProcess(database_url=database_url, env={"PLAYHEAD_OBJECT_STORE": url}),
    ):
        pass
