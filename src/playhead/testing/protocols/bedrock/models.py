"""completion → [models]. The APIs of invoked models, as JSON values: requests, answers, chunks of streams.

Pure. The form of a request shows which API it is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from playhead.capture.anthropic.messages import events_of
from playhead.dialect import bedrock, openai_chat
from playhead.testing.completion import Completion
from playhead.testing.http_response import in_pieces
from playhead.testing.protocols.anthropic_messages.request import MessagesRequest
from playhead.testing.protocols.anthropic_messages.wire import message_object
from playhead.testing.protocols.bedrock import wire
from playhead.testing.protocols.bedrock.request import check_converse_messages
from playhead.testing.protocols.openai_chat.wire import deltas, usage_object
from playhead.testing.request import JsonObject, check_messages, text_of

_METRICS = "amazon-bedrock-invocationMetrics"


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
            return _AnthropicAnswers(model, body)
        return _NOVA if "amazon.nova" in model or "schemaVersion" in body or "inferenceConfig" in body else _CHAT
    key = next((key for key in ("prompt", "inputText", "message") if isinstance(body.get(key), str)), None)
    return None if key is None else _TextAnswers(key, model)


def with_metrics(chunk: JsonObject, completion: Completion) -> JsonObject:
    """Returns the last chunk of a stream with the metrics that Bedrock adds."""
    counts = {"inputTokenCount": completion.usage.input, "outputTokenCount": completion.usage.output}
    return {**chunk, _METRICS: {**counts, "invocationLatency": 1, "firstByteLatency": 1}}


class _AnthropicAnswers:
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


class _NovaAnswers:
    """The API of Amazon Nova, which is like Converse."""

    def messages(self, body: JsonObject) -> list[JsonObject]:
        check_converse_messages(body)
        return openai_chat.from_messages(
            map(bedrock.to_message, bedrock.cut_turns(body["messages"], body.get("system")))
        )

    def answer(self, completion: Completion) -> JsonObject:
        return {name: value for name, value in wire.answer_body(completion).items() if name != "metrics"}

    def chunks(self, completion: Completion, piece_characters: int) -> Iterator[JsonObject]:
        for name, body in wire.events_of(completion, piece_characters):
            yield {name: {key: value for key, value in body.items() if key != "metrics"}}


class _ChatAnswers:
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


class _TextAnswers:
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
        return self._said(text_of(completion.messages[0]), completion, completion.finish_reasons[0])

    def chunks(self, completion: Completion, piece_characters: int) -> Iterator[JsonObject]:
        for piece in in_pieces(text_of(completion.messages[0]), piece_characters):
            yield self._said(piece, completion, None)
        yield self._said("", completion, completion.finish_reasons[0])

    def _said(self, text: str, completion: Completion, reason: str | None) -> JsonObject:
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
_NOVA, _CHAT = _NovaAnswers(), _ChatAnswers()
