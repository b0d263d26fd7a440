"""Websites: what a browser can be made to send is told apart from what programs send."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from playhead_collector.serve.auth import RequireKey
from playhead_collector.serve.browser.origin_guard import BrowserGuard
from playhead_collector.serve.keyring import Keyring
from tests.support.access_controls import access_control_of
from tests.unit.receive.http_app import client_of
from tests.unit.serve.test_frame import NoKeys


def make_app(key: str = "", **given: Any) -> FastAPI:
    app = FastAPI()

    @app.api_route("/x", methods=["GET", "POST", "PUT", "DELETE"])
    @app.get("/healthz")
    async def x() -> str:
        return "served"

    if key:
        app.add_middleware(RequireKey, access_control=access_control_of(Keyring(NoKeys(), key)))
    app.add_middleware(BrowserGuard, **given)
    return app


async def ask(
    headers: dict[str, str], method: str = "GET", path: str = "/x", app: FastAPI | None = None, **more: Any
) -> httpx.Response:
    async with client_of(app or make_app()) as client:
        return await client.request(method, path, headers={"host": "localhost:4318", **headers}, **more)


OURS = [
    "localhost",
    "localhost:1",
    "LOCALHOST.",
    "a.localhost:80",
    "127.0.0.1:4318",
    "127.0.0.2",
    "[::1]:1",
    "10.1.2.3",
]
OTHERS = ["evil.com", "evil.com:4318", "localhost.evil.com", "127.0.0.1.evil.com", "[evil]", "2130706433"]


@pytest.mark.parametrize("host", OURS)
async def test_this_machine_and_addresses_are_served(host: str):
    assert (await ask({"host": host})).status_code == 200


@pytest.mark.parametrize("host", OTHERS)
async def test_other_names_are_refused_for_they_may_resolve_to_this_machine(host: str):
    answer = await ask({"host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "unknown_host")
    assert "PLAYHEAD_ALLOWED_HOSTS" in answer.text


async def test_a_key_does_not_make_a_strange_name_known():
    app = make_app(key="k")
    assert (await ask({"host": "evil.com", "authorization": "Bearer k"}, app=app)).status_code == 403
    assert (await ask({"authorization": "Bearer k"}, app=app)).status_code == 200
    assert (await ask({}, app=app)).status_code == 401


async def test_probes_may_use_any_name():
    assert (await ask({"host": "pod-7.evil.com"}, path="/healthz")).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [("traces.example.com", 200), ("a.b.internal:80", 200), ("internal", 403), ("b.traces.example.com", 403)],
)
async def test_names_can_be_allowed(host: str, status: int):
    app = make_app(hosts=("Traces.example.com", "*.internal"))
    assert (await ask({"host": host}, app=app)).status_code == status
    assert (await ask({"host": host}, app=make_app(hosts=("*",)))).status_code == 200


async def test_two_hosts_are_none():
    async with client_of(make_app()) as client:
        request = client.build_request("GET", "/x", headers=[("host", "localhost"), ("host", "evil.com")])
        assert (await client.send(request)).status_code == 400


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://localhost:4318"}, 200),
        ({"origin": "http://localhost:4318", "host": "localhost:4318"}, 200),
        ({"origin": "https://traces.local", "host": "traces.local"}, 200),
        ({"origin": "https://allowed.example.com"}, 200),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "https://evil.com"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
    ],
)
async def test_pages_of_others_may_not_ask(headers: dict[str, str], status: int, method: str):
    app = make_app(hosts=("traces.local",), origins=("https://allowed.example.com",))
    answer = await ask(headers, method, app=app)
    assert answer.status_code == status
    if status == 403:
        assert "PLAYHEAD_ALLOWED_ORIGINS" in answer.text


async def test_a_link_from_elsewhere_may_be_followed():
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert (await ask(headers)).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("given", "body", "status"),
    [
        ("text/plain", b"{}", 415),
        ("text/plain; charset=utf-8", b"{}", 415),
        ("application/x-www-form-urlencoded", b"a=b", 415),
        ("multipart/form-data; boundary=x", b"", 415),
        ("", b"{}", 415),
        ("", b"", 200),
        ("application/json", b"{}", 200),
        ("application/x-protobuf", b"x", 200),
    ],
)
async def test_what_writes_needs_a_type_that_no_form_can_send(given: str, body: bytes, status: int, method: str):
    assert (await ask({"content-type": given} if given else {}, method, content=body)).status_code == status


@pytest.mark.parametrize("host", ["127.0.0.1:x", "127.0.0.1:99999", "[::1"])
async def test_an_origin_without_a_name_is_no_page_of_a_host_that_cannot_be_read(host: str):
    answer = await ask({"host": host, "origin": "null"})
    assert answer.status_code == 403
