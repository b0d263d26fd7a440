"""A recorded call is asked again over loopback: what the model is sent, what is answered, and that the run stays."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from playhead.model.canonical import Content, content_of, value_of
from playhead.model.event import LlmCalled
from playhead.model.message import text_message
from playhead.model.ref import ContentRef
from playhead.testing import MockModelServer, dropped_connection, server_error, text, tool_call
from playhead_collector.analysis.ask_again import Changes, request_body, tools_of
from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.model_api import ModelApi
from playhead_collector.errors import Refused
from playhead_collector.read.values import ContentCache
from playhead_collector.serve import errors, query_api
from tests.support.readers.chat import Chat
from tests.support.readers.fake import EPOCH_NS, RUN, FakeRunner, FakeStore

TOOLS = [{"name": "find", "description": "Finds", "input_schema": {"type": "object", "properties": {"order": {}}}}]
SYSTEM = {"role": "system", "content": "You are of help."}
ASKED = {"role": "user", "content": "Refund my order A1."}


@pytest.fixture
def chat() -> Chat:
    chat = Chat(FakeStore(), SYSTEM["content"], tools=TOOLS)
    chat.user(ASKED["content"])
    chat.asks("find", {"order": "A1"}, "late")
    chat.says("It is late.")
    chat.done()
    return chat


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.otherwise(text("It is late."))
        yield server


def client_of(chat: Chat, models: ModelApi | None, **more: Any) -> httpx.AsyncClient:
    configured = Configured(chat_models=models, clock=lambda: EPOCH_NS, **more)
    app = FastAPI(openapi_tags=query_api.TAGS)
    query_api.add_routes(app, chat.store, FakeRunner(), configured)  # pyright: ignore[reportArgumentType]
    errors.install(app)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://collector/api/v1/runs/{RUN}/")


@pytest.fixture
async def http(chat: Chat, server: MockModelServer) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(chat, ModelApi(server.base_url, "mock-model", "a-key", others=("other-model",))) as http:
        yield http


async def test_the_recorded_context_is_sent_and_an_equal_answer_is_the_same(
    http: httpx.AsyncClient, server: MockModelServer
):
    answer = (await http.post("ask-again", json={})).json()
    assert (answer["changed"], answer["same"], answer["model"]) == ([], True, "mock-model")
    assert answer["recorded"] == answer["answer"] == {"tools": [], "text": "It is late."}
    (sent,) = server.requests
    roles = [message["role"] for message in sent.body["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert sent.body["tools"][0]["function"]["name"] == "find"
    assert sent.body["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "late"}


async def test_other_instructions_stand_in_place_of_the_recorded_ones(http: httpx.AsyncClient, server: MockModelServer):
    server.otherwise(tool_call("find", {"order": "A2"}))
    answer = (await http.post("ask-again", json={"at": 4, "system": "Be brief."})).json()
    assert server.requests[-1].body["messages"] == [{"role": "system", "content": "Be brief."}, ASKED]
    assert (answer["seq"], answer["changed"], answer["same"]) == (4, ["system"], False)
    assert answer["answer"]["tools"] == [{"name": "find", "arguments": {"order": "A2"}}]
    assert answer["recorded"]["tools"] == [{"name": "find", "arguments": {"order": "A1"}}]
    assert answer["usage"]["output_tokens"] > 0


async def test_other_messages_are_asked_under_the_recorded_instructions_unless_they_have_some(
    http: httpx.AsyncClient, server: MockModelServer
):
    hello = {"role": "user", "content": "Hello"}
    mine = {"role": "system", "content": "Mine."}
    for given, sent in (([hello], [SYSTEM, hello]), ([mine, hello], [mine, hello])):
        answer = (await http.post("ask-again", json={"messages": given, "model": "other-model"})).json()
        assert server.requests[-1].body["messages"] == sent
        assert (answer["changed"], answer["model"]) == (["model", "messages"], "other-model")
        assert server.requests[-1].body["model"] == "other-model"


async def test_other_settings_stand_in_place_of_the_recorded_ones(http: httpx.AsyncClient, server: MockModelServer):
    answer = (await http.post("ask-again", json={"settings": {"temperature": 0.7, "seed": None}})).json()
    assert server.requests[-1].body["temperature"] == 0.7
    assert "seed" not in server.requests[-1].body
    assert (answer["changed"], answer["settings"]) == (["settings"], {"temperature": 0.7})


async def test_the_answer_is_content_beside_the_run_and_no_event_of_it(http: httpx.AsyncClient, chat: Chat):
    before = list(chat.store.events_of[RUN])
    answer = (await http.post("ask-again", json={})).json()
    assert chat.store.events_of[RUN] == before
    ref = ContentRef(answer["ref"])
    assert ref not in chat.store.bodies  # the store has it as an explanation, which keeps it from being swept
    assert value_of(await chat.store.contents.get(1, ref))["answer"] == answer["answer"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"at": 999}, 404, "no_such_seq"),
        ({"at": 1}, 404, "no_such_call"),
        ({"model": "gpt-9"}, 422, "unknown_model"),
        ({"messages": [{"role": "robot", "content": "x"}]}, 422, "bad_message"),
        ({"messages": [{"role": "user"}]}, 422, "bad_message"),
        ({"messages": []}, 422, None),
        ({"settings": {"tool_choice": "none"}}, 422, "bad_setting"),
        ({"settings": {"temperature": {}}}, 422, None),
        ({"mesages": []}, 422, None),
        ({"system": 7}, 422, None),
    ],
)
async def test_what_cannot_be_asked_is_refused_and_costs_nothing(
    http: httpx.AsyncClient, server: MockModelServer, body: dict[str, Any], status: int, code: str | None
):
    answer = await http.post("ask-again", json=body)
    assert answer.status_code == status, answer.text
    assert code in (None, answer.json()["error"]["code"]), answer.text
    assert server.requests == []


async def test_without_a_model_the_refusal_says_what_to_set(chat: Chat):
    async with client_of(chat, None) as http:
        answer = await http.post("ask-again", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_model")
    assert "PLAYHEAD_EXPLAIN_URL" in answer.json()["error"]["message"]


@pytest.mark.parametrize("failure", [server_error(), dropped_connection()])
async def test_a_model_that_fails_is_a_bad_gateway(http: httpx.AsyncClient, server: MockModelServer, failure: Any):
    server.otherwise(failure)
    assert (await http.post("ask-again", json={})).status_code == 502


async def test_an_answer_that_is_no_completion_is_a_bad_gateway(chat: Chat):
    def nonsense(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"choices": []})

    models = ModelApi("http://model/v1", "m", transport=httpx.MockTransport(nonsense))
    async with client_of(chat, models) as http:
        answer = await http.post("ask-again", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "explainer_failed")


async def test_beyond_the_limit_callers_are_asked_to_come_back(chat: Chat):
    class Slow:
        names = ("m",)

        async def complete(self, body: Any) -> dict[str, Any]:
            async with client_of_the_same as again:
                refused.append(await again.post("ask-again", json={}))
            return {"choices": [{"message": {"content": "x"}}]}

    refused = list[httpx.Response]()
    client = client_of(chat, Slow(), max_asked=1)  # type: ignore[arg-type]
    client_of_the_same = httpx.AsyncClient(transport=client._transport, base_url=client.base_url)
    assert (await client.post("ask-again", json={})).status_code == 200
    (answer,) = refused
    assert (answer.status_code, "PLAYHEAD_MAX_ASKED" in answer.text, "retry-after" in answer.headers) == (
        503,
        True,
        True,
    )


def test_tools_of_any_provider_become_functions():
    function = {"name": "a", "description": "A", "parameters": {"type": "object", "properties": {"x": {}}}}
    assert tools_of([{"type": "function", "function": function}]) == [{"type": "function", "function": function}]
    assert tools_of(TOOLS)[0]["function"]["parameters"] == TOOLS[0]["input_schema"]
    assert tools_of([{"name": "b"}, "no tool"])[0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_a_model_is_not_given_what_is_left_of_a_masked_message():
    said, system = content_of(text_message("user", "I am jo@example.com")), content_of("Be kind.")
    masked = Content.masked(said.ref, content_of(text_message("user", "I am [masked:email]")).data, said.media_type)
    begin = LlmCalled(
        id="e", run="0" * 32, seq=3, time_ns=1, model="m", thread=ContentRef.of(b"thread"), system=system.ref
    )
    cache = ContentCache({said.ref: masked, system.ref: system})
    with pytest.raises(Refused, match="masked") as refused:
        request_body(begin, [said.ref], cache, Changes(), "m")
    assert (refused.value.status, refused.value.code) == (409, "masked_content")
    new = [{"role": "user", "content": "I am somebody"}]
    body = request_body(begin, [said.ref], cache, Changes(messages=new), "m")
    assert [message["content"] for message in body["messages"]] == ["Be kind.", "I am somebody"]
