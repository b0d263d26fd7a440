"""HTTP body → [bedrock_invoke] → HTTP response.  `InvokeModel` of Amazon Bedrock: the APIs of invoked models.

The paths are `POST /model/MODEL/invoke` and `.../invoke-with-response-stream`. The body has the form of the invoked
model's own API, which `api_of` finds by the form of the request. Embeddings of Titan and Cohere are answered here, too.
Pure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import orjson

from playhead.capture.anthropic.messages import events_of
from playhead.capture.botocore.streams import event_frame
from playhead.dialect import bedrock, openai_chat
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response, in_pieces, json_response
from playhead.testing.protocols import bedrock_converse
from playhead.testing.protocols.anthropic import MessagesRequest, message_object
from playhead.testing.protocols.bedrock_converse import access_key, check_converse_messages, path_parts
from playhead.testing.protocols.openai_chat import deltas, usage_object
from playhead.testing.protocols.openai_embeddings import DIMENSIONS, vector
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, check_messages, json_object, text_of

# --- the APIs of the models -------------------------------------------------------------------------------------------

_METRICS_KEY = "amazon-bedrock-invocationMetrics"


class InvokedModel(Protocol):
    """One API of invoked models."""

    def messages(self, body: JsonObject) -> list[JsonObject]:
        """Returns the request's messages in the form of Chat Completions. Raises InvalidRequest."""
        ...

    def answer(self, completion: Completion) -> JsonObject:
        """Returns the body of the answer."""
        ...

    def chunks(self, completion: Completion, piece_characters: int) -> Iterator[JsonObject]:
        """Yields the chunks of a streamed answer, without the metrics that Bedrock adds to the last one."""
        ...


def api_of(model: str, body: JsonObject) -> InvokedModel | None:
    """Returns the API that the request is for; None if it is not known here."""
    if isinstance(body.get("messages"), list):
        if "anthropic_version" in body:
            return _InvokedAnthropic(model, body)
        return _NOVA if "amazon.nova" in model or "schemaVersion" in body or "inferenceConfig" in body else _CHAT
    key = next((key for key in ("prompt", "inputText", "message") if isinstance(body.get(key), str)), None)
    return None if key is None else _TextModel(key, model)


def with_metrics(chunk: JsonObject, completion: Completion) -> JsonObject:
    """Returns the last chunk of a stream with the metrics that Bedrock adds."""
    counts = {"inputTokenCount": completion.usage.input, "outputTokenCount": completion.usage.output}
    return {**chunk, _METRICS_KEY: {**counts, "invocationLatency": 1, "firstByteLatency": 1}}


class _InvokedAnthropic:
    """Anthropic's Messages; the model is named in the path."""

    def __init__(self, model: str, body: JsonObject) -> None:
        self._request = MessagesRequest(0, {**body, "model": model})

    def messages(self, body: JsonObject) -> list[JsonObject]:
        self._request.check()
        return self._request.messages

    def answer(self, completion: Completion) -> JsonObject:
        return message_object(completion, self._request)

    def chunks(self, completion: Completion, piece_characters: int) -> Iterator[JsonObject]:
        yield from events_of(message_object(completion, self._request), piece_characters)


class _NovaModel:
    """The API of Amazon Nova, which is like Converse."""

    def messages(self, body: JsonObject) -> list[JsonObject]:
        check_converse_messages(body)
        return openai_chat.from_messages(
            map(bedrock.to_message, bedrock.split_turns(body["messages"], body.get("system")))
        )

    def answer(self, completion: Completion) -> JsonObject:
        return {name: value for name, value in bedrock_converse.answer_body(completion).items() if name != "metrics"}

    def chunks(self, completion: Completion, piece_characters: int) -> Iterator[JsonObject]:
        for name, body in bedrock_converse.events_of(completion, piece_characters):
            yield {name: {key: value for key, value in body.items() if key != "metrics"}}


class _ChatModel:
    """An API like Chat Completions."""

    def messages(self, body: JsonObject) -> list[JsonObject]:
        return check_messages(body["messages"])

    def answer(self, completion: Completion) -> JsonObject:
        choice = {"index": 0, "message": completion.messages[0], "finish_reason": completion.finish_reasons[0]}
        return {**self._about(completion), "choices": [choice], "usage": usage_object(completion.usage)}

    def chunks(self, completion: Completion, piece_characters: int) -> Iterator[JsonObject]:
        about = self._about(completion)
        for delta in deltas(completion.messages[0], piece_characters):
            yield {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": completion.finish_reasons[0]}]}

    def _about(self, completion: Completion) -> JsonObject:
        return {"id": completion.number, "created": completion.created, "model": completion.model}


class _TextModel:
    """APIs with a text as input and a text as answer: `prompt` of Llama, Mistral and Cohere, `inputText` of Titan,
    `message` of Cohere."""

    def __init__(self, key: str, model: str) -> None:
        self._key = key
        self._family = next((name for name in ("mistral", "cohere", "titan") if f"{name}" in model), "llama")

    def messages(self, body: JsonObject) -> list[JsonObject]:
        history: list[JsonObject] = body.get("chat_history") or []
        earlier = [
            {"role": _COHERE_ROLES.get(str(entry.get("role")), "user"), "content": entry.get("message")}
            for entry in history
        ]
        return [*earlier, {"role": "user", "content": body[self._key]}]

    def answer(self, completion: Completion) -> JsonObject:
        return self._response_body(text_of(completion.messages[0]), completion, completion.finish_reasons[0])

    def chunks(self, completion: Completion, piece_characters: int) -> Iterator[JsonObject]:
        for piece in in_pieces(text_of(completion.messages[0]), piece_characters):
            yield self._response_body(piece, completion, None)
        yield self._response_body("", completion, completion.finish_reasons[0])

    def _response_body(self, text: str, completion: Completion, reason: str | None) -> JsonObject:
        usage = completion.usage
        match self._family, self._key:
            case "mistral", _:
                return {"outputs": [{"text": text, "stop_reason": reason}]}
            case "cohere", "message":
                return {"text": text, "finish_reason": reason and "COMPLETE", "generation_id": completion.number}
            case "cohere", _:
                return {"generations": [{"text": text, "finish_reason": reason and "COMPLETE"}]}
            case "titan", _:
                result = {"outputText": text, "completionReason": reason and "FINISH", "tokenCount": usage.output}
                return {"inputTextTokenCount": usage.input, "results": [result]}
            case _:
                counts = {"prompt_token_count": usage.input, "generation_token_count": usage.output}
                return {"generation": text, **counts, "stop_reason": reason}


_COHERE_ROLES = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}
_NOVA, _CHAT = _NovaModel(), _ChatModel()


# --- the protocol -----------------------------------------------------------------------------------------------------

_OPERATIONS = {"invoke": False, "invoke-with-response-stream": True}


@dataclass(frozen=True)
class InvokeRequest(ChatRequest):
    """A request of an invoked model. The path names the model, and says whether the answer is streamed."""

    path_model: str = ""
    is_streamed: bool = False

    @property
    def model(self) -> str:
        return self.path_model

    @property
    def stream(self) -> bool:
        return self.is_streamed

    @property
    def choices(self) -> int:
        return 1

    @property
    def wants_thinking(self) -> bool:
        thinking: JsonObject = self.body.get("thinking") or {}
        return "anthropic_version" not in self.body or thinking.get("type") in ("enabled", "adaptive")

    @property
    def trajectory(self) -> str | None:
        return None

    @property
    def api(self) -> InvokedModel | None:
        """The model's API; None for embeddings."""
        return None if self.is_embedding else api_of(self.path_model, self.body)

    @property
    def is_embedding(self) -> bool:
        return "embed" in self.path_model

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @cached_property
    def _messages(self) -> list[JsonObject]:
        api = self.api
        if api is None:
            return [{"role": "user", "content": text} for text in texts_of(self.body)]
        return api.messages(self.body)


class BedrockInvoke:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path_parts(path)[1] in _OPERATIONS

    def api_key(self, incoming: Incoming) -> str | None:
        return access_key(incoming)

    def read(self, number: int, incoming: Incoming) -> InvokeRequest:
        model, operation = path_parts(incoming.path)
        request = InvokeRequest(number, json_object(incoming.body), incoming.headers, model, _OPERATIONS[operation])
        if request.api is None and not texts_of(request.body):
            raise InvalidRequest("Malformed input request: this model's API is not known here.")
        assert request.messages  # noqa: S101 - reading them raises InvalidRequest if they are invalid
        return request

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, InvokeRequest)  # noqa: S101 - made by `read`
        api = request.api
        if api is None:
            return json_response(_embeddings_body(request), headers=bedrock_converse.request_id(completion))
        if not request.stream:
            counts = {
                "x-amzn-bedrock-input-token-count": str(completion.usage.input),
                "x-amzn-bedrock-output-token-count": str(completion.usage.output),
            }
            return json_response(api.answer(completion), headers=bedrock_converse.request_id(completion) | counts)
        chunks = list(api.chunks(completion, piece_characters))
        chunks[-1] = with_metrics(chunks[-1], completion)
        frames = [event_frame("chunk", {"bytes": base64.b64encode(orjson.dumps(chunk)).decode()}) for chunk in chunks]
        return Response(200, frames, bedrock_converse.EVENT_STREAM, bedrock_converse.request_id(completion))

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return bedrock_converse.error_response(failed)


def texts_of(body: JsonObject) -> list[str]:
    """Returns the texts in a request for embeddings."""
    value: Any = body.get("inputText") or body.get("texts") or []
    return [value] if isinstance(value, str) else [str(item) for item in value]


def _embeddings_body(request: InvokeRequest) -> JsonObject:
    texts, dimensions = texts_of(request.body), request.body.get("dimensions") or DIMENSIONS
    vectors = [vector(text, dimensions) for text in texts]
    if "texts" in request.body:
        return {"id": str(request.number), "texts": texts, "embeddings": vectors, "response_type": "embeddings_floats"}
    return {"embedding": vectors[0], "inputTextTokenCount": request.prompt_tokens}
