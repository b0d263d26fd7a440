"""Models of pydantic-ai's providers, through one adapter: `PydanticAIModel("bedrock:...")`.

pydantic-ai is asked through its functions for direct requests. Where its models call an instrumented client, that
records the call.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from playhead.model.event import TokenUsage
from playhead.model.message import Message, Part, message_text
from playhead.models.api_requests import instructed
from playhead.models.clients import library
from playhead.models.model import Model, ModelChunk, ModelRequest, ModelResponse, chunks_of, stop_reason_of

_PACKAGE = "pydantic-ai-slim"
# What a thought has beside its text, which its provider wants back.
_OF_THOUGHT = ("id", "signature", "provider_name", "provider_details")


class PydanticAIModel(Model):
    """A model that pydantic-ai knows by this name (`provider:model`), or a model object of pydantic-ai.

    A schema of the answer is given as an instruction.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The model's name, without its provider."""
        return self._model.partition(":")[2] or self._model if isinstance(self._model, str) else self._model.model_name

    @property
    def provider(self) -> str:
        """pydantic-ai, which keeps thoughts in a form of its own."""
        return "pydantic-ai"

    @property
    def supports_thinking(self) -> bool:
        """What pydantic-ai says of the model."""
        self._model = library("pydantic_ai.models", _PACKAGE).infer_model(self._model)
        return bool(self._model.profile.get("supports_thinking"))

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`. Raises RuntimeError in a running event loop, where it has to be awaited."""
        return asyncio.run(self.complete_async(request))

    async def complete_async(self, request: ModelRequest) -> ModelResponse:
        """Returns the answer; see `Model`."""
        direct = library("pydantic_ai.direct", _PACKAGE)
        return _response(self, await direct.model_request(self._model, **_arguments(request)))

    def stream(self, request: ModelRequest) -> Iterator[ModelChunk]:
        """Yields the whole answer: pydantic-ai streams to coroutines only."""
        yield from chunks_of(self.complete(request))

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Yields the answer in pieces; see `Model`."""
        direct = library("pydantic_ai.direct", _PACKAGE)
        async with direct.model_request_stream(self._model, **_arguments(request)) as streamed:
            async for event in streamed:
                if (chunk := _chunk(event)) is not None:
                    yield chunk
            yield ModelChunk(response=_response(self, streamed.get()))


def _chunk(event: Any) -> ModelChunk | None:
    part = getattr(event, "part", None) if event.event_kind == "part_start" else getattr(event, "delta", None)
    kind = getattr(part, "part_kind", None) or getattr(part, "part_delta_kind", None)
    text = getattr(part, "content", None) or getattr(part, "content_delta", None)
    if event.event_kind not in ("part_start", "part_delta") or not isinstance(text, str):
        return None
    return ModelChunk(text=text) if kind == "text" else ModelChunk(reasoning=text) if kind == "thinking" else None


# --- requests ---------------------------------------------------------------------------------------------------------


def _arguments(request: ModelRequest) -> dict[str, Any]:
    models, tools = library("pydantic_ai.models", _PACKAGE), library("pydantic_ai.tools", _PACKAGE)
    settings = {"max_tokens": request.max_tokens, "temperature": request.temperature, "top_p": request.top_p}
    settings = {name: value for name, value in settings.items() if value is not None}
    if request.thinking:
        settings["thinking"] = True
    defined = [
        tools.ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
        for tool in request.tools
    ]
    return {
        "messages": _messages(instructed(request)),
        "model_settings": settings or None,
        "model_request_parameters": models.ModelRequestParameters(function_tools=defined, allow_text_output=True),
    }


def _messages(thread: Sequence[Message]) -> list[Any]:
    """Returns the messages as pydantic-ai has them: one request for all that stands between two answers."""
    forms = library("pydantic_ai.messages", _PACKAGE)
    names = {
        part.get("id"): part.get("name")
        for message in thread
        for part in message["parts"]
        if part.get("type") == "tool_call"
    }
    messages: list[Any] = []
    for message in thread:
        if message["role"] == "assistant":
            messages.append(forms.ModelResponse(parts=[*map(_answer_part, message["parts"])]))
            continue
        if not messages or messages[-1].kind == "response":
            messages.append(forms.ModelRequest(parts=[]))
        messages[-1] = forms.ModelRequest(parts=[*messages[-1].parts, *_request_parts(message, names)])
    return messages


def _request_parts(message: Message, names: dict[Any, Any]) -> Iterator[Any]:
    forms = library("pydantic_ai.messages", _PACKAGE)
    if message["role"] == "system":
        yield forms.SystemPromptPart(content=message_text(message))
    elif message["role"] == "tool":
        for part in message["parts"]:
            name, result = names.get(part.get("id")) or "tool", part.get("response")
            yield forms.ToolReturnPart(tool_name=name, content=result, tool_call_id=part.get("id") or "")
    elif all(part.get("type") == "text" for part in message["parts"]):
        yield forms.UserPromptPart(content=message_text(message))
    else:
        yield forms.UserPromptPart(content=[*map(_user_content, message["parts"])])


def _user_content(part: Part) -> Any:
    """Returns a text, a picture or a file of the user. Raises ValueError for what pydantic-ai has no form for."""
    forms = library("pydantic_ai.messages", _PACKAGE)
    match part.get("type"), part.get("modality"):
        case "text", _:
            return str(part.get("content") or "")
        case "blob", _:
            data = base64.b64decode(str(part.get("content") or ""))
            return forms.BinaryContent(data, media_type=str(part.get("mime_type")))
        case "uri", "image" | "audio" | "video" as modality:
            urls = {"image": forms.ImageUrl, "audio": forms.AudioUrl, "video": forms.VideoUrl}
            return urls[modality](str(part.get("uri")))
        case "uri", _:
            return forms.DocumentUrl(str(part.get("uri")))
        case kind, _:
            raise ValueError(
                f"a part {kind!r} of a user's message cannot be sent by pydantic-ai: give its bytes or its URL"
            )


def _answer_part(part: Part) -> Any:
    forms = library("pydantic_ai.messages", _PACKAGE)
    match part.get("type"):
        case "tool_call":
            arguments, call = part.get("arguments"), part.get("id") or ""
            return forms.ToolCallPart(tool_name=part.get("name"), args=arguments, tool_call_id=call)
        case "reasoning":
            extra: dict[str, Any] = part.get("extra") or {}
            kept = {name: extra[name] for name in _OF_THOUGHT if name in extra}
            return forms.ThinkingPart(content=str(part.get("content") or ""), **kept)
        case _:
            return forms.TextPart(content=str(part.get("content") or ""))


# --- answers ----------------------------------------------------------------------------------------------------------


def _response(model: Model, answer: Any) -> ModelResponse:
    parts = [part for native in answer.parts if (part := _part(native)) is not None]
    message: Message = {"role": "assistant", "parts": parts}
    usage = answer.usage
    details: dict[str, Any] = usage.details or {}
    counts = TokenUsage(
        usage.input_tokens or None,
        usage.output_tokens or None,
        usage.cache_read_tokens or None,
        usage.cache_write_tokens or None,
        details.get("reasoning_tokens"),
    )
    reason = answer.finish_reason
    return ModelResponse(
        message, answer.model_name or model.name, counts, stop_reason_of(reason, message), reason, model.provider
    )


def _part(native: Any) -> Part | None:
    match native.part_kind:
        case "text":
            return {"type": "text", "content": native.content}
        case "thinking":
            extra = {name: value for name in _OF_THOUGHT if (value := getattr(native, name, None)) is not None}
            return {"type": "reasoning", "content": native.content, **({"extra": extra} if extra else {})}
        case "tool-call":
            return {
                "type": "tool_call",
                "id": native.tool_call_id,
                "name": native.tool_name,
                "arguments": native.args_as_dict(),
            }
        case _:  # of tools that the provider runs itself
            return None
