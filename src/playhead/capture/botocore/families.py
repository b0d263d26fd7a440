"""Reads and writes the APIs of models behind InvokeModel: Anthropic's, Nova's (as Converse), Chat Completions, one
text, embeddings.

The API is recognized by the form of the request: the model id alone does not tell, since it may be the name of a
profile.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from playhead.capture.anthropic import outcome
from playhead.capture.anthropic import reading as messages_api
from playhead.capture.anthropic.events import whole_message
from playhead.capture.botocore import converse
from playhead.capture.botocore.converse_events import events_of, whole_answer
from playhead.capture.botocore.texts import OneText
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.dialect import bedrock, openai_chat
from playhead.errors import CannotRestore
from playhead.model import names

_METRICS = "amazon-bedrock-invocationMetrics"
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "max_completion_tokens": names.REQUEST_MAX_TOKENS,
}
_USAGE = {"prompt_tokens": names.INPUT_TOKENS, "completion_tokens": names.OUTPUT_TOKENS}


class Family(Protocol):
    """One API.  Requests, answers and chunks are JSON objects."""

    def read_request(self, model: str, body: dict[str, Any]) -> ModelRequest:
        """Reads the request."""
        ...

    def whole(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Joins the chunks of a stream to one answer, as far as they were received."""
        ...

    def read_answer(self, answer: Mapping[str, Any], raw: Any) -> ModelResponse:
        """Reads the answer; `raw` is its recorded form."""
        ...

    def with_message(self, recorded: Sequence[Any], message: Any, *, streamed: bool) -> list[Any]:
        """Returns the answer, or the chunks, with this message.  `recorded`: those recorded.  Raises CannotRestore."""
        ...

    def with_messages(self, body: dict[str, Any], messages: Sequence[Any]) -> dict[str, Any] | None:
        """Returns the request with other messages; None if it cannot be edited."""
        ...


def family_of(model: str, body: Mapping[str, Any] | None) -> Family | None:
    """Returns the API that the request uses; None if it is unknown."""
    if body is None:
        return None
    if "embed" in model or ("texts" in body and "input_type" in body):
        return _EMBEDDINGS
    messages = body.get("messages")
    if isinstance(messages, list):
        if "anthropic_version" in body:
            return _ANTHROPIC
        return _NOVA if _is_nova(model, body) else _CHAT
    return OneText.of(body)


def _is_nova(model: str, body: Mapping[str, Any]) -> bool:
    return "amazon.nova" in model or "schemaVersion" in body or "inferenceConfig" in body


class _Anthropic:
    """Anthropic's Messages.  Model and streaming are parameters of the client, and not in the body."""

    def read_request(self, model: str, body: dict[str, Any]) -> ModelRequest:
        request = messages_api.read_request(None, body)
        request.provider, request.model = converse.PROVIDER, model
        return request

    def whole(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return whole_message([{name: value for name, value in chunk.items() if name != _METRICS} for chunk in chunks])

    def read_answer(self, answer: Mapping[str, Any], raw: Any) -> ModelResponse:
        response = messages_api.read_recorded(dict(answer), cast(Any, None), {})
        return ModelResponse(response.messages, raw, response.reasoning, response.attributes)

    def with_message(self, recorded: Sequence[Any], message: Any, *, streamed: bool) -> list[Any]:
        recorded_answer: Any = None
        if recorded:
            recorded_answer = {"stream": list(recorded)} if recorded[0].get("type") == "message_start" else recorded[0]
        answer = outcome.with_message(recorded_answer, message, model="", streamed=streamed)
        return answer["stream"] if streamed else [answer]

    def with_messages(self, body: dict[str, Any], messages: Sequence[Any]) -> dict[str, Any] | None:
        return messages_api.with_edit(body, list(messages))


class _Nova:
    """Amazon Nova's API: requests, answers and the events of streams are those of Converse."""

    def read_request(self, model: str, body: dict[str, Any]) -> ModelRequest:
        return converse.request_of(model, body, streamed=False)

    def whole(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return whole_answer([{name: value for name, value in chunk.items() if name != _METRICS} for chunk in chunks])

    def read_answer(self, answer: Mapping[str, Any], raw: Any) -> ModelResponse:
        return converse.response_of(answer, raw)

    def with_message(self, recorded: Sequence[Any], message: Any, *, streamed: bool) -> list[Any]:
        answer = converse.with_message(None, message, streamed=False)["body"]
        return events_of(answer) if streamed else [answer]

    def with_messages(self, body: dict[str, Any], messages: Sequence[Any]) -> dict[str, Any] | None:
        as_blocks = [
            {**native, "content": [{"text": native["content"]}]} if isinstance(native.get("content"), str) else native
            for native in messages
        ]
        system, joined = bedrock.join_turns(as_blocks)
        changed = {name: value for name, value in body.items() if name != "system"} | {"messages": joined}
        return changed if system is None else {**changed, "system": system}


class _Chat:
    """APIs like Chat Completions: Mistral's, OpenAI's open models, DeepSeek's, Qwen's."""

    def read_request(self, model: str, body: dict[str, Any]) -> ModelRequest:
        settings = {name: value for name, value in body.items() if name not in ("messages", "tools")}
        attributes = {to: body[name] for name, to in _REQUEST_ATTRIBUTES.items() if body.get(name) is not None}
        return ModelRequest(
            provider=converse.PROVIDER,
            operation="chat",
            model=model,
            messages=body["messages"],
            to_message=openai_chat.to_message,
            from_message=openai_chat.from_message,
            tools=body.get("tools"),
            settings=settings,
            attributes=attributes,
        )

    def whole(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Joins texts and arguments of tool calls.  Mistral's chunks have a `message` where others have a `delta`."""
        choice: dict[str, Any] = {"message": {"role": "assistant"}}
        answer: dict[str, Any] = {}
        for chunk in chunks:
            answer |= {name: value for name, value in chunk.items() if name not in ("choices", _METRICS)}
            for piece in chunk.get("choices") or ():
                delta = cast("Mapping[str, Any]", piece.get("delta") or piece.get("message") or {})
                _add(choice["message"], delta)
                choice |= {name: piece[name] for name in ("finish_reason", "stop_reason") if piece.get(name)}
        return {**answer, "choices": [choice]}

    def read_answer(self, answer: Mapping[str, Any], raw: Any) -> ModelResponse:
        read = [openai_chat.output_message(choice.get("message") or {}) for choice in answer.get("choices") or ()]
        reasonings = [reasoning for _, reasoning in read if reasoning is not None]
        reasons = [choice.get("finish_reason") or choice.get("stop_reason") for choice in answer.get("choices") or ()]
        usage: Mapping[str, Any] = answer.get("usage") or {}
        attributes: dict[str, Any] = {to: usage[name] for name, to in _USAGE.items() if name in usage}
        if any(reasons):
            attributes[names.FINISH_REASONS] = [str(reason) for reason in reasons]
        if model := answer.get("model"):
            attributes[names.RESPONSE_MODEL] = model
        return ModelResponse([message for message, _ in read], raw, reasonings[0] if reasonings else None, attributes)

    def with_message(self, recorded: Sequence[Any], message: Any, *, streamed: bool) -> list[Any]:
        fields = {"content": message} if isinstance(message, str) else dict(message)
        native = {"role": "assistant", **fields}
        about: dict[str, Any] = {} if not recorded else {**recorded[0]}
        choice: dict[str, Any] = {**((about.get("choices") or [{}])[0]), "index": 0}
        key = "delta" if streamed and "message" not in choice else "message"
        reason = "stop_reason" if "stop_reason" in choice else "finish_reason"
        choice = {**choice, key: native, reason: "tool_calls" if native.get("tool_calls") else "stop"}
        return [{**{name: value for name, value in about.items() if name != _METRICS}, "choices": [choice]}]

    def with_messages(self, body: dict[str, Any], messages: Sequence[Any]) -> dict[str, Any] | None:
        return {**body, "messages": list(messages)}


def _add(message: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for name, value in piece.items():
        if name == "tool_calls" and isinstance(value, list):
            calls: list[Any] = message.setdefault("tool_calls", [])
            for call in cast("list[dict[str, Any]]", value):
                _add_call(calls, call)
        elif isinstance(value, str) and name != "role":
            message[name] = (message.get(name) or "") + value
        elif value is not None:
            message[name] = value


def _add_call(calls: list[Any], piece: dict[str, Any]) -> None:
    index = piece.get("index")
    entry = next((call for call in calls if index is not None and call.get("index") == index), None)
    if entry is None:
        calls.append({**piece, "function": dict(piece.get("function") or {})})
        return
    function: dict[str, Any] = piece.get("function") or {}
    entry["function"]["arguments"] = (entry["function"].get("arguments") or "") + (function.get("arguments") or "")


class _Embeddings:
    """Titan's and Cohere's embeddings."""

    def read_request(self, model: str, body: dict[str, Any]) -> ModelRequest:
        key = next((name for name in ("inputText", "texts", "inputs", "inputImage", "images") if name in body), None)
        inputs = body[key] if key is not None else body
        settings = {name: value for name, value in body.items() if name != key}
        dimensions = body.get("dimensions") or body.get("output_dimension")
        attributes = {} if dimensions is None else {names.EMBEDDING_DIMENSIONS: dimensions}
        return ModelRequest.of_embeddings(converse.PROVIDER, model, inputs, settings=settings, attributes=attributes)

    def whole(self, chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return dict(chunks[0]) if chunks else {}

    def read_answer(self, answer: Mapping[str, Any], raw: Any) -> ModelResponse:
        count = answer.get("inputTextTokenCount")
        return ModelResponse([], raw, attributes={} if count is None else {names.INPUT_TOKENS: count})

    def with_message(self, recorded: Sequence[Any], message: Any, *, streamed: bool) -> list[Any]:
        raise CannotRestore('an embedding has no message: give the outcome as {"result": ...} or {"error": ...}')

    def with_messages(self, body: dict[str, Any], messages: Sequence[Any]) -> dict[str, Any] | None:
        return None


_ANTHROPIC, _NOVA, _CHAT, _EMBEDDINGS = _Anthropic(), _Nova(), _Chat(), _Embeddings()
