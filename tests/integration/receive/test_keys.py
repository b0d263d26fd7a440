"""Keys over HTTP, on Postgres: what each may do, until when, and that only its digest is kept."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest
from fastapi import FastAPI

from playhead.client import AsyncClient
from playhead.errors import ClientError, Conflict, NotFound
from playhead.model.canonical import content_of
from playhead.wire.operations.operation import Scope
from playhead.wire.pack import PACK, Pack, encode_pack
from playhead_collector.app import create_app
from playhead_collector.serve.keyring import Keyring
from playhead_collector.serve.table_cache import FRESH_SECONDS
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.store import PostgresStore, connect

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
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(database_url, pool_size=2)
    yield store
    await store.close()


def asking(store: PostgresStore, key: str | None = None, **settings: Any) -> AsyncClient:
    return AsyncClient(
        "http://localhost", key, transport=httpx.ASGITransport(create_app(CollectorSettings(**settings), store))
    )


async def status(store: PostgresStore, key: str | None, method: str, path: str, **settings: Any) -> int:
    return await answered(create_app(CollectorSettings(**settings), store), key, method, path)


async def answered(application: FastAPI, key: str | None, method: str, path: str) -> int:
    """The status."""
    body, media = BODIES.get(path, (None, None))
    headers = {"content-type": media} if media else {}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://localhost") as client:
        return (await client.request(method, path, content=body, headers=headers)).status_code


async def scopes(ring: Keyring, given: list[bytes]) -> frozenset[str] | None:
    holder = await ring.holder_of(given)
    return None if holder is None else holder.scopes


@pytest.mark.parametrize("scope", ["ingest", "read", "admin"])
async def test_a_key_may_do_what_its_scopes_say_and_nothing_else(store: PostgresStore, scope: Scope):
    async with asking(store, MASTER, admin_key=MASTER) as admin:
        made = await admin.create_key("x", [scope])
    application = create_app(CollectorSettings(admin_key=MASTER), store)
    for needed, asked in ASKS.items():
        for method, path in asked:
            found = await answered(application, made["key"], method, path)
            may = needed == scope or (needed, scope) == ("read", "admin")  # who makes keys can make one that reads
            assert (found in {200, 404}) if may else (found == 403), (scope, method, path, found)
            assert await answered(application, None, method, path) == 401
            assert await answered(application, MASTER, method, path) in {200, 404}
    assert await answered(application, None, "GET", "/healthz") == 200
    assert await answered(application, None, "GET", "/readyz") in {200, 503}  # 503: Postgres did not answer in time
    assert await status(store, None, "GET", "/metrics", metrics_open=True) == 200


async def test_without_any_key_everybody_may_and_the_first_key_ends_that(store: PostgresStore):
    async with asking(store) as anybody:
        assert (await anybody.keys())["items"] == []
        refusal = "with the scope admin and without an expiry first, or set PLAYHEAD_ADMIN_KEY"
        with pytest.raises(Conflict, match=refusal):
            await anybody.create_key("sender", ["ingest"])
        first = await anybody.create_key("boss", ["admin", "read", "admin"])
        with pytest.raises(ClientError, match="key is missing"):
            await anybody.keys()
    async with asking(store, first["key"]) as boss:
        (listed,) = (await boss.keys())["items"]
        assert (listed["name"], listed["scopes"], listed["prefix"]) == ("boss", ["admin", "read"], first["key"][:9])
        assert (listed["expires"], listed["last_used"]) == (None, None)
        assert (await boss.create_key("sender", ["ingest"]))["about"]["scopes"] == ["ingest"]


async def test_only_a_digest_is_kept(store: PostgresStore, database_url: str):
    async with asking(store) as anybody:
        made = await anybody.create_key("boss", ["admin"])
    connection = await asyncpg.connect(database_url)
    (row,) = await connection.fetch("select api_key::text as whole from api_key")
    await connection.close()
    assert made["key"] not in row["whole"]
    assert made["key"][9:] not in row["whole"]


async def test_a_revoked_key_is_refused_at_once_here_and_within_seconds_elsewhere(store: PostgresStore):
    now = [0.0]
    elsewhere = Keyring(store.keys, None, clock=lambda: now[0])
    async with asking(store) as anybody:
        boss = await anybody.create_key("boss", ["admin"])
    async with asking(store, boss["key"]) as client:
        made = await client.create_key("reader", ["read"])
        given = [made["key"].encode()]
        assert await scopes(elsewhere, given) == {"read"}
        assert (await client.revoke_key(made["about"]["id"]))["revoked"]
        assert await status(store, made["key"], "GET", "/api/v1/runs") == 401
        now[0] = FRESH_SECONDS - 0.1
        assert await scopes(elsewhere, given) == {"read"}
        now[0] = FRESH_SECONDS
        assert await scopes(elsewhere, given) is None
        with pytest.raises(NotFound, match="playhead keys list"):
            await client.revoke_key(made["about"]["id"])


async def test_an_expired_key_is_none_and_use_is_noted_by_the_hour(store: PostgresStore):
    mono, wall = [0.0], [0]
    ring = Keyring(store.keys, None, clock=lambda: mono[0], wall_ns=lambda: wall[0])
    async with asking(store, MASTER, admin_key=MASTER) as operator:
        made = await operator.create_key("boss", ["admin", "read"], expires_seconds=3_600)
    given = [made["key"].encode()]
    assert await scopes(ring, given) == {"admin", "read"}
    mono[0] += FRESH_SECONDS
    assert await ring.locked()
    (key,) = await store.keys.all(1)
    assert key.last_used_ns is not None
    assert key.last_used_ns % 3_600_000_000_000 == 0
    wall[0] = (key.expires_ns or 0) - 1
    assert await scopes(ring, given) is not None
    wall[0] += 1
    assert await scopes(ring, given) is None
    assert await ring.locked()


async def test_the_first_key_is_one_that_does_not_expire(store: PostgresStore):
    async with asking(store) as anybody:
        with pytest.raises(Conflict, match="when it has expired: make one with the scope admin and without an expiry"):
            await anybody.create_key("boss", ["admin"], expires_seconds=3_600)
        assert (await anybody.keys())["items"] == []
        boss = await anybody.create_key("boss", ["admin"])
    async with asking(store, boss["key"]) as client:
        await client.create_key("deputy", ["admin"], expires_seconds=3_600)


async def test_the_last_admin_key_is_not_revoked_so_that_nobody_finds_the_collector_open(store: PostgresStore):
    async with asking(store) as anybody:
        boss = await anybody.create_key("boss", ["admin"])
    async with asking(store, boss["key"]) as client:
        await client.create_key("reader", ["read"])
        deputy = await client.create_key("deputy", ["admin"], expires_seconds=3_600)
        with pytest.raises(Conflict, match=f"key {boss['about']['id']} is the last with the scope admin: make one"):
            await client.revoke_key(boss["about"]["id"])
        await client.revoke_key(deputy["about"]["id"])
        other = await client.create_key("other", ["admin", "read"])
        await client.revoke_key(boss["about"]["id"])
        with pytest.raises(ClientError, match="wrong or expired"):
            await client.keys()
    async with asking(store, other["key"]) as client:
        assert [key["name"] for key in (await client.keys())["items"]] == ["reader", "other"]
    assert await status(store, None, "GET", "/api/v1/runs") == 401
    async with asking(store, MASTER, admin_key=MASTER) as operator:  # who may do without any
        await operator.revoke_key(other["about"]["id"])


async def test_of_two_admin_keys_that_are_revoked_at_once_one_stays(store: PostgresStore):
    async with asking(store) as anybody:
        first = await anybody.create_key("first", ["admin"])
    async with asking(store, first["key"]) as client:
        second = await client.create_key("second", ["admin"])
        revoked = await asyncio.gather(
            *(client.revoke_key(each["about"]["id"]) for each in (first, second)), return_exceptions=True
        )
    assert sorted(isinstance(each, ClientError) for each in revoked) == [False, True]
    assert len(await store.keys.all(1)) == 1


async def test_a_collector_whose_only_admin_key_has_expired_stays_closed(store: PostgresStore):
    """As one may be that an earlier version left."""
    await store.keys.add(1, "boss", "ph_boss", hashlib.sha256(b"ph_boss").digest(), ["admin"], 1e-9)
    for key in (None, "ph_boss"):
        assert await status(store, key, "GET", "/api/v1/runs") == 401
        assert await status(store, key, "POST", "/api/v1/keys") == 401
