"""Models asked through the providers' clients, which are imported and made with the first question.

An instrumented client (`playhead.instrument()`) records the call; see `recorded` for the others.
"""

from importlib import import_module
from typing import Any

from playhead.models.apis import ANTHROPIC, CHAT, GEMINI, Api
from playhead.models.model import Model, ModelRequest, ModelResponse, ModelUnavailable

# Anthropic's API wants a number.
_ANTHROPIC_MAX_TOKENS = 4_096


class OpenAIModel:
    """A model of OpenAI's Chat Completions, or of a server that has this API.

    `client`: an `openai.OpenAI`; None: one made of the environment's variables.
    """

    def __init__(self, name: str, *, client: Any = None) -> None:
        self.name = name
        self._client = client

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        self._client = self._client or _library("openai", "openai").OpenAI()
        options = _options(request, max_tokens="max_completion_tokens")
        messages = [CHAT.from_message(message) for message in request.messages]
        answer = self._client.chat.completions.create(model=self.name, messages=messages, **options)
        return _response(CHAT, self.name, answer)


class LiteLLMModel:
    """A model that LiteLLM knows by this name (`provider/model`). `options` are passed to `litellm.completion`."""

    def __init__(self, name: str, **options: Any) -> None:
        self.name = name
        self._options = options

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        options = {**_options(request, max_tokens="max_tokens"), **self._options}
        messages = [CHAT.from_message(message) for message in request.messages]
        answer = _library("litellm", "litellm").completion(model=self.name, messages=messages, **options)
        return _response(CHAT, self.name, answer)


class AnthropicModel:
    """A model of Anthropic's Messages. `client`: an `anthropic.Anthropic`; None: one made of the environment's
    variables."""

    def __init__(self, name: str, *, client: Any = None) -> None:
        self.name = name
        self._client = client

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        self._client = self._client or _library("anthropic", "anthropic").Anthropic()
        sent = ANTHROPIC.request([ANTHROPIC.from_message(message) for message in request.messages])
        options = {"max_tokens": _ANTHROPIC_MAX_TOKENS, **_options(request, max_tokens="max_tokens")}
        if sent.system is not None:
            options["system"] = sent.system
        answer = self._client.messages.create(model=self.name, messages=sent.messages, **options)
        return _response(ANTHROPIC, self.name, answer)


class GeminiModel:
    """A model of Google's Gemini. `client`: a `google.genai.Client`; None: one made of the environment's variables."""

    def __init__(self, name: str, *, client: Any = None) -> None:
        self.name = name
        self._client = client

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        self._client = self._client or _library("google.genai", "google-genai").Client()
        sent = GEMINI.request([GEMINI.from_message(message) for message in request.messages])
        config = _options(request, max_tokens="max_output_tokens")
        if sent.system is not None:
            config["system_instruction"] = sent.system
        answer = self._client.models.generate_content(model=self.name, contents=sent.messages, config=config or None)
        return _response(GEMINI, self.name, answer)


def named(name: str) -> Model:
    """Returns the model of this name: Claude and Gemini of their providers, `provider/model` of LiteLLM, any other of
    OpenAI."""
    if "/" in name:
        return LiteLLMModel(name)
    if name.startswith("claude"):
        return AnthropicModel(name)
    return GeminiModel(name) if name.startswith("gemini") else OpenAIModel(name)


def _library(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ModelUnavailable(f"the client for this model is not installed: pip install {package}") from error


def _options(request: ModelRequest, *, max_tokens: str) -> dict[str, Any]:
    options = {max_tokens: request.max_tokens, "temperature": request.temperature}
    return {name: value for name, value in options.items() if value is not None}


def _response(api: Api, name: str, answer: object) -> ModelResponse:
    read = api.answer(answer)
    parts = [part for native in read.natives for part in api.to_message(native)["parts"]]
    return ModelResponse(
        {"role": "assistant", "parts": parts}, read.model or name, read.input_tokens, read.output_tokens,
        read.stop_reason,
    )  # fmt: skip
