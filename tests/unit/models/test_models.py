"""Models asked through the clients that a program has installed, at the mock model server's endpoints."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from playhead import models
from playhead.model.message import text_message
from playhead.models import ModelRequest
from playhead.testing import MockModelServer
from playhead.testing import text as says

REQUEST = ModelRequest([text_message("system", "Be brief."), text_message("user", "Hello")], max_tokens=100)


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer(models=("mock-model",)) as server:
        server.otherwise(says("Good day."))
        yield server


def openai_client(server: MockModelServer) -> Any:
    import openai

    return openai.OpenAI(base_url=server.base_url, api_key="k")


def anthropic_client(server: MockModelServer) -> Any:
    import anthropic

    return anthropic.Anthropic(base_url=server.url, api_key="k")


def gemini_client(server: MockModelServer) -> Any:
    from google import genai

    return genai.Client(api_key="k", http_options={"base_url": server.url})


@pytest.mark.parametrize(
    ("model", "client_of"),
    [
        (models.OpenAIModel, openai_client),
        (models.AnthropicModel, anthropic_client),
        (models.GeminiModel, gemini_client),
    ],
)
def test_a_model_is_asked_through_its_client(model: Any, client_of: Any, server: MockModelServer):
    with closing(client_of(server)) as client:  # else the garbage collector does it, in whichever test
        response = model("mock-model", client=client).complete(REQUEST)
    assert response.text == "Good day."
    assert response.usage.input_tokens
    assert response.usage.output_tokens
    assert response.stop_reason == "end_turn"
    [request] = server.requests
    assert "Be brief." in str(request.body)


def test_the_mock_answers_without_a_network():
    model = models.MockModel(lambda request: f"{len(request.messages)} messages")
    assert model.complete(REQUEST).text == "2 messages"
    assert model.requests == [REQUEST]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gpt-4o-mini", models.OpenAIModel),
        ("claude-haiku-4-5", models.AnthropicModel),
        ("gemini-2.5-flash", models.GeminiModel),
        ("groq/llama-3.3", models.LiteLLMModel),
    ],
)
def test_a_name_says_whose_client_is_asked(name: str, kind: type):
    assert type(models.named(name)) is kind


def test_a_client_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "litellm", None)
    with pytest.raises(models.ModelUnavailable, match="pip install litellm"):
        models.LiteLLMModel("groq/llama-3.3").complete(REQUEST)
