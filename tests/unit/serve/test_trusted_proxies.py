"""What a proxy says of a request is believed of the proxies that the operator trusts."""

import time
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI, Request

from playhead_collector.app import create_app
from playhead_collector.errors import BadSetting
from playhead_collector.serve.trusted_proxies import TrustedProxies
from playhead_collector.settings import CollectorSettings, load
from playhead_collector.store.postgres.store import PostgresStore

LOOPBACK = CollectorSettings().trusted_proxies


async def shown(client: str, headers: list[tuple[str, str]], proxies: tuple[str, ...] = LOOPBACK) -> tuple[str, str]:
    """The scheme and the prefix that the application sees."""
    app = FastAPI()

    @app.get("/")
    async def shown(request: Request) -> tuple[str, str]:
        return request.url.scheme, request.headers.get("x-forwarded-prefix", "")

    app.add_middleware(TrustedProxies, proxies=proxies)
    transport = httpx.ASGITransport(app, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
        scheme, prefix = (await asking.get("/", headers=headers)).json()
        return scheme, prefix


SAID = [("x-forwarded-proto", "https"), ("x-forwarded-prefix", "/traces")]


@pytest.mark.parametrize("client", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"])
async def test_a_proxy_on_this_machine_is_believed(client: str):
    assert await shown(client, SAID) == ("https", "/traces")


@pytest.mark.parametrize("client", ["10.0.0.7", "::ffff:10.0.0.7", "fd00::7", "not an address"])
async def test_nobody_else_is(client: str):
    assert await shown(client, SAID) == ("http", "")


async def test_other_proxies_are_named_by_address_or_network():
    proxies = load({"PLAYHEAD_TRUSTED_PROXIES": "10.0.0.0/8, 192.0.2.1"}).trusted_proxies
    for client, scheme in (("10.9.8.7", "https"), ("192.0.2.1", "https"), ("192.0.2.2", "http"), ("127.0.0.1", "http")):
        assert (await shown(client, SAID, proxies))[0] == scheme
    with pytest.raises(BadSetting, match="addresses and networks"):
        load({"PLAYHEAD_TRUSTED_PROXIES": "proxy.example.com"})


async def test_the_nearest_proxy_counts_and_other_words_are_left_out():
    assert (await shown("127.0.0.1", [("x-forwarded-proto", "http, https")]))[0] == "https"
    assert (await shown("127.0.0.1", [("x-forwarded-proto", "https"), ("x-forwarded-proto", "http")]))[0] == "http"
    for word in ("ftp", "", "https://evil.example", "javascript"):
        assert (await shown("127.0.0.1", [("x-forwarded-proto", word)]))[0] == "http"


@pytest.mark.parametrize(("client", "base"), [("127.0.0.1", "/traces/"), ("10.0.0.7", "/")])
async def test_the_page_of_a_collector_lies_where_a_trusted_proxy_says(client: str, base: str):
    app = create_app(CollectorSettings(), PostgresStore(cast(Any, None), time.time_ns))
    transport = httpx.ASGITransport(app, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
        assert f'<base href="{base}"' in (await asking.get("/", headers=SAID)).text
