"""Which scope each route of the collector needs: all of them are written down here, so that none is added by chance."""

from functools import cache
from typing import Any, cast

import pytest

from playhead_collector.app import create_app
from playhead_collector.receive.otlp_http import PATHS
from playhead_collector.serve.auth import OPEN_PATHS, needed_for
from playhead_collector.serve.keyring import ADMIN, INGEST, READ
from playhead_collector.settings import CollectorSettings

CHANGES = {
    ("POST", "/v1/content"): INGEST,
    ("POST", "/v1/content/missing"): INGEST,
    **{("POST", path): INGEST for path in PATHS},
    ("POST", "/api/v1/runs/{run}/lease"): INGEST,
    ("PUT", "/api/v1/runs/{run}/lease"): INGEST,
    ("DELETE", "/api/v1/runs/{run}/lease"): INGEST,
    ("POST", "/api/v1/runs/{run}/scores"): INGEST,
    ("POST", "/api/v1/keys"): ADMIN,
    ("DELETE", "/api/v1/keys/{number}"): ADMIN,
    ("DELETE", "/api/v1/runs/{run}"): ADMIN,
    ("POST", "/api/v1/gc"): ADMIN,
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
}


@cache
def routes() -> list[tuple[str, str]]:
    """Method and path of every route that needs a key; those of OTLP that the description leaves out as well."""
    described = create_app(CollectorSettings(), cast(Any, object())).openapi()["paths"]
    found = {(method.upper(), path) for path, methods in described.items() for method in methods}
    return sorted(each for each in found | {("POST", path) for path in PATHS} if each[1] not in OPEN_PATHS)


@pytest.mark.parametrize(("method", "path"), routes())
def test_each_route_needs_the_scope_that_is_written_down_for_it(method: str, path: str):
    listed = {("GET", "/api/v1/keys"): ADMIN} | CHANGES
    expected = listed[method, path] if method != "GET" else listed.get((method, path), READ)
    assert needed_for(method, path.replace("{run}", "0" * 32).replace("{number}", "1")) == expected


def test_every_route_that_changes_something_is_listed():
    changing = {(method, path) for method, path in routes() if method != "GET"}
    assert changing <= set(CHANGES)
    assert len(changing) >= 18


@pytest.mark.parametrize("path", sorted(PATHS))
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "BREW"])
def test_what_takes_spans_is_for_those_who_may_send_them_by_whatever_method(method: str, path: str):
    assert needed_for(method, path) == INGEST
