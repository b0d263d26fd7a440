"""The private names of the clients that Stainless generates are where they were, and give an answer with no network."""

from sys import modules
from typing import Any

import anthropic
import openai
import pytest
import wrapt

from playhead.compat.stainless import constructed, is_strict, library_of, with_http_client

QUESTION = [{"role": "user", "content": "And?"}]
CHAT = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
MESSAGE: dict[str, Any] = {
    "id": "msg-1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
# Nothing listens there: a request that is sent fails.
NOWHERE: dict[str, Any] = {"base_url": "http://127.0.0.1:9", "api_key": "none", "max_retries": 0}


class Answering(wrapt.ObjectProxy):
    """An HTTP client that answers each request with this JSON."""

    def __init__(self, http: Any, answer: Any, *, is_async: bool) -> None:
        super().__init__(http)
        self._self_answer, self._self_is_async = answer, is_async

    def send(self, request: Any, **_: Any) -> Any:
        library: Any = modules[type(request).__module__.partition(".")[0]]
        response = library.Response(200, json=self._self_answer, request=request)
        return awaited(response) if self._self_is_async else response


async def awaited(value: Any) -> Any:
    return value


def resources(client: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A resource of the client, the arguments of its `create`, and an answer to that."""
    if type(client).__module__.startswith("openai"):
        return client.chat.completions, {"model": "m", "messages": QUESTION}, CHAT
    return client.messages, {"model": "m", "messages": QUESTION, "max_tokens": 9}, MESSAGE


@pytest.fixture(params=[openai.OpenAI, anthropic.Anthropic])
def client(request: pytest.FixtureRequest) -> Any:
    with request.param(**NOWHERE) as made:
        yield made


@pytest.fixture(params=[openai.AsyncOpenAI, anthropic.AsyncAnthropic])
async def async_client(request: pytest.FixtureRequest) -> Any:
    async with request.param(**NOWHERE) as made:
        yield made


def test_a_copy_of_the_client_answers_without_a_request_and_the_client_is_as_it_was(client: Any):
    resource, arguments, answer = resources(client)
    before = dict(vars(client))
    copied = with_http_client(resource, lambda http: Answering(http, answer, is_async=False), lambda value: value)
    assert type(copied) is type(resource)
    made = copied.create(**arguments)
    assert made.id == answer["id"]
    assert vars(client) == before
    assert resource._client is client


async def test_an_asynchronous_one_too(async_client: Any):
    resource, arguments, answer = resources(async_client)
    copied = with_http_client(resource, lambda http: Answering(http, answer, is_async=True), awaited)
    assert (await copied.create(**arguments)).id == answer["id"]


def test_the_names_that_are_replaced_are_those_that_the_client_calls(client: Any):
    """Without one of them, a request would be changed or its credentials checked, perhaps over the network."""
    for name in ("_client", "_prepare_options", "_prepare_request", "_validate_headers", "_strict_response_validation"):
        assert hasattr(client, name), name
    assert hasattr(client, "_make_sse_decoder")
    assert hasattr(modules[f"{library_of(resources(client)[0])}._streaming"], "SSEDecoder")


def test_an_object_is_constructed_as_the_client_does(client: Any):
    resource, arguments, answer = resources(client)
    copied = with_http_client(resource, lambda http: Answering(http, answer, is_async=False), lambda value: value)
    kind = type(copied.create(**arguments))
    made: Any = constructed(library_of(resource), kind, answer, "request-1")
    assert (type(made), made.id, made._request_id) == (kind, answer["id"], "request-1")


def test_a_client_that_validates_answers_says_so():
    for strict in (False, True):
        with openai.OpenAI(**NOWHERE, _strict_response_validation=strict) as client:
            assert is_strict(client.chat.completions) is strict
