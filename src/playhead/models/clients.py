"""Models asked through the providers' clients, which are imported and made with the first question.

An instrumented client (`playhead.instrument()`) records the call; see `recorded` for the others. A client that is made
here is synchronous, and asked in a thread where a coroutine asks: connections of an asynchronous one belong to the
event loop that opened them. For many questions at once, give an asynchronous client of your own.
"""

import inspect
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from playhead.model.message import Message
from playhead.models import api_requests
from playhead.models.apis import ANTHROPIC, CHAT, GEMINI, Api
from playhead.models.model import Model, ModelChunk, ModelRequest, ModelResponse, ModelUnavailable, stop_reason_of
from playhead.models.pieces import Pieces, anthropic_pieces, chat_pieces, gemini_pieces


class ClientModel(Model):
    """What the models of installed clients have in common. Classes say how their client is called.

    `client`: the provider's own, synchronous or asynchronous; None: one made of the environment's variables.
    """

    api: Api
    pieces: Pieces

    def __init__(self, name: str, *, client: Any = None) -> None:
        self._name = name
        self._client = client
        self._is_async = client is not None and hasattr(client, "__aenter__") and not hasattr(client, "__enter__")

    @property
    def name(self) -> str:
        """Its name, as the provider has it."""
        return self._name

    @property
    def provider(self) -> str:
        """The name of the API."""
        return self.api.name

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`. Raises ModelUnavailable if the client is asynchronous."""
        answer = self._call(self._sync_client(), streamed=False)(**self.arguments(request))
        return self._response(request, answer, answer)

    async def complete_async(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        if not self._is_async:
            return await super().complete_async(request)
        answer = await self._call(self._client, streamed=False)(**self.arguments(request))
        return self._response(request, answer, answer)

    def stream(self, request: ModelRequest) -> Iterator[ModelChunk]:
        """Yields the answer in pieces; see `Model`. Raises ModelUnavailable if the client is asynchronous."""
        chunks: list[Any] = []
        for chunk in self._call(self._sync_client(), streamed=True)(**self.streamed_arguments(request)):
            chunks.append(chunk)
            yield from self.pieces(chunk)
        yield ModelChunk(response=self._response(request, chunks, *chunks))

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Yields the answer in pieces; see `Model`."""
        if not self._is_async:
            async for chunk in super().stream_async(request):
                yield chunk
            return
        chunks: list[Any] = []
        made = self._call(self._client, streamed=True)(**self.streamed_arguments(request))
        async for chunk in await made if inspect.isawaitable(made) else made:
            chunks.append(chunk)
            for piece in self.pieces(chunk):
                yield piece
        yield ModelChunk(response=self._response(request, chunks, *chunks))

    # --- what the classes say ---------------------------------------------------------------------------------------

    @abstractmethod
    def arguments(self, request: ModelRequest) -> dict[str, Any]:
        """Returns the arguments of the client's method."""

    def streamed_arguments(self, request: ModelRequest) -> dict[str, Any]:
        """Returns the arguments for a streamed answer."""
        return {**self.arguments(request), "stream": True}

    @abstractmethod
    def _make_client(self) -> Any:
        """Makes a synchronous client. Raises ModelUnavailable."""

    @abstractmethod
    def _call(self, client: Any, *, streamed: bool) -> Callable[..., Any]:
        """Returns the client's method."""

    @abstractmethod
    def _reason(self, answer: Any) -> str | None:
        """Returns the provider's word for the end of an answer, or of a chunk; None: it has none."""

    # --- inside -----------------------------------------------------------------------------------------------------

    def _sync_client(self) -> Any:
        if self._is_async:
            raise ModelUnavailable(
                f"{type(self).__name__}({self.name!r}) has an asynchronous client, and is asked without await: give it "
                "a synchronous client, or use the asynchronous functions"
            )
        self._client = self._client or self._make_client()
        return self._client

    def _response(self, request: ModelRequest, answer: Any, *chunks: Any) -> ModelResponse:
        read = self.api.answer(answer)
        parts = [part for native in read.natives for part in self.api.to_message(native)["parts"]]
        for place, part in enumerate(parts):
            if part.get("type") == "tool_call" and not part.get("id"):  # of Gemini; results are matched by it
                part["id"] = _new_id(request.messages, place)
        message: Message = {"role": "assistant", "parts": parts}
        reason = next((found for chunk in reversed(chunks) if (found := self._reason(chunk)) is not None), None)
        model = read.model or request.model or self.name
        stopped = stop_reason_of(reason, message)
        return ModelResponse(message, model, read.usage, stopped, reason, self.provider, read.reasoning)


def _new_id(messages: Sequence[Message], place: int) -> str:
    """Returns an id for the tool call at this place of the answer: the same in a resumed run, and none that the
    messages have. (Their number is not enough: a compressed context grows to it again.)"""
    taken = {part.get("id") for message in messages for part in message["parts"]}
    number = len(messages)
    while (made := f"call_{number}_{place}") in taken:
        number += 1
    return made


class OpenAIModel(ClientModel):
    """A model of OpenAI's Chat Completions, or of a server that has this API. `client`: an `openai.OpenAI` or
    `openai.AsyncOpenAI`; None: one made of the environment's variables."""

    api = CHAT
    pieces = staticmethod(chat_pieces)

    @property
    def supports_thinking(self) -> bool:
        """Whether the model reasons before it answers; Chat Completions does not say what it thought."""
        return api_requests.is_openai_reasoner(self.name)

    def arguments(self, request: ModelRequest) -> dict[str, Any]:
        """Returns the arguments of `chat.completions.create`."""
        return api_requests.chat_arguments(request, request.model or self.name, max_tokens="max_completion_tokens")

    def streamed_arguments(self, request: ModelRequest) -> dict[str, Any]:
        """The same for a stream, which reports its usage only when it is asked to."""
        return {**self.arguments(request), "stream": True, "stream_options": {"include_usage": True}}

    def _make_client(self) -> Any:
        return library("openai", "openai").OpenAI()

    def _call(self, client: Any, *, streamed: bool) -> Callable[..., Any]:
        return client.chat.completions.create

    def _reason(self, answer: Any) -> str | None:
        return answer.choices[0].finish_reason if answer.choices else None


class LiteLLMModel(OpenAIModel):
    """A model that LiteLLM knows by this name (`provider/model`). `options` are passed to `litellm.completion`.

    `router`: a `litellm.Router` that is called instead; `name` is then one of its groups. A call with all of the
    router's own retries and fallbacks is one recorded call, which names the model that answered."""

    def __init__(self, name: str, *, router: Any = None, **options: Any) -> None:
        super().__init__(name)
        self._router = router
        self._options = options

    @property
    def provider(self) -> str:
        """LiteLLM, which has the thoughts of all providers in a form of its own."""
        return "litellm"

    @property
    def supports_thinking(self) -> bool:
        """What LiteLLM's table says of the model; False for a group of a router."""
        return self._router is None and bool(library("litellm", "litellm").supports_reasoning(model=self.name))

    def arguments(self, request: ModelRequest) -> dict[str, Any]:
        """Returns the arguments of `litellm.completion`."""
        arguments = api_requests.chat_arguments(request, request.model or self.name, max_tokens="max_tokens")
        if request.thinking and request.temperature is None:  # Claude refuses both together
            arguments["reasoning_effort"] = "medium"
        return {**arguments, **self._options}

    async def complete_async(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        answer = await self._make_client().acompletion(**self.arguments(request))
        return self._response(request, answer, answer)

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Yields the answer in pieces; see `Model`."""
        chunks: list[Any] = []
        async for chunk in await self._make_client().acompletion(**self.streamed_arguments(request)):
            chunks.append(chunk)
            for piece in self.pieces(chunk):
                yield piece
        yield ModelChunk(response=self._response(request, chunks, *chunks))

    def _make_client(self) -> Any:
        return library("litellm", "litellm") if self._router is None else self._router

    def _call(self, client: Any, *, streamed: bool) -> Callable[..., Any]:
        return client.completion


class AnthropicModel(ClientModel):
    """A model of Anthropic's Messages. `client`: an `anthropic.Anthropic` or `anthropic.AsyncAnthropic`; None: one made
    of the environment's variables."""

    api = ANTHROPIC
    pieces = staticmethod(anthropic_pieces)

    @property
    def supports_thinking(self) -> bool:
        """Whether the model has extended or adaptive thinking: from Claude 3.7 on."""
        return api_requests.claude_thinking(self.name) is not None

    def arguments(self, request: ModelRequest) -> dict[str, Any]:
        """Returns the arguments of `messages.create`."""
        return api_requests.anthropic_arguments(request, request.model or self.name)

    def _make_client(self) -> Any:
        return library("anthropic", "anthropic").Anthropic()

    def _call(self, client: Any, *, streamed: bool) -> Callable[..., Any]:
        return client.messages.create

    def _reason(self, answer: Any) -> str | None:
        found = getattr(getattr(answer, "delta", answer), "stop_reason", None)
        return found if isinstance(found, str) else None


class GeminiModel(ClientModel):
    """A model of Google's Gemini. `client`: a `google.genai.Client`, or its `aio`; None: one made of the environment's
    variables."""

    api = GEMINI
    pieces = staticmethod(gemini_pieces)

    def __init__(self, name: str, *, client: Any = None) -> None:
        super().__init__(name, client=client)
        self._is_async = client is not None and not hasattr(client, "aio")

    @property
    def supports_thinking(self) -> bool:
        """Whether the model thinks: from Gemini 2.5 on."""
        return api_requests.gemini_thinks(self.name)

    def arguments(self, request: ModelRequest) -> dict[str, Any]:
        """Returns the arguments of `models.generate_content`."""
        return api_requests.gemini_arguments(request, request.model or self.name)

    def streamed_arguments(self, request: ModelRequest) -> dict[str, Any]:
        """The same: a stream is another method."""
        return self.arguments(request)

    def _make_client(self) -> Any:
        return library("google.genai", "google-genai").Client()

    def _call(self, client: Any, *, streamed: bool) -> Callable[..., Any]:
        return client.models.generate_content_stream if streamed else client.models.generate_content

    def _reason(self, answer: Any) -> str | None:
        reason = answer.candidates[0].finish_reason if answer.candidates else None
        return None if reason is None else str(getattr(reason, "value", reason))


def named(name: str) -> Model:
    """Returns the model of this name: Claude and Gemini of their providers, `provider/model` of LiteLLM, any other of
    OpenAI."""
    if "/" in name:
        return LiteLLMModel(name)
    if name.startswith("claude"):
        return AnthropicModel(name)
    return GeminiModel(name) if name.startswith("gemini") else OpenAIModel(name)


def library(module: str, package: str) -> Any:
    """Imports the client's library. Raises ModelUnavailable if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ModelUnavailable(f"the client for this model is not installed: pip install {package}") from error
