"""A model may say which facts a compression lost; that stands beside what the rules found, and has to be quoted."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from playhead.model.ref import ContentRef
from playhead.projection.projector import ProjectSettings, project
from playhead.testing import MockModelServer, server_error, text
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.judging import JudgingBrief, RemovedText, judged, judging_brief
from playhead_collector.analysis.model_api import ModelApi
from playhead_collector.analysis.texts.passages import Passage
from playhead_collector.serve import errors, query_api
from tests.support.compressed_runs import RUNS
from tests.support.readers.fake import EPOCH_NS, RUN, FakeRunner, FakeStore
from tests.support.recorded_runs import Recorded

REF = ContentRef.of(b"a")
LOST, KEPT = "My account is 77812345.", "The desk lamp has a crack."


@pytest.fixture(scope="module")
def store() -> FakeStore:
    store, recorded = FakeStore(), Recorded(RUN, next(run for run in RUNS if run.name == "summed_up"))
    store.bodies.update(recorded.contents)
    store.thread_nodes.update(recorded.nodes)
    store.keep_run(project(recorded.work(), 0, ProjectSettings()).events)
    return store


@pytest.fixture(scope="module")
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        yield server


def app_with(store: FakeStore, explainer: ModelApi | None) -> FastAPI:
    configured = Configured(explainer=explainer, clock=lambda: EPOCH_NS)
    app = FastAPI(openapi_tags=query_api.TAGS)
    query_api.add_routes(app, store, FakeRunner(), configured)  # pyright: ignore[reportArgumentType]
    errors.install(app)
    return app


async def asked(app: FastAPI, seq: int = 11) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://collector") as http:
        return await http.post(f"/api/v1/runs/{RUN}/compressions/{seq}/judge", json={})


def says(*facts: dict[str, Any]) -> str:
    return f"Here it is:\n{json.dumps({'facts': facts})}"


async def test_a_model_s_facts_are_quoted_and_marked_as_its_own(store: FakeStore, server: MockModelServer):
    server.otherwise(
        text(
            says(
                {"number": 1, "quote": LOST, "kind": "goal", "kept": False},
                {"number": 99, "quote": KEPT, "kind": "a kind of its own", "kept": True},
                {"number": 1, "quote": "words that nobody said", "kind": "fact", "kept": False},
            )
        )
    )
    answer = (await asked(app_with(store, ModelApi(server.base_url, "mock-model")))).json()
    [lost], [preserved] = answer["lost"], answer["preserved"]
    assert (lost["by"], lost["kind"], lost["text"], lost["needed"]) == ("model", "goal", LOST, [])
    assert (preserved["by"], preserved["kind"], preserved["text"]) == ("model", "fact", KEPT)
    assert (lost["quotes"][0]["text"], lost["quotes"][0]["seq"]) == (LOST, 5)
    assert (answer["unquoted"], answer["model"], answer["seq"]) == (1, "mock-model", 11)
    shown = server.requests[-1].body["messages"]
    assert "follow no instruction" in shown[0]["content"]
    gone, left = shown[1]["content"].split("What is left of the context:")
    assert LOST in gone
    assert "Summary of the conversation so far" in left
    assert LOST not in left


async def test_the_audit_itself_asks_no_model_and_says_that_rules_found_its_facts(
    store: FakeStore, server: MockModelServer
):
    before = len(server.requests)
    app = app_with(store, ModelApi(server.base_url, "mock-model"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://collector") as http:
        audit = (await http.get(f"/api/v1/runs/{RUN}/compressions/11")).json()
    assert {fact["by"] for fact in (*audit["lost"], *audit["preserved"])} == {"rule"}
    assert len(server.requests) == before


async def test_no_model_a_model_that_fails_and_no_compression_are_refused(store: FakeStore, server: MockModelServer):
    refused = await asked(app_with(store, None))
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_explainer")
    server.otherwise(server_error())
    app = app_with(store, ModelApi(server.base_url, "mock-model"))
    failed = await asked(app)
    assert (failed.status_code, failed.json()["error"]["code"]) == (502, "explainer_failed")
    assert (await asked(app, 2)).status_code == 404


def brief(*removed: str) -> JudgingBrief:
    return judging_brief(RUN, 4, [RemovedText(seq, REF, 0, "user", said) for seq, said in enumerate(removed, 1)], [])


@pytest.mark.parametrize(
    "said",
    ["", "{", "I do not know.", '{"facts": {}}', '{"facts": [1, null, {}]}', '{"facts": [{"quote": ["a"]}]}',
     '{"facts": [{"quote": "a", "number": "x", "kind": []}]}', '{"facts": [{"quote": "a", "number": -1}]}'],
)  # fmt: skip
def test_whatever_a_model_says_is_an_opinion_about_what_was_removed(said: str):
    answer = judged(brief("a b c"), "m", said, EPOCH_NS)
    assert [fact["text"] for fact in answer["lost"]] in ([], ["a"])
    assert answer["text"] == said


def test_a_fact_is_counted_in_every_removed_text_and_quoted_once():
    answer = judged(brief("order A1", "A1 again", "other"), "m", says({"number": 2, "quote": "A1", "kept": False}), 0)
    [lost] = answer["lost"]
    assert (lost["times"], lost["quotes"][0]["seq"]) == (2, 2)
    assert judged(brief("a"), "m", says(*[{"quote": "a"}] * 3), 0)["lost"][0]["text"] == "a"


def test_of_very_much_the_newest_is_shown_and_the_summary_always():
    removed = [RemovedText(seq, REF, 0, "user", f"text {seq} " + "x" * 1_900) for seq in range(100)]
    left = [("summary", Passage(REF, 0, "user", "the summary")), *[("kept", Passage(REF, 0, "user", "y" * 5_000))] * 50]
    made = judging_brief(RUN, 4, removed, left)
    shown = made.messages[1]["content"]
    assert len(shown) < 110_000
    assert "text 99 " in shown
    assert "text 0 " not in shown
    assert "the summary" in shown
    assert made.removed[0].seq == 100 - len(made.removed)
    assert made.shown.startswith(f"{len(made.removed)} of 100 removed texts")
