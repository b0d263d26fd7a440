"""Keys over HTTP, on Postgres: what each may do, until when, and that only its digest is kept."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest
from fastapi import FastAPI

from playhead.client import AsyncClient
from playhead.errors import ClientError, Conflict, NotFound
from playhead.model.canonical import content_of
from playhead.wire.pack import PACK, Pack, encode_pack
from playhead_collector.app import create_app
from playhead_collector.serve.keyring import FRESH_SECONDS, Keyring
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports import Store
from playhead_collector.store.postgres.store import connect

MASTER = "the operator's"
UPLOAD = encode_pack(Pack((content_of("hello"),), ()))
ASKS: dict[str, list[tuple[str, str]]] = {
    "ingest": [("POST", "/v1/content/missing"), ("POST", "/v1/content"), ("POST", "/v1/traces")],
    "read": [("GET", "/api/v1/runs"), ("GET", "/metrics"), ("POST", "/api/v1/content/batch")],
    "admin": [("GET", "/api/v1/keys"), ("DELETE", "/api/v1/keys/999")],
}
BODIES: dict[str, tuple[bytes, str]] = {
    "/v1/content": (UPLOAD, PACK),
    "/v1/traces": (b"", "application/x-protobuf"),
    "/v1/content/missing": (b'{"refs": []}', "application/json"),
    "/api/v1/content/batch": (b'{"refs": []}', "application/json"),
}


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    store = await connect(database_url, pool_size=2)
    yield store
    await store.close()


def asking(store: Store, key: str | None = None, **settings: Any) -> AsyncClient:
    return AsyncClient(
        "http://localhost", key, transport=httpx.ASGITransport(create_app(CollectorSettings(**settings), store))
    )


async def status(store: Store, key: str | None, method: str, path: str, **settings: Any) -> int:
    return await answered(create_app(CollectorSettings(**settings), store), key, method, path)


async def answered(application: FastAPI, key: str | None, method: str, path: str) -> int:
    """The status."""
    body, media = BODIES.get(path, (None, None))
    headers = {"content-type": media} if media else {}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://localhost") as client:
        return (await client.request(method, path, content=body, headers=headers)).status_code


@pytest.mark.parametrize("scope", ["ingest", "read", "admin"])
async def test_a_key_may_do_what_its_scopes_say_and_nothing_else(store: Store, scope: str):
    async with asking(store, MASTER, api_key=MASTER) as admin:
        made = await admin.create_key("x", [scope])
    application = create_app(CollectorSettings(api_key=MASTER), store)
    for needed, asked in ASKS.items():
        for method, path in asked:
            found = await answered(application, made["key"], method, path)
            assert (found in {200, 404}) if needed == scope else (found == 403), (scope, method, path, found)
            assert await answered(application, None, method, path) == 401
            assert await answered(application, MASTER, method, path) in {200, 404}
    for path in ("/healthz", "/readyz"):
        assert await answered(application, None, "GET", path) == 200
    assert await status(store, None, "GET", "/metrics", metrics_open=True) == 200


async def test_without_any_key_everybody_may_and_the_first_key_ends_that(store: Store):
    async with asking(store) as anybody:
        assert (await anybody.keys())["items"] == []
        with pytest.raises(Conflict, match="with the scope admin first, or set PLAYHEAD_API_KEY"):
            await anybody.create_key("sender", ["ingest"])
        first = await anybody.create_key("boss", ["admin", "read", "admin"])
        with pytest.raises(ClientError, match="key is missing"):
            await anybody.keys()
    async with asking(store, first["key"]) as boss:
        (listed,) = (await boss.keys())["items"]
        assert (listed["name"], listed["scopes"], listed["prefix"]) == ("boss", ["admin", "read"], first["key"][:9])
        assert (listed["expires"], listed["last_used"]) == (None, None)
        assert (await boss.create_key("sender", ["ingest"]))["about"]["scopes"] == ["ingest"]


async def test_only_a_digest_is_kept(store: Store, database_url: str):
    async with asking(store) as anybody:
        made = await anybody.create_key("boss", ["admin"])
    connection = await asyncpg.connect(database_url)
    (row,) = await connection.fetch("select api_key::text as whole from api_key")
    await connection.close()
    assert made["key"] not in row["whole"]
    assert made["key"][9:] not in row["whole"]


async def test_a_revoked_key_is_refused_at_once_here_and_within_seconds_elsewhere(store: Store):
    now = [0.0]
    elsewhere = Keyring(store, 1, None, clock=lambda: now[0])
    async with asking(store) as anybody:
        boss = await anybody.create_key("boss", ["admin"])
    async with asking(store, boss["key"]) as client:
        made = await client.create_key("reader", ["read"])
        given = [made["key"].encode()]
        assert await elsewhere.scopes_of(given) == {"read"}
        assert (await client.revoke_key(made["about"]["id"]))["revoked"]
        assert await status(store, made["key"], "GET", "/api/v1/runs") == 401
        now[0] = FRESH_SECONDS - 0.1
        assert await elsewhere.scopes_of(given) == {"read"}
        now[0] = FRESH_SECONDS
        assert await elsewhere.scopes_of(given) is None
        with pytest.raises(NotFound, match="playhead keys list"):
            await client.revoke_key(made["about"]["id"])


async def test_an_expired_key_is_none_and_use_is_noted_by_the_hour(store: Store):
    mono, wall = [0.0], [0]
    ring = Keyring(store, 1, None, clock=lambda: mono[0], wall_ns=lambda: wall[0])
    async with asking(store) as anybody:
        made = await anybody.create_key("boss", ["admin", "read"], expires_seconds=3_600)
    given = [made["key"].encode()]
    assert await ring.scopes_of(given) == {"admin", "read"}
    mono[0] += FRESH_SECONDS
    assert await ring.locked()
    (key,) = await store.keys(1)
    assert key.last_used_ns is not None
    assert key.last_used_ns % 3_600_000_000_000 == 0
    wall[0] = (key.expires_ns or 0) - 1
    assert await ring.scopes_of(given) is not None
    wall[0] += 1
    assert await ring.scopes_of(given) is None
    assert await ring.locked()
