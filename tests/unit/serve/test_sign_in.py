"""Sessions of browsers: a cookie that stands for a key, and ends with it."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from playhead_collector.serve import errors, session
from playhead_collector.serve.auth import RequireKey
from playhead_collector.serve.browser.pages import UiFiles
from playhead_collector.serve.keyring import COOKIE, SESSION_SECONDS, Keyring, make_token, token_in
from playhead_collector.serve.routing import ApiRoutes
from playhead_collector.store.ports.keys import ApiKey
from tests.support.access_controls import access_control_of

READER = b"ph_reader"
NOW_NS = 1_800_000_000 * 10**9


class Keys:
    def __init__(self, *keys: ApiKey) -> None:
        self.stored = list(keys)

    async def of_all_projects(self) -> Sequence[ApiKey]:
        return self.stored

    async def note_used(self, project_id: int, numbers: Sequence[int]) -> None:
        pass


class Clock:
    now_ns = NOW_NS
    seconds = 0.0

    def __call__(self) -> int:
        return self.now_ns


def reader(number: int = 7, **more: int | None) -> ApiKey:
    return ApiKey(1, number, "reader", "ph_reader", ("read",), hashlib.sha256(READER).digest(), 0, **more)


def asking(keys: Keys, master: str | None = None, clock: Clock | None = None) -> httpx.AsyncClient:
    clock = clock or Clock()
    keyring = Keyring(keys, master, clock=lambda: clock.seconds, wall_ns=clock)
    app = FastAPI()
    session.add_routes(ApiRoutes(app), keyring)
    app.include_router(UiFiles().router())
    app.get("/api/v1/runs")(lambda: {"items": []})
    errors.install(app)
    app.add_middleware(RequireKey, access_control=access_control_of(keyring))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


async def test_a_key_opens_a_session_whose_cookie_no_script_can_read():
    async with asking(Keys(reader())) as client:
        assert (await client.get("/api/v1/session")).json() == {"needs_key": True, "scopes": [], "is_operator": False}
        assert (await client.get("/api/v1/runs")).status_code == 401
        answer = await client.post("/api/v1/session", json={"key": READER.decode()})
        assert answer.json() == {"needs_key": True, "scopes": ["read"], "is_operator": False}
        cookie = answer.headers["set-cookie"]
        assert all(flag in cookie for flag in ("HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={SESSION_SECONDS}"))
        assert READER.decode() not in cookie
        assert (await client.get("/api/v1/runs")).status_code == 200
        assert (await client.get("/api/v1/session")).json()["scopes"] == ["read"]
        await client.request("DELETE", "/api/v1/session")
        assert (await client.get("/api/v1/runs")).status_code == 401


async def test_the_operators_key_opens_a_session_with_all_scopes():
    async with asking(Keys(), "master") as client:
        answer = await client.post("/api/v1/session", json={"key": "master"})
        assert answer.json() == {"needs_key": True, "scopes": ["admin", "ingest", "read"], "is_operator": True}
        assert (await client.get("/api/v1/runs")).status_code == 200


async def test_a_key_with_admin_alone_may_look_too():
    async with asking(Keys(replace(reader(), scopes=("admin",)))) as client:
        answer = await client.post("/api/v1/session", json={"key": READER.decode()})
        assert answer.json()["scopes"] == ["admin", "read"]
        assert (await client.get("/api/v1/runs")).status_code == 200


@pytest.mark.parametrize(("scheme", "is_secure"), [("https", True), ("http", False)])
async def test_over_https_the_cookie_is_sent_over_https_only(scheme: str, is_secure: bool):
    async with asking(Keys(reader())) as client:
        headers = {"x-forwarded-proto": "https"}  # believed by `TrustedProxies` alone
        url = f"{scheme}://127.0.0.1/api/v1/session"
        answer = await client.post(url, json={"key": READER.decode()}, headers=headers)
        assert ("Secure" in answer.headers["set-cookie"]) is is_secure


@pytest.mark.parametrize("key", ["wrong", "ph_reade", "x" * 600, ""])
async def test_what_is_no_key_opens_no_session(key: str):
    async with asking(Keys(reader())) as client:
        answer = await client.post("/api/v1/session", json={"key": key})
        assert answer.status_code in {401, 422}
        assert "set-cookie" not in answer.headers


async def test_a_session_ends_with_its_time_its_key_and_the_keys_time():
    keys, clock = Keys(reader(expires_ns=NOW_NS + 3600 * 10**9)), Clock()
    async with asking(keys, "master", clock) as client:
        await client.post("/api/v1/session", json={"key": READER.decode()})
        assert (await client.get("/api/v1/runs")).status_code == 200
        clock.now_ns += 3601 * 10**9
        assert (await client.get("/api/v1/runs")).status_code == 401
        keys.stored[:] = [reader()]
        clock.seconds += 60
        assert (await client.get("/api/v1/runs")).status_code == 200
        clock.now_ns = NOW_NS + (SESSION_SECONDS + 1) * 10**9
        assert (await client.get("/api/v1/runs")).status_code == 401
        clock.now_ns = NOW_NS
        keys.stored.clear()
        clock.seconds += 60
        assert (await client.get("/api/v1/runs")).status_code == 401


@pytest.mark.parametrize(
    "spoilt", ["7.9999999999.x", "0.9999999999." + "0" * 64, "7", "..", "7.-1.a", "7.²." + "0" * 64, "a" * 500, '"']
)
async def test_a_made_up_cookie_is_no_session(spoilt: str):
    async with asking(Keys(reader()), "master") as client:
        answer = await client.get("/api/v1/runs", headers={b"cookie": f"{COOKIE}={spoilt}".encode()})
        assert answer.status_code == 401


async def test_a_token_of_another_key_or_time_is_not_signed():
    digest, other = hashlib.sha256(READER).digest(), hashlib.sha256(b"other").digest()
    token = token_in({"cookie": f"{COOKIE}={make_token(7, digest, 100)}"})
    assert token is not None
    assert (token.is_signed(digest, "session"), token.is_signed(other, "session")) == (True, False)
    assert not token.is_signed(digest, "upload to project 1")
    longer = token_in({"cookie": f"{COOKIE}=7.999.{token.mac}"})
    assert longer is not None
    assert not longer.is_signed(digest, "session")


async def test_without_keys_everybody_may():
    async with asking(Keys()) as client:
        assert (await client.get("/api/v1/session")).json() == {
            "needs_key": False,
            "is_operator": False,
            "scopes": ["admin", "ingest", "read"],
        }
        assert (await client.post("/api/v1/session", json={"key": "any"})).status_code == 401
