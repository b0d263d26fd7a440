"""pydantic-ai's models: recorded if no instrumented client inside them records the call (`FunctionModel`, `TestModel`,
models of users and of unknown providers). Their messages are converted to the form of Chat Completions, and back.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any

from playhead.capture.frameworks.chat import chat_request, chat_response
from playhead.capture.frameworks.model_calls import FrameworkModelApi, FrameworkModelCall, observing_model_async
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.patching import WrapSubclasses
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.dialect.parts import write_arguments
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    list_at,
    object_at,
    object_of,
    objects_at,
    objects_of,
    text_at,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequestPart,
        ModelResponsePart,
        ModelResponseStreamEvent,
        UserContent,
    )
    from pydantic_ai.messages import ModelResponse as Answer
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.tools import ToolDefinition

# --- calls ------------------------------------------------------------------------------------------------------------

_ORDERED = "$ordered"
_FINISH_REASONS = {"tool_call": "tool_calls"}


_POSITIONS = ("messages", "model_settings", "model_request_parameters", "run_context")


def _read_request(call: MethodCall) -> ObservedRequest:
    arguments = call.arguments(*_POSITIONS)
    model: Model = call.client
    parameters: ModelRequestParameters = arguments["model_request_parameters"]
    settings = dict(object_at(arguments, "model_settings"))
    if call.method == "request_stream":
        settings["stream"] = True
    if parameters.output_mode != "text":
        settings["output_mode"] = parameters.output_mode
    return chat_request(
        model,
        provider=str(model.system),
        model_name=str(model.model_name),
        messages=chat_messages(arguments["messages"]),
        tools=[_definition(tool) for tool in (*parameters.function_tools, *parameters.output_tools)],
        settings=settings,
    )


def _definition(tool: "ToolDefinition") -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": function}


def _with_messages(call: MethodCall, messages: list[JsonValue]) -> MethodCall:
    arguments = call.arguments(*_POSITIONS)
    arguments["messages"] = model_messages(objects_of(messages), arguments["messages"])
    return MethodCall(call.client, call.method, (), arguments, call.is_async)


def _dump_answer(response: "Answer") -> Json:
    from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - imported by the program

    raw = object_of(ModelMessagesTypeAdapter.dump_python([response], mode="json", warnings=False)[0])
    # As texts: the record does not keep the order of keys, and a model must get its arguments back in its own order.
    raw["parts"] = [
        {**part, "args": {_ORDERED: json.dumps(part["args"])}} if isinstance(part.get("args"), dict) else part
        for part in objects_at(raw, "parts")
    ]
    return raw


def _load_answer(raw: JsonValue) -> "Answer":
    from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - as above

    parts = [
        part
        if (ordered := text_at(part.get("args"), _ORDERED, None)) is None
        else {**part, "args": json.loads(ordered)}
        for part in objects_at(raw, "parts")
    ]
    answers: list[Any] = ModelMessagesTypeAdapter.validate_python([{**object_of(raw), "parts": parts}])
    return answers[0]


def _read_answer(raw: JsonValue) -> ObservedResponse:
    response = _load_answer(raw)
    usage, reason = response.usage, response.finish_reason
    details = usage.details or {}
    counts = {
        names.INPUT_TOKENS: usage.input_tokens or None,
        names.OUTPUT_TOKENS: usage.output_tokens or None,
        names.CACHE_READ_TOKENS: usage.cache_read_tokens or None,
        names.CACHE_WRITE_TOKENS: usage.cache_write_tokens or None,
        names.REASONING_TOKENS: details.get("reasoning_tokens"),
        names.AUDIO_INPUT_TOKENS: usage.input_audio_tokens or None,
        names.AUDIO_OUTPUT_TOKENS: usage.output_audio_tokens or None,
    }
    return chat_response(
        raw,
        chat_messages([response])[0],
        usage=counts,
        finish_reason=None if reason is None else _FINISH_REASONS.get(reason, reason),
        model_name=response.model_name,
        response_id=response.provider_response_id,
    )


_WHOLE = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=_dump_answer,
    load=_load_answer,
    read=_read_answer,
    from_message=lambda message, call: _dump_answer(response_of(message)),
)


# --- streams: a block with an iterable of events in it ----------------------------------------------------------------


def _load_stream(raw: JsonValue) -> "tuple[Answer, list[ModelResponseStreamEvent]]":
    events = _events_adapter().validate_python(list_at(raw, "stream"))
    return _load_answer(object_at(raw, "response")), events


def _events_adapter() -> "TypeAdapter[list[ModelResponseStreamEvent]]":
    from pydantic import TypeAdapter  # noqa: PLC0415 - as above
    from pydantic_ai.messages import ModelResponseStreamEvent  # noqa: PLC0415 - as above

    return TypeAdapter(list[ModelResponseStreamEvent])


def _read_stream(raw: JsonValue) -> ObservedResponse:
    read = _read_answer(object_at(raw, "response"))
    return ObservedResponse(read.messages, raw, read.reasoning, read.attributes)


def _stream_of(message: JsonMapping, _call: MethodCall) -> Json:
    from pydantic_ai.messages import PartStartEvent  # noqa: PLC0415 - as above

    response = response_of(message)
    events: list[Any] = [PartStartEvent(index=index, part=part) for index, part in enumerate(response.parts)]
    return {"stream": _events_adapter().dump_python(events, mode="json"), "response": _dump_answer(response)}


_STREAMED = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=lambda raw: raw,
    load=_load_stream,
    read=_read_stream,
    from_message=_stream_of,
)


class _ObservedStreamBlock:
    """Records the stream that is open inside the context manager of `request_stream`."""

    def __init__(
        self, function: "Callable[..., AbstractAsyncContextManager[StreamedResponse, bool | None]]", call: MethodCall
    ):
        self._function = function
        self._recording = FrameworkModelCall(_STREAMED, call)
        self._block: AbstractAsyncContextManager[StreamedResponse, bool | None] | None = None
        self._response: StreamedResponse | None = None
        self._events: list[JsonValue] = []
        self._is_whole = False

    async def __aenter__(self) -> "StreamedResponse":
        recording = self._recording
        recording.begin()
        if recording.has_answer:
            return _recorded_stream(recording.answer(), recording.call)
        call = recording.call
        try:
            with recording.current():
                self._block = block = call.make(self._function)
                response = await block.__aenter__()
        except BaseException as error:
            recording.fail(error)
            raise
        self._watch(response)
        return response

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._block is None:
            return None
        try:
            with self._recording.current():
                handled = await self._block.__aexit__(kind, raised, trace)
        except BaseException as error:
            self._recording.fail(error, self._raw)
            raise
        if raised is not None and not handled and isinstance(raised, Exception):
            self._recording.fail(raised, self._raw)
        else:
            self._recording.end_raw(self._raw, aborted=not self._is_whole)
        return handled

    def _watch(self, response: Any) -> None:
        """Records the events of the model class; the framework's own part of the stream is not changed."""
        with guarded("record a stream of pydantic-ai"):  # another version
            self._response, events = response, response._get_event_iterator
            response._get_event_iterator = lambda: self._watched(events())

    async def _watched(self, events: Any) -> "AsyncIterator[ModelResponseStreamEvent]":
        try:
            while True:
                with self._recording.current():
                    event = await anext(events, None)
                if event is None:
                    break
                self._recording.note_first_chunk()
                self._keep(event)
                yield event
            self._is_whole = True
        finally:
            await events.aclose()

    def _keep(self, event: "ModelResponseStreamEvent") -> None:
        if self._recording.observed is None:
            return
        with guarded("record an event of a stream"):  # now, since later events extend this event's part
            [dumped] = _events_adapter().dump_python([event], mode="json", warnings=False)
            self._events.append(dumped)

    def _raw(self) -> Json:
        answer = {} if self._response is None else _dump_answer(self._response.get())
        return {"stream": self._events, "response": answer}


def _recorded_stream(answer: "tuple[Answer, list[ModelResponseStreamEvent]]", call: MethodCall) -> "StreamedResponse":
    response, events = answer
    parameters: ModelRequestParameters = call.arguments(*_POSITIONS)["model_request_parameters"]
    return _recorded_stream_class()(response, model_request_parameters=parameters, replay_events=events)


@cache
def _recorded_stream_class() -> "Callable[..., StreamedResponse]":
    """Returns a subclass of the framework's class of recorded streams that also yields the events which the framework
    adds to a model's: end of a part, begin of the final result."""
    from pydantic_ai.models import CompletedStreamedResponse, StreamedResponse  # noqa: PLC0415 - as above

    class RecordedStreamedResponse(CompletedStreamedResponse):
        def __aiter__(self) -> Any:
            return StreamedResponse.__aiter__(self)

        async def _get_event_iterator(self: Any) -> "AsyncIterator[ModelResponseStreamEvent]":
            for event in self._replay_events:
                self._parts_manager.apply_event(event)
                yield event

    return RecordedStreamedResponse


@intercepted
def _request_stream(
    function: "Callable[..., AbstractAsyncContextManager[StreamedResponse, bool | None]]", called: MethodCall
) -> _ObservedStreamBlock:
    called.is_async = True
    return _ObservedStreamBlock(function, called)


# --- messages of pydantic-ai → Chat Completions -----------------------------------------------------------------------


def chat_messages(messages: "Iterable[ModelMessage]") -> list[Json]:
    """Converts a model's input messages, or its answer; leaves out times and ids of runs."""
    all_messages = list(messages)
    natives: list[Json] = []
    instructions = next(
        (text for candidate in reversed(all_messages) if (text := getattr(candidate, "instructions", None))), None
    )
    if instructions:
        natives.append({"role": "system", "content": instructions})
    for message in all_messages:
        if message.kind == "response":
            natives.append(answer_message(message))
        else:
            natives += map(request_part_message, message.parts)
    return natives


def request_part_message(part: "ModelRequestPart") -> Json:
    """Converts a part of a request to a message of Chat Completions."""
    match part.part_kind:
        case "system-prompt":
            return {"role": "system", "content": part.content}
        case "user-prompt":
            return {"role": "user", "content": _user_content(part.content)}
        case "tool-return":
            return _tool_result(part.tool_call_id, part.model_response_str())
        case "retry-prompt" if part.tool_name is not None:
            return _tool_result(part.tool_call_id, part.model_response())
        case "retry-prompt" | "retry-feedback":
            return {"role": "user", "content": part.model_response()}
        case kind:  # notes of the framework to the model
            return {"role": "system", "content": [{"type": kind, "value": _json_of(part)}]}


def _tool_result(tool_call_id: str, content: str) -> Json:
    return {"role": "tool", "tool_call_id": tool_call_id, "content": content}


def _user_content(content: "str | Sequence[UserContent]") -> JsonValue:
    if isinstance(content, str):
        return content
    return [_content_part(item) for item in content]


def _content_part(item: Any) -> Json:
    if isinstance(item, str):
        return {"type": "text", "text": item}
    kind = getattr(item, "kind", "")
    if kind == "image-url":
        return {"type": "image_url", "image_url": {"url": item.url}}
    if kind == "binary" and str(item.media_type).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": item.data_uri}}
    return {"type": kind or type(item).__name__, "value": _json_of(item)}


def _json_of(value: object) -> JsonValue:
    from pydantic import TypeAdapter  # noqa: PLC0415 - imported by the program

    dumped: JsonValue = TypeAdapter(type(value)).dump_python(value, mode="json", warnings=False)
    if not isinstance(dumped, dict):
        return dumped
    return {name: item for name, item in dumped.items() if name != "timestamp"}


def answer_message(message: "Answer") -> Json:
    """Converts an answer to a message of Chat Completions."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[JsonValue] = []
    others: list[JsonValue] = []
    for part in message.parts:
        match part.part_kind:
            case "text":
                texts.append(part.content)
            case "thinking":
                thoughts.append(part.content)
            case "tool-call":
                function: Json = {"name": part.tool_name, "arguments": part.args_as_json_str()}
                calls.append({"id": part.tool_call_id, "type": "function", "function": function})
            case kind:
                others.append({"type": kind, "value": _json_of(part)})
    native: Json = {"role": "assistant"}
    if len(texts) == 1 and not others:
        native["content"] = texts[0]
    elif texts or others:
        native["content"] = [*({"type": "text", "text": text} for text in texts), *others]
    if thoughts:
        native["reasoning_content"] = "".join(thoughts)
    if calls:
        native["tool_calls"] = calls
    return native


# --- Chat Completions → messages of pydantic-ai -----------------------------------------------------------------------


def model_messages(natives: Sequence[JsonMapping], originals: "Sequence[ModelMessage]") -> "list[ModelMessage]":
    """Converts messages of Chat Completions back.  A first system message becomes instructions if `originals` (the
    messages before the edit) had instructions."""
    from pydantic_ai.messages import ModelRequest  # noqa: PLC0415 - imported by the program

    messages: list[Any] = []
    rest = list(natives)
    instructions = None
    if (
        any(getattr(original, "instructions", None) for original in originals)
        and rest
        and rest[0].get("role") == "system"
    ):
        instructions = str(rest.pop(0).get("content"))
    for native in rest:
        if native.get("role") == "assistant":
            messages.append(response_of(native))
        elif messages and messages[-1].kind == "request":
            messages[-1].parts.append(_request_part_of(native))
        else:
            messages.append(ModelRequest(parts=[_request_part_of(native)]))
    if instructions is not None:
        for message in messages:
            if message.kind == "request":
                message.instructions = instructions
    return messages


def _request_part_of(native: JsonMapping) -> "ModelRequestPart":
    from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart  # noqa: PLC0415 - as above

    content = native.get("content")
    match native.get("role"):
        case "system" | "developer":
            return SystemPromptPart(content=str(content))
        case "tool":
            return ToolReturnPart(tool_name="", content=content, tool_call_id=str(native.get("tool_call_id")))
        case _:
            return UserPromptPart(content=content if isinstance(content, str) else _user_parts(content))


def _user_parts(content: JsonValue) -> "list[UserContent]":
    from pydantic_ai.messages import ImageUrl  # noqa: PLC0415 - as above

    parts: list[UserContent] = []
    for part in objects_of(content):
        if part.get("type") == "image_url":
            parts.append(ImageUrl(url=text_at(object_at(part, "image_url"), "url")))
        else:
            parts.append(str(part.get("text", part)))
    return parts


def response_of(native: JsonMapping) -> "Answer":
    """Converts an assistant's message to pydantic-ai's ModelResponse."""
    from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart  # noqa: PLC0415 - as above

    parts: list[ModelResponsePart] = []
    if reasoning := text_at(native, "reasoning_content"):
        parts.append(ThinkingPart(content=reasoning))
    content = native.get("content")
    if isinstance(content, str) and content:
        parts.append(TextPart(content=content))
    elif isinstance(content, list):
        parts += [TextPart(content=str(part.get("text", ""))) for part in objects_of(content)]
    for call in objects_at(native, "tool_calls"):
        function = object_at(call, "function")
        arguments = function.get("arguments") or "{}"
        parts.append(
            ToolCallPart(
                tool_name=text_at(function, "name"),
                args=parse_json(arguments) if isinstance(arguments, str) else parse_json(write_arguments(arguments)),
                tool_call_id=str(call.get("id")),
            )
        )
    return ModelResponse(parts=parts)


# --- what is wrapped --------------------------------------------------------------------------------------------------

MODELS = (
    WrapSubclasses(
        "pydantic_ai.models",
        "Model",
        {"request": observing_model_async(_WHOLE), "request_stream": _request_stream},
    ),
)
