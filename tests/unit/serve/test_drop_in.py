"""Clients of other products: what they ask, and what they are told at a path that is not here."""

from typing import Any

import pytest
from fastapi import FastAPI

from playhead_collector.serve import drop_in, errors
from playhead_collector.serve.auth import RequireKey
from playhead_collector.serve.drop_in import hint
from playhead_collector.serve.keyring import Keyring
from tests.support.access_controls import access_control_of
from tests.unit.receive.http_app import Memory, client_of, make_app
from tests.unit.serve.test_frame import NoKeys


def an_app(key: str = "") -> FastAPI:
    app = make_app(Memory())
    app.include_router(drop_in.router("1.0"))
    if key:
        app.add_middleware(RequireKey, access_control=access_control_of(Keyring(NoKeys(), key)))
    return app


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/trace", "OTLP is taken at /v1/traces"),
        ("/traces", "OTLP is taken at /v1/traces"),
        ("/otlp/v1/traces", "OTLP is taken at /v1/traces"),
        ("/v1/traces/v1/traces", "OTLP is taken at /v1/traces"),
        ("/", "OTLP is taken at /v1/traces"),
        ("/otel/logs", "OTLP is taken at /v1/logs"),
        ("/v2/metrics", "OTLP is taken at /v1/metrics"),
        ("/v1/projects/default/spans", "OTLP at /v1/traces"),
        ("/runs/multipart", "LANGSMITH_TRACING_MODE=otel"),
        ("/runs/batch", "LANGSMITH_TRACING_MODE=otel"),
        ("/api/v1/runs/batch", "LANGSMITH_TRACING_MODE=otel"),
        ("/api/public/ingestion", "/api/public/otel/v1/traces"),
        ("/other", "GET /api/v1/docs lists what is"),
    ],
)
async def test_a_path_that_is_not_here_is_answered_with_the_one_that_is(path: str, says: str):
    async with client_of(an_app()) as client:
        answer = await client.post(path, json={})
    assert answer.status_code == 404
    assert says in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", drop_in.PATHS)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Basic cGs6a2V5"}, 200),  # pk:key
        ({"authorization": "Basic cGs6bm8="}, 401),  # pk:no
        ({"x-api-key": "key"}, 200),
        ({"api_key": "key"}, 200),
        ({"authorization": "Bearer key"}, 200),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_what_a_client_asks_first_needs_its_key(path: str, headers: dict[str, str], status: int):
    async with client_of(an_app("key")) as client:
        assert (await client.get(path, headers=headers)).status_code == status


async def test_without_keys_any_credentials_will_do():
    async with client_of(an_app()) as client:
        answer: Any = await client.get("/api/public/projects", headers={"authorization": "Basic cGs6c2s="})
        assert answer.json()["data"][0]["organization"]["id"]


def test_the_error_of_the_query_api_stays():
    assert hint("GET", "/traces") is None
    assert errors.client_gone().status == 499
