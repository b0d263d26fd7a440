"""Which scope each route of the collector needs: all of them are written down here, so that none is added by chance."""

import hashlib
import time
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import httpx
import pytest

from playhead_collector.app import create_app
from playhead_collector.errors import Refused
from playhead_collector.receive.otlp_http import PATHS
from playhead_collector.serve.access_control import authorize
from playhead_collector.serve.auth import OPEN_PATHS, needed_for
from playhead_collector.serve.keyring import ADMIN, INGEST, READ, SCOPES, KeyHolder, Keyring
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.keys import ApiKey
from playhead_collector.store.postgres.store import PostgresStore

CHANGES = {
    ("POST", "/v1/content"): INGEST,
    ("POST", "/v1/content/missing"): INGEST,
    **{("POST", path): INGEST for path in PATHS},
    ("POST", "/api/v1/runs/{run}/lease"): INGEST,
    ("PUT", "/api/v1/runs/{run}/lease"): INGEST,
    ("DELETE", "/api/v1/runs/{run}/lease"): INGEST,
    ("POST", "/api/v1/runs/{run}/scores"): INGEST,
    ("POST", "/api/v1/runs/{run}/notes"): INGEST,
    ("DELETE", "/api/v1/runs/{run}/notes/{note}"): INGEST,
    ("POST", "/api/v1/views"): INGEST,
    ("DELETE", "/api/v1/views/{name}"): INGEST,
    ("PUT", "/api/v1/conversation"): INGEST,
    ("DELETE", "/api/v1/conversation"): INGEST,
    ("POST", "/api/v1/keys"): ADMIN,
    ("POST", "/api/v1/projects"): ADMIN,
    ("PUT", "/api/v1/projects/{name}"): ADMIN,
    ("DELETE", "/api/v1/projects/{name}"): ADMIN,
    ("DELETE", "/api/v1/projects/{name}/key"): ADMIN,
    ("DELETE", "/api/v1/keys/{number}"): ADMIN,
    ("DELETE", "/api/v1/runs/{run}"): ADMIN,
    ("POST", "/api/v1/gc"): ADMIN,
    ("PUT", "/api/v1/project/retention"): ADMIN,
    ("POST", "/api/v1/retention"): ADMIN,
    ("PUT", "/api/v1/runs/{run}/pin"): ADMIN,
    ("DELETE", "/api/v1/runs/{run}/pin"): ADMIN,
    ("POST", "/api/v1/forward/{destination}/retry"): ADMIN,
    ("POST", "/api/v1/forward/{destination}/drop"): ADMIN,
    ("POST", "/api/v1/forward/{destination}/backfill"): ADMIN,
    ("POST", "/api/v1/promises"): INGEST,
    ("POST", "/api/v1/promises/{promise}"): ADMIN,
    ("POST", "/api/v1/promises/{promise}/expire"): INGEST,
    # Questions whose answer depends on a body.
    ("POST", "/api/v1/content/batch"): READ,
    ("POST", "/api/v1/content/pack"): READ,
    ("POST", "/api/v1/runs/{run}/explain"): READ,
    ("POST", "/api/v1/runs/{run}/ask-again"): ADMIN,
    ("POST", "/api/v1/runs/{run}/suspects/rerank"): READ,
    ("POST", "/api/v1/runs/{run}/compressions/{seq}/judge"): READ,
}


@cache
def routes() -> list[tuple[str, str]]:
    """Method and path of every route that needs a key; those of OTLP that the description leaves out as well."""
    described = create_app(CollectorSettings(), PostgresStore(cast(Any, None), time.time_ns)).openapi()["paths"]
    found = {(method.upper(), path) for path, methods in described.items() for method in methods}
    return sorted(each for each in found | {("POST", path) for path in PATHS} if each[1] not in OPEN_PATHS)


@pytest.mark.parametrize(("method", "path"), routes())
def test_each_route_needs_the_scope_that_is_written_down_for_it(method: str, path: str):
    listed = {("GET", "/api/v1/keys"): ADMIN, ("GET", "/api/v1/projects"): ADMIN} | CHANGES
    expected = listed[method, path] if method != "GET" else listed.get((method, path), READ)
    # What `needed_for` does not know needs `admin`.
    assert (needed_for(method, path.replace("{run}", "0" * 32).replace("{number}", "1")) or ADMIN) == expected


def test_every_route_that_changes_something_is_listed():
    changing = {(method, path) for method, path in routes() if method != "GET"}
    assert changing <= set(CHANGES)
    assert len(changing) >= 18


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/new"), ("GET", "/api/v1/keys/1"), ("GET", "/api/v1/runsx"), ("POST", "/api/v1/runs"),
        ("POST", "/api/v1/runs/r/new"), ("POST", "/api/v1/content/new"), ("PATCH", "/api/v1/runs/r/lease"),
        ("POST", "/api/v1/promises/p/new"), ("POST", "/api/v1/runs/r/x/lease"), ("GET", "/new"),
    ],
)  # fmt: skip
def test_a_route_that_is_not_in_the_table_needs_admin(method: str, path: str):
    assert needed_for(method, path) is None


class Keys:
    def __init__(self, *keys: ApiKey) -> None:
        self.stored = keys

    async def of_all_projects(self) -> tuple[ApiKey, ...]:
        return self.stored

    async def note_used(self, project_id: int, numbers: Sequence[int]) -> None:
        pass


def key(name: str, *scopes: str, **more: Any) -> ApiKey:
    return ApiKey(1, 1, name, name, scopes, hashlib.sha256(name.encode()).digest(), 0, **more)


async def test_a_new_route_needs_admin_until_its_scope_is_written_down_and_what_is_no_route_is_not_found():
    store = PostgresStore(cast(Any, None), time.time_ns)
    store.keys = cast(Any, Keys(key("reader", "read"), key("boss", "admin")))
    app = create_app(CollectorSettings(), store)
    app.add_api_route("/api/v1/secrets", lambda: {"secret": 1})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answers = {
            (name, path): (await client.get(path, headers={"x-api-key": name})).status_code
            for name in ("reader", "boss", "nobody")
            for path in ("/api/v1/secrets", "/api/v1/no-such-path")
        }
    assert answers == {
        ("reader", "/api/v1/secrets"): 403,
        ("boss", "/api/v1/secrets"): 200,
        ("nobody", "/api/v1/secrets"): 401,
        ("reader", "/api/v1/no-such-path"): 404,
        ("boss", "/api/v1/no-such-path"): 404,
        ("nobody", "/api/v1/no-such-path"): 401,
    }


async def test_whose_key_a_request_has_is_said_by_the_key_that_authorized_it():
    expired, valid = key("expired", "ingest", expires_ns=1), key("valid", "ingest")
    keyring = Keyring(cast(Any, Keys(expired, valid)), "master")
    for headers, holder in (
        ({"x-api-key": "expired", "authorization": "Bearer valid"}, KeyHolder(frozenset({"ingest"}), "valid", 1)),
        ({"x-api-key": "unknown", "authorization": "Bearer valid"}, KeyHolder(frozenset({"ingest"}), "valid", 1)),
        ({"x-api-key": "expired", "authorization": "Bearer master"}, KeyHolder(frozenset(SCOPES), None)),
        ({"x-api-key": "valid"}, KeyHolder(frozenset({"ingest"}), "valid", 1)),
    ):
        assert await authorize(keyring, INGEST, headers) == holder
    with pytest.raises(Refused, match="wrong or expired"):
        await authorize(keyring, INGEST, {"x-api-key": "expired"})


@pytest.mark.parametrize("path", sorted(PATHS))
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "BREW"])
def test_what_takes_spans_is_for_those_who_may_send_them_by_whatever_method(method: str, path: str):
    assert needed_for(method, path) == INGEST
