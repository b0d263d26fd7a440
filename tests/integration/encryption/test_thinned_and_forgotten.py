"""An encrypted project whose runs are cold, in the object store, scored, and partly forgotten."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from playhead.client import Client
from playhead.errors import NotFound
from tests.integration.encryption.conftest import (
    OPERATOR,
    PROJECT,
    Filled,
    client_of,
    collector_in,
    fill,
    http_of,
    open_folder,
)
from tests.integration.encryption.recorded_texts import RUNS, TEXTS, run_id, send_the_rest
from tests.integration.encryption.scanning import found_in
from tests.integration.encryption.test_at_rest import answers, nothing_is_left_in_memory
from tests.support.at_rest import until_at_rest
from tests.support.sweep import PREFIX

_FORGOTTEN = run_id(5)
# Requests have other ids. Which cold runs a content is said to be of depends on those that were packed together with
# the first, and so on how fast they arrived; in which tier it is, on the size of their pack.
_OTHERWISE = ("get /forget ", "get /content/{ref}/about ")


@contextmanager
def thinned(*, encrypted: bool) -> Iterator[Filled]:
    with open_folder() as folder:
        more = {
            "PLAYHEAD_OBJECT_STORE": f"file://{folder}/objects",
            "PLAYHEAD_OBJECT_STORE_WAIT_SECONDS": "0.1",
            "PLAYHEAD_FORGET_AFTER_SECONDS": "0",
        }
        with collector_in(folder / "data", **more) as collector:
            with Client(collector.url, OPERATOR) as operator:
                operator.create_project(PROJECT, encrypted=encrypted)
            asyncio.run(fill(collector.database))
            asyncio.run(until_at_rest(collector.database, RUNS))
            with client_of(collector.url) as client, http_of(collector.url) as http:
                send_the_rest(client, http)
                score(client)
                asyncio.run(until_at_rest(collector.database, RUNS))
                thin(client)
                forget(client)
            asyncio.run(until_bodies_are_in_the_object_store(collector.database))
            yield Filled(collector, folder)
            assert "Traceback" not in collector.log()


def score(client: Client) -> None:
    where = {"user": TEXTS["user"], "tag": TEXTS["tag"]}
    made = client.set_scorer("failing", "rule", rule={"fails_if": [{"tool_error": "last"}]}, where=where)
    assert made["where"] == where
    client.backfill_scorer("failing")
    deadline = time.monotonic() + 180
    while client.scorer("failing")["total"]["scored"] < RUNS:
        assert time.monotonic() < deadline, client.scorer("failing")
        time.sleep(0.1)


def thin(client: Client) -> None:
    client.pin_run(run_id(7), f"kept for {TEXTS['note_text']}")
    client.set_retention(
        {"rules": [{"name": "all", "tag": TEXTS["tag"], "hot": "1h", "warm": "2h", "cold": "forever"}]}
    )
    deadline = time.monotonic() + 180
    while not client.retain()["complete"]:
        assert time.monotonic() < deadline
    client.retain()
    tiers = [row["completeness"]["retained"] for row in client.runs()]
    # One is pinned, one is waited for.
    assert (tiers.count("cold"), tiers.count("hot")) == (RUNS - 2, 2)


def forget(client: Client) -> None:
    asked = client.forget("run", _FORGOTTEN)
    assert asked["run_count"] == 1
    deadline = time.monotonic() + 180
    while client.forgetting(asked["id"])["phase"] != "done":
        assert time.monotonic() < deadline, client.forgetting(asked["id"])
        time.sleep(0.1)


async def until_bodies_are_in_the_object_store(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    deadline = time.monotonic() + 180
    while await connection.fetchval("select count(*) from packed_run where body is not null or object is null"):
        assert time.monotonic() < deadline, "records do not move"
        await asyncio.sleep(0.1)
    assert await connection.fetchval("select count(*) from packed_run") == RUNS - 3
    await connection.close()


@pytest.fixture(scope="module")
def cold() -> Iterator[Filled]:
    with thinned(encrypted=False) as each:
        yield each


@pytest.fixture(scope="module")
def encrypted_cold() -> Iterator[Filled]:
    with thinned(encrypted=True) as each:
        yield each


def test_answers_are_those_of_a_project_that_is_not_encrypted(cold: Filled, encrypted_cold: Filled):
    expected, found = list(answers(cold)), list(answers(encrypted_cold))
    assert len(expected) > 200
    assert [(where, status) for where, status, _ in found] == [(where, status) for where, status, _ in expected]
    pairs = zip(expected, found, strict=True)
    different = {where: (one, other) for (where, _, one), (_, _, other) in pairs if one != other}
    assert {where: both for where, both in different.items() if not where.startswith(_OTHERWISE)} == {}
    for name in ("run_count", "contents", "of_others"):
        [ours], [others] = (forgettings(filled) for filled in (encrypted_cold, cold))
        assert ours[name] == others[name]


def forgettings(filled: Filled) -> list[dict[str, Any]]:
    with http_of(filled.url) as http:
        return http.get(f"{PREFIX}/forget").json()["items"]


def test_what_was_forgotten_is_gone_and_the_rest_is_found_by_user_and_tag(cold: Filled, encrypted_cold: Filled):
    for filled in (cold, encrypted_cold):
        with client_of(filled.url) as client:
            with pytest.raises(NotFound):
                client.run(_FORGOTTEN)
            found = {row["run"] for row in client.runs(user=TEXTS["user"], tag=TEXTS["tag"])}
            assert found == {run_id(number) for number in range(RUNS)} - {_FORGOTTEN}
            pin = client.run(run_id(7))["retention"]["pin"]
            assert pin is not None
            assert pin["reason"] == f"kept for {TEXTS['note_text']}"


def test_neither_files_of_the_database_nor_objects_have_a_text(cold: Filled, encrypted_cold: Filled):
    for filled in (cold, encrypted_cold):
        asyncio.run(nothing_is_left_in_memory(filled))
        assert objects_of(filled)
    assert found_in(cold.folder, TEXTS).keys() == TEXTS.keys()
    assert found_in(encrypted_cold.folder, TEXTS) == {}


def objects_of(filled: Filled) -> list[Path]:
    return [path for path in (filled.folder / "objects").rglob("*") if path.is_file()]
