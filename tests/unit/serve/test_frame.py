"""The frame around the API: keys, health, metrics, and the one form of errors."""

import base64
from collections.abc import Sequence
from typing import Annotated

import pytest
from fastapi import FastAPI, Query

from playhead_collector.errors import ContentCorrupt, ContentMissing, Refused, StoreUnavailable
from playhead_collector.serve import errors, health, identity
from playhead_collector.serve.auth import RequireKey
from playhead_collector.serve.keyring import Keyring
from playhead_collector.serve.metrics import CountRequests, Metrics
from playhead_collector.store.ports.keys import ApiKey
from tests.support.access_controls import access_control_of
from tests.unit.receive.http_app import client_of

KEY = "s3cret"


class Database:
    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure

    async def ready(self) -> None:
        if self.failure:
            raise self.failure


class NoKeys:
    async def of_all_projects(self) -> Sequence[ApiKey]:
        return ()

    async def add(
        self, project_id: int, name: str, prefix: str, digest: bytes, scopes: Sequence[str], seconds: float | None
    ) -> ApiKey:
        raise NotImplementedError

    async def remove(self, project_id: int, number: int, may_remove: object) -> bool:
        return False

    async def note_used(self, project_id: int, numbers: Sequence[int]) -> None:
        """None are."""


async def nothing() -> None:
    pass


def make_app(*, key: str | None = None, failure: Exception | None = None) -> FastAPI:
    app, metrics = FastAPI(), Metrics()
    app.include_router(health.router(Database(failure)))
    app.include_router(identity.router())
    app.include_router(metrics.router(nothing))

    @app.get("/fails")
    async def fails() -> None:
        assert failure is not None
        raise failure

    @app.get("/items/{item}")
    async def items(item: int, limit: Annotated[int, Query(ge=1)] = 1) -> int:
        return item

    errors.install(app)
    if key:
        app.add_middleware(RequireKey, access_control=access_control_of(Keyring(NoKeys(), key)))
    app.add_middleware(CountRequests, metrics=metrics)
    app.add_middleware(identity.IdentityHeader)
    app.state.metrics = metrics
    return app


# --- keys ------------------------------------------------------------------------------------------------------------


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"pk-lf-1:{password}".encode()).decode()


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer  {KEY} "},
        {"authorization": basic(KEY)},
        {"x-api-key": KEY},
    ],
)
async def test_a_key_opens_in_the_way_that_the_client_knows(headers: dict[str, str]):
    async with client_of(make_app(key=KEY)) as client:
        assert (await client.get("/items/1", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Bearer"},
        {"authorization": KEY},
        {"authorization": basic("wrong")},
        {"authorization": "Basic !"},
        {"authorization": "Basic \u00fc"},
        {"x-api-key": ""},
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/items/1", "/nowhere"])
async def test_without_the_key_nothing_opens(headers: dict[str, str], path: str):
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    async with client_of(make_app(key=KEY)) as client:
        answer = await client.get(path, headers=encoded)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["error"]["code"] == "unauthorized"


class KeysOutOfReach(NoKeys):
    """Its database is down."""

    async def of_all_projects(self) -> Sequence[ApiKey]:
        raise StoreUnavailable("Postgres is down")


@pytest.mark.parametrize("path", ["/metrics", "/items/1", "/nowhere"])
async def test_nobody_is_let_in_before_the_keys_were_ever_read(path: str):
    app = make_app()
    app.add_middleware(RequireKey, access_control=access_control_of(Keyring(KeysOutOfReach(), None)))
    async with client_of(app) as client:
        for headers in ({}, {"x-api-key": KEY}):
            answer = await client.get(path, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
            assert int(answer.headers["retry-after"]) > 0
        assert (await client.get("/healthz")).status_code == 200


async def test_figures_are_open_while_keys_cannot_be_read_where_the_operator_says_so():
    app = make_app()
    app.add_middleware(RequireKey, access_control=access_control_of(Keyring(KeysOutOfReach(), None)), metrics_open=True)
    async with client_of(app) as client:
        assert (await client.get("/metrics")).status_code == 200


async def test_otlp_clients_without_the_key_get_a_status():
    async with client_of(make_app(key=KEY)) as client:
        answer = await client.post("/v1/traces", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (401, 16)


async def test_whether_we_are_alive_may_be_asked_without_a_key():
    async with client_of(make_app(key=KEY)) as client:
        assert (await client.get("/healthz")).json() == {"status": "alive"}
        assert (await client.get("/readyz")).status_code == 200


async def test_who_is_here_may_be_asked_without_a_key():
    async with client_of(make_app(key=KEY)) as client:
        answer = await client.get("/v1/playhead")
    assert (answer.status_code, answer.json(), answer.headers["playhead-collector"]) == (200, {"collector": "1"}, "1")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/nowhere", 404),
        ("DELETE", "/healthz", 405),
        ("GET", "/items/x", 422),
        ("GET", "/fails", 500),
        ("POST", "/v1/traces", 404),
    ],
)
async def test_every_answer_says_that_it_is_a_collector_s(method: str, path: str, status: int):
    async with client_of(make_app(failure=RuntimeError("a bug"))) as client:
        answer = await client.request(method, path)
    assert (answer.status_code, answer.headers["playhead-collector"]) == (status, "1")
    async with client_of(make_app(key=KEY)) as client:
        answer = await client.get("/nowhere")
    assert (answer.status_code, answer.headers["playhead-collector"]) == (401, "1")


# --- health ----------------------------------------------------------------------------------------------------------


async def test_we_are_alive_and_not_ready_while_the_database_is_down():
    async with client_of(make_app(failure=StoreUnavailable("Postgres is down"))) as client:
        assert (await client.get("/healthz")).status_code == 200
        answer = await client.get("/readyz")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["error"] == {"code": "store_unavailable", "message": "Postgres is down"}


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (Refused(400, "bad_ref", "no ref"), 400, "bad_ref"),
        (ContentMissing("nothing is stored under it"), 404, "content_missing"),
        (ContentCorrupt("it does not match"), 500, "content_corrupt"),
        (StoreUnavailable("down"), 503, "store_unavailable"),
    ],
)
async def test_errors_have_one_form(failure: Exception, status: int, code: str):
    async with client_of(make_app(failure=failure)) as client:
        answer = await client.get("/fails")
    assert answer.status_code == status
    assert answer.json() == {"error": {"code": code, "message": str(failure)}}


async def test_a_bug_is_a_500_that_tells_nothing_of_the_inside():
    async with client_of(make_app(failure=KeyError("secret"))) as client:
        answer = await client.get("/fails")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text


async def test_a_path_that_does_not_exist_is_told_where_to_look():
    async with client_of(make_app()) as client:
        answer = await client.get("/nowhere")
    assert answer.status_code == 404
    message = "nothing is at /nowhere: GET /api/v1/docs lists what is"
    assert answer.json() == {"error": {"code": "not_found", "message": message}}


async def test_a_method_that_is_not_taken_is_told_so():
    async with client_of(make_app()) as client:
        answer = await client.delete("/healthz")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert answer.json()["error"]["code"] == "method_not_allowed"


async def test_bad_parameters_are_named_and_not_repeated():
    async with client_of(make_app()) as client:
        answer = await client.get("/items/<script>", params={"limit": 0})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    message = answer.json()["error"]["message"]
    assert "path.item" in message
    assert "query.limit" in message
    assert "script" not in message


# --- metrics ---------------------------------------------------------------------------------------------------------


async def test_requests_are_counted_by_route_and_status():
    app = make_app(key=KEY)
    async with client_of(app) as client:
        for path in ("/items/1", "/items/2", "/nowhere"):
            await client.get(path, headers={"x-api-key": KEY})
        await client.get("/items/1")
        text = (await client.get("/metrics", headers={"x-api-key": KEY})).text
    assert 'playhead_requests_total{route="/items/{item}",status="200"} 2.0' in text
    assert 'playhead_requests_total{route="none",status="404"} 1.0' in text
    assert 'playhead_requests_total{route="none",status="401"} 1.0' in text


async def test_two_applications_count_apart():
    one, other = make_app(), make_app()
    async with client_of(one) as client:
        await client.get("/healthz")
    labels = {"route": "/healthz", "status": "200"}
    assert one.state.metrics.registry.get_sample_value("playhead_requests_total", labels) == 1
    assert other.state.metrics.registry.get_sample_value("playhead_requests_total", labels) is None
