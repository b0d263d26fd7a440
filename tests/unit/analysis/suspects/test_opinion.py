"""A model may put the first suspects in another order; that stands beside what was computed."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from playhead.testing import MockModelServer, server_error, text
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.model_api import ModelApi
from playhead_collector.analysis.suspects.asked_order import RERANKED, reranked
from playhead_collector.analysis.suspects.suspects import answer_suspects
from playhead_collector.serve import errors, query_api
from tests.support.readers.chat import Chat
from tests.support.readers.fake import EPOCH_NS, RUN, FakeRunner, FakeStore, record_of

TOOLS = [{"name": "find", "input_schema": {}}]
QUIET = "0190ffff" * 4


@pytest.fixture(scope="module")
def store() -> FakeStore:
    """A run with more suspects than a model is shown, and one without any."""
    store = FakeStore()
    quiet = Chat(store, run=QUIET)
    quiet.user("Hello")
    quiet.says("Hello.")
    quiet.done()
    chat = Chat(store, tools=TOOLS)
    chat.user("Refund my order A1.")
    chat.says("I cannot refund orders.")
    for number in range(RERANKED + 2):
        chat.user("Go on")
        chat.asks("find", {"order": number}, error="timeout")
    chat.says("Done.")
    chat.done()
    return store


@pytest.fixture(scope="module")
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def app(store: FakeStore, server: MockModelServer) -> FastAPI:
    return app_with(store, ModelApi(server.base_url, "mock-model"))


def app_with(store: FakeStore, explainer: ModelApi | None) -> FastAPI:
    configured = Configured(explainer=explainer, clock=lambda: EPOCH_NS)
    app = FastAPI(openapi_tags=query_api.TAGS)
    query_api.add_routes(app, store, FakeRunner(), configured)  # pyright: ignore[reportArgumentType]
    errors.install(app)
    return app


async def rerank(app: FastAPI, run: str = RUN) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://collector") as http:
        return await http.post(f"/api/v1/runs/{run}/suspects/rerank", json={})


async def test_the_ten_first_are_put_in_the_model_s_order_beside_the_computed_one(
    app: FastAPI, store: FakeStore, server: MockModelServer
):
    computed = (await answer_suspects(record_of(store), limit=RERANKED))["items"]
    last, first = computed[-1]["seq"], computed[0]["seq"]
    server.otherwise(text(json.dumps({"order": [last, str(first), 9_999, last], "why": {str(last): "it is wrong"}})))
    answer = (await rerank(app)).json()
    assert answer["model"] == "mock-model"
    assert answer["computed"]["items"] == computed
    assert len(answer["order"]) == len(computed) == RERANKED
    assert answer["order"][0] == {"seq": last, "computed_rank": RERANKED, "why": "it is wrong"}
    assert answer["order"][1] == {"seq": first, "computed_rank": 1, "why": None}
    assert [row["computed_rank"] for row in answer["order"][2:]] == list(range(2, RERANKED))
    asked = server.requests[-1].body["messages"][1]["content"]
    assert all(f"[{suspect['seq']}]" in asked for suspect in computed)
    assert "I cannot refund orders." in asked


async def test_an_answer_that_names_nothing_leaves_the_computed_order(app: FastAPI, server: MockModelServer):
    server.otherwise(text("I do not know."))
    answer = (await rerank(app)).json()
    assert [row["computed_rank"] for row in answer["order"]] == list(range(1, RERANKED + 1))
    assert answer["text"] == "I do not know."


@pytest.mark.parametrize("said", ['{"order": {"a": 1}, "why": []}', '{"order": [null, [1]], "why": {"1": 2}}', "{", ""])
def test_whatever_a_model_says_is_an_order_of_the_suspects(said: str):
    suspects: Any = [{"seq": 4, "rank": 1}, {"seq": 2, "rank": 2}]
    assert [row["seq"] for row in reranked(suspects, said)] == [4, 2]


async def test_no_model_and_a_model_that_fails_are_refused(app: FastAPI, store: FakeStore, server: MockModelServer):
    refused = await rerank(app_with(store, None))
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_explainer")
    server.otherwise(server_error())
    failed = await rerank(app)
    assert (failed.status_code, failed.json()["error"]["code"]) == (502, "explainer_failed")


async def test_a_run_without_suspects_is_not_sent_to_the_model(app: FastAPI, server: MockModelServer):
    before = len(server.requests)
    answer = (await rerank(app, QUIET)).json()
    assert (answer["order"], answer["text"], len(server.requests)) == ([], "", before)
