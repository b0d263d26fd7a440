"""The query API keeps to its description: OpenAPI is valid and says everything, and no question makes it fail."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from playhead.model.canonical import Content
from playhead.wire.operations.declared import all_operations
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.process import CollectorProcess
from playhead_collector.serve.routing import PREFIX
from playhead_collector.store.postgres.store import connect
from tests.integration.read.recorded import conversation

RUN = "01" * 16
KEY = {"x-api-key": "the operator's"}  # keys that are made while asking change nothing for this one
# Generated questions are as they are; how long generating them takes says nothing about the API.
SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
MEDIA_TYPES = ("", "application/json", "text/plain", "a/" + "b" * 300, "image/png", "no type")
CHECKS: list[CheckFunction] = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance
]  # fmt: skip


@pytest.fixture(scope="module")
def url(module_database_url: str) -> Iterator[str]:
    """A collector that knows a run."""

    async def ingest() -> None:
        store = await connect(module_database_url, pool_size=1)
        await store.spans.ingest(PROJECT, conversation(RUN, 3).batch())
        await store.close()

    # Live streams of generated questions end soon.
    env = {"PLAYHEAD_ADMIN_KEY": KEY["x-api-key"], "PLAYHEAD_STREAM_SECONDS": "0.05"}
    # Where the machine stands still, an answer comes late, and is no error.
    env |= {"PLAYHEAD_DATABASE_SILENT_SECONDS": "60", "PLAYHEAD_POOL_WAIT_SECONDS": "60"}
    env |= {"PLAYHEAD_ANALYSIS_SECONDS": "60", "PLAYHEAD_SEARCH_SECONDS": "60"}
    with CollectorProcess(database_url=module_database_url, env=env) as collector:
        asyncio.run(ingest())
        yield collector.url


@pytest.fixture(scope="module")
def description(url: str) -> dict[str, Any]:
    return httpx.get(f"{url}{PREFIX}/openapi.json", headers=KEY, timeout=60).json()


@pytest.fixture(scope="module")
def api(url: str) -> Any:
    return schemathesis.openapi.from_url(f"{url}{PREFIX}/openapi.json", headers=KEY).include(
        path_regex=f"^({PREFIX}|/v1/content)"
    )


@schemathesis.serializer(PACK)
def _as_pack(_: Any, value: Any) -> Any:
    """Half of the generated bodies as they are, half as a content within a pack, so that what comes next is met too."""
    raw = value if isinstance(value, bytes) else str(value).encode()
    if len(raw) % 2:
        return {"data": raw}
    media = MEDIA_TYPES[len(raw) // 2 % len(MEDIA_TYPES)]
    content = Content(raw, media)
    return {"data": encode_pack(Pack((content,), (ThreadExtension(None, (content.ref.plain,)),)))}


def operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        if path.startswith(PREFIX):
            yield from ((f"{method} {path}", operation) for method, operation in methods.items())


def test_every_question_of_the_interface_is_there(description: dict[str, Any]):
    expected = {f"{operation.facts.method.lower()} {operation.facts.path}" for operation in all_operations()}
    expected |= {"get /session", "post /session", "delete /session"}  # by hand
    assert len(expected) > 60
    assert {name.replace(PREFIX, "") for name, _ in operations(description)} == expected


def test_every_operation_and_every_answer_is_described(description: dict[str, Any]):
    tags = {tag["name"] for tag in description["tags"] if tag["description"]}
    for name, operation in operations(description):
        assert operation["description"], name
        assert set(operation["tags"]) <= tags, name
        assert {"200", "400", "404", "422", "503"} <= set(operation["responses"]), name
        assert all(response["description"] for response in operation["responses"].values()), name
    for name, model in description["components"]["schemas"].items():
        if name.startswith(
            ("Page", "Run", "Llm", "Tool", "Trace", "State", "Context", "Reason", "Error", "Content", "Token", "Expl")
        ):
            assert model["description"], name


def test_every_route_says_what_it_does_in_a_sentence(description: dict[str, Any]):
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            words = operation["summary"].split()
            assert len(words) > 2, f"{method} {path}: {operation['summary']}"
            assert operation["description"].replace("\n", " ").startswith(operation["summary"]), f"{method} {path}"


def test_every_parameter_and_member_of_a_body_is_described(description: dict[str, Any]):
    undescribed = [
        f"{name}: {parameter['name']}"
        for name, operation in operations(description)
        for parameter in operation.get("parameters", [])
        if not parameter.get("description")
    ]
    bodies = {
        content["schema"]["$ref"].removeprefix("#/components/schemas/")
        for _, operation in operations(description)
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if "$ref" in content["schema"]
    }
    assert len(bodies) > 5
    for body in bodies:
        members = description["components"]["schemas"][body]["properties"]
        undescribed += [f"{body}: {name}" for name, schema in members.items() if not schema.get("description")]
    assert undescribed == []


def test_the_page_of_the_api_loads_nothing_from_elsewhere(url: str):
    page = httpx.get(f"{url}{PREFIX}/docs", headers=KEY, timeout=60)
    assert page.status_code == 200
    assert "://" not in page.text
    assert 'fetch("openapi.json")' in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_errors_have_one_form(description: dict[str, Any]):
    for name, operation in operations(description):
        for status, response in operation["responses"].items():
            if status >= "4":
                model = response["content"]["application/json"]["schema"]
                assert model == {"$ref": "#/components/schemas/ErrorAnswer"}, (name, status)


def test_no_question_makes_it_fail(api: Any):
    for found in api.get_all_operations():
        operation = found.ok()

        @settings(max_examples=8, deadline=None, database=None, suppress_health_check=SLOW)
        @given(case=operation.as_strategy(), known=st.booleans())
        def ask(case: Any, known: bool) -> None:
            if known and "run" in (case.path_parameters or {}):
                case.path_parameters["run"] = RUN
            # What else the paths for machines may answer is OTLP's and the pack's own description.
            ours = case.operation.path.startswith(PREFIX)
            case.call_and_validate(headers=KEY, checks=CHECKS if ours else [not_a_server_error], timeout=60)

        ask()
