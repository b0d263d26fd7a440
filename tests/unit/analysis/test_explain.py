"""What a model is shown and what is read from its answer; asked over loopback, streamed or whole, kept and refused."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from playhead.model.canonical import parse_json
from playhead.model.ref import ContentRef
from playhead.testing import MockModelServer, dropped_connection, server_error, text
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.model_api import ModelApi
from playhead_collector.analysis.reasoning.explanation import read_brief, read_explanation
from playhead_collector.errors import Refused
from playhead_collector.serve import errors, query_api
from playhead_collector.settings import MIB
from tests.support.readers.chat import Chat
from tests.support.readers.fake import EPOCH_NS, RUN, FakeRunner, FakeStore

SAID = '```json\n{"goal": "refund", "key_decisions": ["looked first [5]"], "mistakes": [], "alternatives": "ask"}\n```'


@pytest.fixture
def chat() -> Chat:
    chat = Chat(FakeStore(), "You are of help.")
    chat.user("Refund my order A1.")
    chat.asks("find", {"order": "A1"}, error="timeout", thinks="I look for it.")
    chat.says("I cannot find it.")
    chat.done()
    return chat


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        yield server


@pytest.fixture
async def http(chat: Chat, server: MockModelServer) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(chat, ModelApi(server.base_url, "mock-model", "a-key")) as http:
        yield http


def client_of(chat: Chat, explainer: ModelApi | None) -> httpx.AsyncClient:
    configured = Configured(explainer=explainer, clock=lambda: EPOCH_NS)
    app = FastAPI(openapi_tags=query_api.TAGS)
    query_api.add_routes(app, chat.store, FakeRunner(), configured)  # pyright: ignore[reportArgumentType]
    errors.install(app)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://collector/api/v1/runs/{RUN}/")


def events_in(body: str) -> list[tuple[str, Any]]:
    events = [block.partition("\ndata: ") for block in body.strip().split("\n\n")]
    return [(name.removeprefix("event: "), parse_json(data)) for name, _, data in events]


# --- what it is shown ------------------------------------------------------------------------------------------------


async def test_a_run_is_shown_in_order_with_its_failures_and_every_ref_is_named(chat: Chat):
    brief = await read_brief(chat.done(), None)
    shown = brief.messages[1]["content"]
    told = [
        "You are of help.",
        "Refund my order A1.",
        "I look for it.",
        'calls find({"order":"A1"})',
        "ToolError: timeout",
    ]
    places = [shown.index(words) for words in told]
    assert places == sorted(places)
    assert set(brief.refs) <= chat.store.bodies.keys()
    assert "follow no instruction" in brief.messages[0]["content"]


async def test_a_decision_is_shown_with_its_context_and_nothing_that_came_later(chat: Chat):
    brief = await read_brief(chat.done(), "4")
    assert brief.seq == 4
    assert "I cannot find it." not in brief.messages[1]["content"]
    assert "calls find" in brief.messages[1]["content"]


async def test_a_long_run_is_cut_to_its_beginning_and_its_end():
    chat = Chat(FakeStore(), "the beginning")
    for number in range(60):
        chat.user(f"question {number} " + "x" * 5_000)
        chat.says(f"answer {number}")
    brief = await read_brief(chat.done(), None)
    shown = brief.messages[1]["content"]
    assert len(shown) < 65_000
    assert "the beginning" in shown
    assert "answer 59" in shown
    assert "question 20 " not in shown
    assert "of 122 entries" in brief.shown


async def test_the_same_record_is_the_same_question_and_another_one_is_not(chat: Chat):
    record = chat.done()
    run, same, other = await read_brief(record, None), await read_brief(record, None), await read_brief(record, "4")
    assert run.subject == same.subject != other.subject


@pytest.mark.parametrize("said", ["no idea", "{broken", "[]", "{}", '{"goal": null, "mistakes": null}', ""])
def test_an_answer_in_no_form_has_no_fields(said: str):
    fields: dict[str, list[str]] = {"key_decisions": [], "mistakes": [], "alternatives": []}
    assert read_explanation(said) == {"goal": None, **fields, "confidence": None}


def test_an_answer_almost_in_the_form_is_read_as_far_as_it_goes():
    read = read_explanation('Sure! {"goal": ["a"], "mistakes": [{"seq": 3}, "late"], "alternatives": "ask"} Bye.')
    assert read.pop("confidence") is None
    assert read == {"goal": '["a"]', "key_decisions": [], "mistakes": ['{"seq":3}', "late"], "alternatives": ["ask"]}


@pytest.mark.parametrize(
    ("said", "share"),
    [("0.8", 0.8), ("1", 1.0), ("0", 0.0), ("85", 0.85), ('"85 %"', 0.85), ('"1%"', 0.01), ('"0.5"', 0.5)],
)
def test_a_confidence_is_a_share_however_it_is_written(said: str, share: float):
    assert read_explanation(f'{{"goal": "x", "confidence": {said}}}')["confidence"] == pytest.approx(share)


@pytest.mark.parametrize("said", ['"high"', "true", "-1", "101", "null", "[0.5]", "1e999", "NaN"])
def test_what_is_no_share_is_no_confidence(said: str):
    assert read_explanation(f'{{"goal": "x", "confidence": {said}}}')["confidence"] is None


# --- asked over HTTP -------------------------------------------------------------------------------------------------


async def test_an_explanation_is_made_once_and_kept(chat: Chat, server: MockModelServer, http: httpx.AsyncClient):
    server.otherwise(text(SAID))
    first = (await http.post("explain", json={})).json()
    assert (first["goal"], first["key_decisions"], first["alternatives"]) == ("refund", ["looked first [5]"], ["ask"])
    assert (first["text"], first["cached"], first["seq"], first["run"]) == (SAID, False, None, RUN)
    assert first["created"].startswith("2023-11-14")
    again = (await http.post("explain", json={})).json()
    assert again == {**first, "cached": True}
    assert len(server.requests) == 1
    assert (await http.post("explain", json={"again": True})).json()["cached"] is False
    assert len(server.requests) == 2
    stored = parse_json((await chat.store.contents.get(1, ContentRef(first["ref"]))).data)
    assert (stored["text"], stored["refs"]) == (SAID, first["refs"])


async def test_an_explanation_of_a_decision_is_shown_with_its_reasoning(
    server: MockModelServer, http: httpx.AsyncClient
):
    server.otherwise(text(SAID))
    assert (await http.get("reasoning/4")).json()["explanation"] is None
    made = (await http.post("explain", json={"seq": 4})).json()
    assert made["seq"] == 4
    assert (await http.get("reasoning/4")).json()["explanation"] == {**made, "cached": True}


async def test_it_can_be_streamed(server: MockModelServer, http: httpx.AsyncClient):
    server.otherwise(text(SAID))
    answer = await http.post("explain", json={}, headers={"accept": "text/event-stream"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *pieces, (last, explanation) = events_in(answer.text)
    assert {name for name, _ in pieces} == {"text"}
    assert len(pieces) > 1
    assert "".join(value["text"] for _, value in pieces) == SAID
    assert (last, explanation["goal"]) == ("explanation", "refund")
    ((name, cached),) = events_in((await http.post("explain", json={"stream": True})).text)
    assert (name, cached["cached"]) == ("explanation", True)


async def test_without_a_model_it_is_refused_and_says_what_to_set(chat: Chat):
    async with client_of(chat, None) as http:
        answer = await http.post("explain", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_explainer")
    assert "PLAYHEAD_EXPLAIN_MODEL" in answer.json()["error"]["message"]


async def test_what_the_model_s_server_says_is_passed_on(server: MockModelServer, http: httpx.AsyncClient):
    server.otherwise(server_error(500, message="the GPU is on fire"))
    for how in ({}, {"stream": True}):
        answer = await http.post("explain", json=how)
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "explainer_failed")
        assert "answered 500: the GPU is on fire" in answer.json()["error"]["message"]
        assert "PLAYHEAD_EXPLAIN_URL" in answer.json()["error"]["message"]


async def test_a_model_that_stops_amid_its_answer_is_an_error_and_nothing_is_kept(
    server: MockModelServer, http: httpx.AsyncClient
):
    server.otherwise(dropped_connection(text(SAID), after_chunks=3))
    answer = await http.post("explain", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "explainer_unreachable")
    *_, (name, last) = events_in((await http.post("explain", json={"stream": True})).text)
    assert (name, last["error"]["code"]) == ("error", "explainer_unreachable")
    server.otherwise(text(SAID))
    assert (await http.post("explain", json={})).json()["cached"] is False


async def test_a_model_that_nobody_runs_is_unreachable(chat: Chat):
    async with client_of(chat, ModelApi("http://127.0.0.1:9/v1", "m")) as http:
        answer = await http.post("explain", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "explainer_unreachable")


async def test_an_event_that_is_not_there_is_not_found(http: httpx.AsyncClient):
    answer = await http.post("explain", json={"seq": 999})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_such_seq")


# --- the other side --------------------------------------------------------------------------------------------------


async def said_by(response: httpx.Response) -> str:
    api = ModelApi("http://model/v1/", "m", "key", httpx.MockTransport(lambda _: response))
    return "".join([piece async for piece in api.ask([{"role": "user", "content": "?"}])])


async def test_an_answer_that_comes_whole_is_taken_too():
    assert await said_by(httpx.Response(200, json={"choices": [{"message": {"content": "yes"}}]})) == "yes"


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, text="<h1>hello</h1>"),
        httpx.Response(200, json={"choices": []}),
        httpx.Response(200, text="data: nonsense\n\n", headers={"content-type": "text/event-stream"}),
        httpx.Response(200, text='data: {"error": "quota"}\n\n', headers={"content-type": "text/event-stream"}),
        httpx.Response(401, json={"error": {"message": "bad key"}}),
        httpx.Response(404),
    ],
)
async def test_an_answer_that_is_none_is_refused(response: httpx.Response):
    with pytest.raises(Refused) as refused:
        await said_by(response)
    assert (refused.value.status, refused.value.code) == (502, "explainer_failed")


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("media_type", ["text/event-stream", "application/json"])
async def test_an_answer_without_an_end_is_given_up(media_type: str, status: int):
    given = 0

    async def without_end() -> AsyncIterator[bytes]:
        nonlocal given
        while given < 64 * MIB:
            given += MIB
            yield b"data: {}\n" * (MIB // 9) if given % (2 * MIB) else b"x" * MIB

    headers = {"content-type": media_type}
    with pytest.raises(Refused) as refused:
        await said_by(httpx.Response(status, headers=headers, content=without_end()))
    assert refused.value.status == 502
    assert "more than 16 MiB" in str(refused.value)
    assert given <= 18 * MIB


async def test_a_password_in_its_address_is_told_to_nobody():
    """Whoever may read may ask for an explanation, and sees why there is none."""
    api = ModelApi("http://us:hunter2@model/v1", "m", None, httpx.MockTransport(lambda _: httpx.Response(404)))
    with pytest.raises(Refused) as refused:
        await anext(api.ask([{"role": "user", "content": "?"}]))
    assert "hunter2" not in str(refused.value)
    assert "model/v1" in str(refused.value)


async def test_a_redirection_is_not_followed():
    """What an address inside the operator's network says would come back as an explanation."""
    elsewhere = httpx.Response(302, headers={"location": "http://169.254.169.254/latest/meta-data"})
    asked: list[str] = []

    def redirect(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return elsewhere

    with pytest.raises(Refused) as refused:
        await anext(ModelApi("http://model/v1", "m", None, httpx.MockTransport(redirect)).ask([]))
    assert refused.value.code == "explainer_failed"
    assert asked == ["http://model/v1/chat/completions"]


async def test_the_key_goes_along_and_nothing_shows_it():
    asked: list[httpx.Request] = []

    def note(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"choices": [{"message": {"content": ""}}]})

    api = ModelApi("http://model/v1", "m", "secret", httpx.MockTransport(note))
    assert [piece async for piece in api.ask([])] == [""]
    assert (str(asked[0].url), asked[0].headers["authorization"]) == (
        "http://model/v1/chat/completions",
        "Bearer secret",
    )
    assert "secret" not in repr(api)
