"""A database that an older version wrote, migrated: every question about its runs has the answer that it has on a new
database that was sent the same requests.  `tests/fixtures/schema_0008/make.py` says how the fixture was made.
"""

import base64
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import orjson

from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store import migrate, schema
from playhead_collector.store.postgres.store import connect

FIXTURE = Path(__file__).parents[2] / "fixtures" / "schema_0008"
WHOLE_RUN = (
    "",
    "/events?preview=200&limit=500",
    "/messages?hydrate=true",
    "/llm-calls?hydrate=true",
    "/tool-calls?hydrate=true",
    "/spans",
    "/logs",
    "/decisions",
    "/attributions",
    "/compressions",
    "/tokens",
    "/diff",
    "/context?exact=true",
    "/state?hydrate=true",
)
OF_AN_EVENT = (
    "/state?at={}&hydrate=true", "/context?at={}", "/context?at={}&exact=true", "/causes/{}", "/reasoning/{}",
    "/attributions/{}", "/decisions/{}", "/diff?from=1&to={}", "/compressions/{}",
)  # fmt: skip


_SAID_SINCE: dict[str, dict[str, set[str]]] = {
    "message_added": {"data": {"tokens"}},
    "checkpoint_created": {"data": {"name"}, "refs": {"thread"}},
}


@asynccontextmanager
async def asking(url: str) -> AsyncIterator[httpx.AsyncClient]:
    store = await connect(url, pool_size=4)
    app = create_app(CollectorSettings(database_url=url), store)
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            yield client
    finally:
        await store.close()


async def answers_of(client: httpx.AsyncClient) -> dict[str, Any]:
    """Every answer about every run, by its question."""
    answers: dict[str, Any] = {}

    async def ask(path: str) -> Any:
        response = await client.get("/api/v1" + path)
        assert response.status_code in {200, 404}, (path, response.text)
        answers[path] = settled(orjson.loads(response.content))
        return answers[path]

    runs = [row["run"] for row in (await ask("/runs"))["items"]]
    for run in runs:
        for question in WHOLE_RUN:
            await ask(f"/runs/{run}{question}")
        # A third of the events: enough for each kind, and the test stays short.
        for event in answers[f"/runs/{run}/events?preview=200&limit=500"]["items"][::3]:
            for question in OF_AN_EVENT:
                await ask(f"/runs/{run}{question.format(event['seq'])}")
        for other in runs:
            await ask(f"/runs/{run}/compare/{other}")
    await ask("/runs")  # once more, since asking about a run projects it
    return answers


def settled(answer: Any) -> Any:
    """Without what says only when the collector had time to seal a run, and what events say more of since then: those
    of a sealed run stay as they were written."""
    if isinstance(answer, dict):
        left_out = _SAID_SINCE.get(answer.get("kind", ""), {})
        return {
            name: {key: settled(each) for key, each in value.items() if key not in left_out[name]}
            if name in left_out
            else settled(value)
            for name, value in answer.items()
            if name != "sealed"
        }
    return [settled(each) for each in answer] if isinstance(answer, list) else answer


async def test_a_migrated_database_answers_as_a_new_one_that_was_sent_the_same(
    empty_database_url: str, database_url: str
):
    connection = await asyncpg.connect(empty_database_url)
    await connection.execute(gzip.decompress((FIXTURE / "database.sql.gz").read_bytes()).decode())
    await connection.close()
    assert await schema.current(empty_database_url) == "0008"
    await migrate.upgrade(empty_database_url)
    requests: list[Mapping[str, Any]] = orjson.loads(gzip.decompress((FIXTURE / "requests.json.gz").read_bytes()))
    async with asking(empty_database_url) as migrated, asking(database_url) as new:
        for request in requests:
            body = base64.b64decode(request["body"])
            response = await new.post(request["path"], content=body, headers=request["headers"])
            assert response.status_code == 200, response.text
        before, after = await answers_of(migrated), await answers_of(new)
    assert len(before) > 500
    assert before.keys() == after.keys()
    assert [path for path in before if before[path] != after[path]] == []
