"""Two collectors: one that has recorded, and one that what was recorded is moved to."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from playhead.cli import app
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.process import CollectorProcess
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import connect

Cli = Callable[..., Result]


@pytest.fixture(scope="module")
def recorded(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as collector:
        yield collector
        assert "Traceback" not in collector.log()


@pytest.fixture(scope="module")
def other() -> Iterator[CollectorProcess]:
    with CollectorProcess() as collector:
        yield collector
        assert "Traceback" not in collector.log()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs a command against a collector, with a journal's folder of its own."""

    def run(collector: CollectorProcess, *args: str | Path) -> Result:
        env = {"PLAYHEAD_JOURNAL_DIR": str(tmp_path / "journal")}
        return CliRunner().invoke(app, ["--url", collector.url, *map(str, args)], env=env)

    return run


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="playhead-tests-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def keep(collector: CollectorProcess, *batches: Batch) -> None:
    """Stores batches as the SDK ships them."""

    async def ingest() -> None:
        store = await connect(collector.database, pool_size=1)
        for batch in batches:
            await store.spans.ingest(PROJECT, batch)
        await store.close()

    asyncio.run(ingest())


_HTTP: list[httpx.Client] = []


@pytest.fixture(scope="module", autouse=True)
def _http() -> Iterator[None]:
    """One connection for all questions: making one takes longer than most answers."""
    with httpx.Client(timeout=60, trust_env=False) as http:
        _HTTP[:] = [http]
        yield


def ask(collector: CollectorProcess, path: str, **params: Any) -> Any:
    answer = _HTTP[0].get(f"{collector.url}/api/v1/{path}", params=params)
    return answer.status_code, json.loads(answer.content)


LISTS = (
    "events", "messages", "llm-calls", "tool-calls", "spans", "logs", "compressions", "decisions", "attributions",
    "scores",
    "notes",
)  # fmt: skip
DETAILS = ("compressions", "decisions", "attributions")


def everything(collector: CollectorProcess, run: str, *, each_event: bool) -> dict[str, Any]:
    """The answers to every question about a run; about its last event only, unless `each_event`."""
    asked: dict[str, Any] = {"": ask(collector, f"runs/{run}"), "tokens": ask(collector, f"runs/{run}/tokens")}
    for kind in LISTS:
        asked[kind] = ask(collector, f"runs/{run}/{kind}", limit=500)
    events = asked["events"][1]["items"]
    for kind in DETAILS if each_event else ():
        for item in asked[kind][1]["items"]:
            asked[f"{kind} {item['seq']}"] = ask(collector, f"runs/{run}/{kind}/{item['seq']}")
    for event in events if each_event else events[-1:]:
        seq = event["seq"]
        asked[f"state {seq}"] = ask(collector, f"runs/{run}/state", at=seq, hydrate=True)
        asked[f"causes {seq}"] = ask(collector, f"runs/{run}/causes/{seq}")
        if event["kind"] == "llm_called" or not each_event:
            asked[f"context {seq}"] = ask(collector, f"runs/{run}/context", at=seq, exact=True)
            asked[f"reasoning {seq}"] = ask(collector, f"runs/{run}/reasoning/{seq}")
    return asked
