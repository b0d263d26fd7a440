"""What the server answers, without a server: routes, the key, the script, errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest

from playhead.testing import (
    ChatRequest,
    Rule,
    contains,
    delay,
    dropped_connection,
    rate_limit,
    sequence,
    text,
    tool_call,
)
from playhead.testing.answers import Answer, Answering
from playhead.testing.endpoint import MockEndpoint, MockServerSettings
from playhead.testing.http_response import Response
from playhead.testing.script import ScriptPlayer

CHAT = "/v1/chat/completions"


class Asked:
    """An endpoint with a script, and the shortest way to ask it."""

    def __init__(self, settings: MockServerSettings | None = None, otherwise: Answering | None = None) -> None:
        self.script = ScriptPlayer()
        if otherwise is not None:
            self.script.otherwise(otherwise)
        self.endpoint = MockEndpoint(self.script, settings or MockServerSettings(clock=lambda: 1234.9))

    def post(self, content: str = "hi", headers: dict[str, str] | None = None, **body: object) -> Response:
        value = {"model": "m", "messages": [{"role": "user", "content": content}], **body}
        return self.endpoint.respond("POST", CHAT, headers or {}, orjson.dumps(value))

    def says(self, content: str = "hi") -> str:
        return read(self.post(content))["choices"][0]["message"]["content"]


def read(response: Response) -> Any:
    return orjson.loads(b"".join(response.parts))


def error_of(response: Response) -> tuple[int, str, str]:
    error = read(response)["error"]
    return response.status, error["code"], error["message"]


def test_the_first_matching_rule_wins_then_otherwise() -> None:
    asked = Asked(otherwise=text("done"))
    asked.script.when(contains("refund"), text("first"), None)
    asked.script.when(contains("refund") | contains("order"), text("second"), None)
    assert [asked.says(content) for content in ("refund", "order", "bye")] == ["first", "second", "done"]


def test_a_rule_can_be_limited_to_some_uses() -> None:
    asked = Asked(otherwise=text("done"))
    asked.script.when(contains("hi"), text("limited"), 2)
    assert [asked.says() for _ in range(3)] == ["limited", "limited", "done"]
    with pytest.raises(ValueError, match="at least once"):
        asked.script.when(contains("hi"), text("x"), 0)


def test_a_limit_holds_when_many_ask_at_once() -> None:
    asked = Asked(MockServerSettings(), otherwise=text("done"))
    asked.script.when(contains("hi"), text("limited"), 10)
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(asked.says, ["hi"] * 200))
    assert said.count("limited") == 10
    assert [request.number for request in asked.endpoint.requests] == list(range(1, 201))


def test_sequence_counts_every_well_formed_request() -> None:
    asked = Asked(otherwise=text("done"))
    asked.script.when(sequence(2), rate_limit(), None)
    asked.endpoint.respond("POST", CHAT, {}, b"{")
    assert [asked.post().status for _ in range(3)] == [200, 429, 200]


def test_an_answer_may_be_a_function_of_the_request() -> None:
    def echo(request: ChatRequest) -> Answer:
        return text(f"{request.model}: {next(request.texts(last=True))}")

    assert Asked(otherwise=echo).says("hello") == "m: hello"


def test_a_request_without_an_answer_gets_the_rules_and_no_retry() -> None:
    asked = Asked()
    asked.script.when(contains("refund") & sequence(1), text("x"), 3)
    response = asked.post("hello")
    status, code, message = error_of(response)
    assert (status, code, response.headers["x-should-retry"]) == (400, "no_rule_matches", "false")
    assert "'hello'" in message
    assert "(contains('refund') & sequence(1)) [used 0 of 3 times]" in message


def test_what_a_users_rule_raises_is_told_to_the_client() -> None:
    asked = Asked()
    asked.script.when(Rule("broken", lambda request: request.body["absent"]), text("x"), None)
    assert error_of(asked.post()) == (400, "script_raised", "A rule or an answer raised KeyError: 'absent'")


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        (b"{", None, "could not parse the JSON"),
        (b"[]", None, "must be a JSON object"),
        (b'{"messages":[{"role":"user"}]}', "model", "model parameter"),
        (b'{"model":"m"}', "messages", "at least one message"),
        (b'{"model":"m","messages":[]}', "messages", "at least one message"),
        (b'{"model":"m","messages":"hi"}', "messages", "list of messages"),
        (b'{"model":"m","messages":[1]}', "messages[0]", "must be an object"),
        (b'{"model":"m","messages":[{"content":"x"}]}', "messages[0].role", "Missing"),
        (b'{"model":"m","messages":[{"role":"a","tool_calls":{}}]}', "messages[0].tool_calls", "list"),
        (b'{"model":"m","messages":[{"role":"a","function_call":"f"}]}', "messages[0].function_call", "object"),
        (b'{"model":"m","messages":[{"role":"user"}],"n":0}', "n", "between 1 and 128"),
        (b'{"model":"m","messages":[{"role":"user"}],"stream":"yes"}', "stream", "boolean"),
        (b'{"model":"m","messages":[{"role":"user"}],"tools":["f"]}', "tools[0]", "object"),
    ],
)
def test_a_bad_request_gets_400_and_the_field_at_fault(body: bytes, param: str | None, words: str) -> None:
    response = Asked(otherwise=text("x")).endpoint.respond("POST", CHAT, {}, body)
    error = read(response)["error"]
    assert (response.status, error["param"]) == (400, param)
    assert words in error["message"]


def test_a_given_key_is_asked_for_everywhere_but_for_health() -> None:
    asked = Asked(MockServerSettings(api_key="secret"), otherwise=text("x"))
    assert error_of(asked.post())[:2] == (401, "invalid_api_key")
    assert error_of(asked.post(headers={"authorization": "Bearer wrong é"}))[:2] == (401, "invalid_api_key")
    assert asked.post(headers={"authorization": "Bearer secret"}).status == 200
    assert asked.endpoint.respond("GET", "/v1/models", {}, b"").status == 401
    assert asked.endpoint.respond("GET", "/healthz", {}, b"").status == 200


def test_other_paths_and_methods_are_refused() -> None:
    endpoint = Asked().endpoint
    assert error_of(endpoint.respond("POST", "/v1/audio/speech", {}, b""))[:2] == (404, "unknown_url")
    assert error_of(endpoint.respond("GET", CHAT, {}, b""))[:2] == (405, "method_not_allowed")
    assert error_of(endpoint.respond("POST", "/v1/models", {}, b""))[:2] == (405, "method_not_allowed")


def test_models_are_listed_and_found() -> None:
    endpoint = Asked(MockServerSettings(models=["a", "b/c"])).endpoint
    assert [model["id"] for model in read(endpoint.respond("GET", "/v1/models?x=1", {}, b""))["data"]] == ["a", "b/c"]
    assert read(endpoint.respond("GET", "/v1/models/b/c", {}, b""))["id"] == "b/c"
    assert error_of(endpoint.respond("GET", "/v1/models/z", {}, b""))[:2] == (404, "model_not_found")


def test_created_comes_from_the_given_clock() -> None:
    assert read(Asked(otherwise=text("x")).post())["created"] == 1234


def test_delays_add_up() -> None:
    assert Asked(otherwise=delay(1, delay(2, text("x")))).post().wait_seconds == 3


def test_a_dropped_connection_is_cut_before_or_within_the_answer() -> None:
    assert Asked(otherwise=dropped_connection()).post().cut_after == 0
    assert Asked(otherwise=dropped_connection(text("long"), after_chunks=2)).post(stream=True).cut_after == 2
    with pytest.raises(ValueError, match="which answer"):
        dropped_connection(after_chunks=1)


def test_tokens_of_a_beginning_seen_before_are_cached_tokens() -> None:
    asked = Asked(otherwise=tool_call("a"))

    def cached(*contents: str, tools: object = None) -> int:
        messages = [{"role": "user", "content": content} for content in contents]
        return read(asked.post(messages=messages, tools=tools))["usage"]["prompt_tokens_details"]["cached_tokens"]

    assert cached("one") == 0
    first = read(asked.post("one"))["usage"]["prompt_tokens"]
    assert cached("one", "two") == first
    assert cached("other", "two") == 0
    assert cached("one", tools=[{"type": "function", "function": {"name": "a"}}]) == 0


def test_requests_are_kept_unless_told_otherwise_and_their_headers_stay_out_of_the_repr() -> None:
    asked = Asked(otherwise=text("x"))
    asked.post("hello", headers={"authorization": "Bearer sk-real"})
    (request,) = asked.endpoint.requests
    assert request.messages == [{"role": "user", "content": "hello"}]
    assert request.headers["authorization"] == "Bearer sk-real"
    assert "sk-real" not in repr(request)
    forgetful = Asked(MockServerSettings(keep_requests=False), otherwise=text("x"))
    forgetful.post()
    assert forgetful.endpoint.requests == []


def test_every_answer_comes_after_the_latency_and_its_own_delay() -> None:
    asked = Asked(MockServerSettings(latency_seconds=0.5), otherwise=text("x"))
    asked.script.when(contains("slow"), delay(2, text("x")), None)
    assert [asked.post(content).wait_seconds for content in ("hi", "slow")] == [0.5, 2.5]


def embed(asked: Asked, **body: object) -> Response:
    return asked.endpoint.respond("POST", "/v1/embeddings", {}, orjson.dumps({"model": "e", **body}))


def test_equal_texts_have_equal_vectors_of_the_dimensions_asked_for() -> None:
    asked = Asked(otherwise=text("is not said to an embedding"))
    one, other, same = read(embed(asked, input=["a", "b", "a"], dimensions=5))["data"]
    assert one["embedding"] == same["embedding"] != other["embedding"]
    assert [len(each["embedding"]) for each in (one, other)] == [5, 5]
    assert read(embed(asked, input=[1, 2]))["usage"]["total_tokens"] > 0


def test_embeddings_fail_and_wait_as_the_rules_say() -> None:
    asked = Asked(otherwise=text("x"))
    asked.script.when(contains("a"), text("is not said to an embedding"), 1)
    asked.script.when(contains("a"), rate_limit(), 1)
    asked.script.when(contains("a"), delay(3, text("is not said")), 1)
    assert [embed(asked, input="a").status for _ in range(1)] == [429]
    assert embed(asked, input="a").wait_seconds == 3
    assert embed(asked, input="a").status == 200
    assert asked.says("a") == "is not said to an embedding"


@pytest.mark.parametrize("wrong", [{}, {"input": []}, {"input": "a", "dimensions": 0}, {"input": 7}])
def test_embedding_requests_that_the_api_refuses_are_refused(wrong: dict[str, Any]) -> None:
    assert error_of(embed(Asked(), **wrong))[:2] == (400, "invalid_request")


COMPLETIONS = ("/v1/completions", "/openai/deployments/m/completions")
GENERATION, FEATURES = "/models/org/gpt", "/models/org/bge/pipeline/feature-extraction"


def ask(asked: Asked, path: str, headers: dict[str, str] | None = None, **body: object) -> Response:
    return asked.endpoint.respond("POST", path, headers or {}, orjson.dumps(body))


@pytest.mark.parametrize("path", COMPLETIONS)
def test_a_text_completion_is_the_answer_s_text_for_each_prompt_and_choice(path: str) -> None:
    asked = Asked(otherwise=text("so it goes") + tool_call("f"))
    choices = read(ask(asked, path, model="m", prompt=["One", "Two"], n=2))["choices"]
    assert [choice["text"] for choice in choices] == ["so it goes"] * 4
    assert [choice["finish_reason"] for choice in choices] == ["stop"] * 4
    assert [message["content"] for message in asked.endpoint.requests[0].messages] == ["One", "Two"]
    assert read(ask(asked, path, model="m", prompt=[1, 2]))["choices"][0]["text"] == "so it goes"


@pytest.mark.parametrize("wrong", [{"prompt": "a"}, {"model": "m"}, {"model": "m", "prompt": 7}])
def test_text_completions_that_the_api_refuses_are_refused(wrong: dict[str, Any]) -> None:
    assert error_of(ask(Asked(), COMPLETIONS[0], **wrong))[:2] == (400, "invalid_request")


def test_tasks_of_hugging_face_generate_text_and_embed() -> None:
    asked = Asked(otherwise=text("so it goes"))
    [answer] = read(ask(asked, GENERATION, inputs="Once", parameters={"details": True}))
    assert (answer["generated_text"], answer["details"]["finish_reason"]) == ("so it goes", "eos_token")
    assert read(ask(asked, GENERATION, inputs="Once")) == [{"generated_text": "so it goes"}]
    one, other, same = read(ask(asked, FEATURES, inputs=["a", "b", "a"], dimensions=5))
    assert one == same != other
    assert len(one) == 5
    assert [request.model for request in asked.endpoint.requests] == ["org/gpt", "org/gpt", "org/bge"]


@pytest.mark.parametrize(
    ("path", "inputs"), [(GENERATION, None), (GENERATION, ["a"]), (GENERATION, 7), (FEATURES, []), (FEATURES, [7])]
)
def test_tasks_of_hugging_face_refuse_other_inputs_and_other_keys(path: str, inputs: object) -> None:
    refused = ask(Asked(), path, inputs=inputs)
    assert (refused.status, "'inputs' must be" in read(refused)["error"]) == (400, True)
    secret = Asked(MockServerSettings(api_key="k"), otherwise=text("x"))
    assert ask(secret, path, {"authorization": "Bearer x"}, inputs="a").status == 401
    assert ask(secret, path, {"authorization": "Bearer k"}, inputs="a").status == 200
