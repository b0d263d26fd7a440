"""Records OpenAI Agents' models if no instrumented client inside them records the call: models of users, and of unknown
providers.  Their requests and answers have the form of Responses."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, Protocol

from playhead.capture.frameworks.model_calls import (
    FrameworkModelApi,
    observing_model_async,
    observing_model_stream_async,
)
from playhead.capture.frameworks.observing import Named
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.openai.responses import events_of, joined_response, with_message
from playhead.capture.patching import WrapSubclasses
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_responses as dialect
from playhead.model import names
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    int_at,
    object_at,
    object_of,
    objects_at,
    text_at,
    value_at,
)

_POSITIONS = ("system_instructions", "input", "model_settings", "tools", "output_schema", "handoffs", "tracing")
_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
}


class _OutputSchema(Protocol):
    """The form of answer that an agent asks for."""

    def is_plain_text(self) -> bool: ...

    def json_schema(self) -> Json: ...


class _HandoffTool(Protocol):
    tool_name: str
    tool_description: str
    input_json_schema: Json


class _RunUsage(Protocol):
    requests: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: object
    output_tokens_details: object


class _FrameworkAnswer(Protocol):
    """The framework's ModelResponse."""

    response_id: str | None
    output: Iterable[object]

    @property
    def usage(self) -> _RunUsage: ...


def _read_request(call: MethodCall) -> ObservedRequest:
    arguments = call.arguments(*_POSITIONS)
    kind = str(type(call.client).__name__)
    settings = _settings(arguments)
    attributes = {_ATTRIBUTES[name]: value for name, value in settings.items() if name in _ATTRIBUTES}
    if call.method == "stream_response":
        settings["stream"] = attributes[names.REQUEST_STREAM] = True
    items = arguments["input"]
    return ObservedRequest(
        provider="openai-agents",
        operation="chat",
        model=str(getattr(call.client, "model", None) or kind),
        name=kind,
        messages=[{"role": "user", "content": items}] if isinstance(items, str) else list(map(_dumped, items)),
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=_tools(arguments) or None,
        system=arguments.get("system_instructions"),
        settings=settings,
        attributes=attributes,
        shape={"dialect": dialect.NAME, "sent": False},  # the body that the model's library sends is not known
    )


def _settings(arguments: Mapping[str, Any]) -> dict[str, object]:
    settings: object = arguments.get("model_settings")
    plain: dict[str, object] = asdict(settings) if is_dataclass(settings) and not isinstance(settings, type) else {}
    schema: _OutputSchema | None = arguments.get("output_schema")
    if schema is not None and not schema.is_plain_text():
        plain["output_schema"] = schema.json_schema()
    for name in ("previous_response_id", "conversation_id"):
        plain[name] = arguments.get(name)
    return {name: value for name, value in plain.items() if value is not None}


def _tools(arguments: Mapping[str, Any]) -> list[dict[str, object]]:
    """Returns the definitions of tools, and of handoffs, which models see as tools."""
    given_tools: Iterable[Named] = arguments.get("tools") or ()
    given_handoffs: Iterable[_HandoffTool] = arguments.get("handoffs") or ()
    tools: list[dict[str, object]] = [
        {
            "type": "function",
            "name": tool.name,
            "description": getattr(tool, "description", None),
            "parameters": getattr(tool, "params_json_schema", None),
        }
        for tool in given_tools
    ]
    handoffs: list[dict[str, object]] = [
        {
            "type": "function",
            "name": handoff.tool_name,
            "description": handoff.tool_description,
            "parameters": handoff.input_json_schema,
        }
        for handoff in given_handoffs
    ]
    return [{key: value for key, value in item.items() if value is not None} for item in (*tools, *handoffs)]


def _with_messages(call: MethodCall, messages: list[JsonValue]) -> MethodCall:
    arguments = call.arguments(*_POSITIONS)
    return MethodCall(call.client, call.method, (), {**arguments, "input": messages}, call.is_async)


def _dumped(value: Any) -> JsonValue:
    if not hasattr(value, "model_dump"):
        return value
    return value.model_dump(mode="json", exclude_unset=True, warnings=False)


def _dump(response: _FrameworkAnswer) -> Json:
    """Converts a ModelResponse of the framework to the form of a Response."""
    usage = response.usage
    return {
        "id": response.response_id,
        "output": [_dumped(item) for item in response.output],
        "usage": {
            "requests": usage.requests,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
            "input_tokens_details": _dumped(usage.input_tokens_details),
            "output_tokens_details": _dumped(usage.output_tokens_details),
        },
    }


def _load(raw: JsonValue) -> object:
    from agents.items import ModelResponse as AgentsResponse  # noqa: PLC0415 - imported by the program
    from agents.usage import Usage  # noqa: PLC0415 - as above
    from openai.types.responses import ResponseOutputItem  # noqa: PLC0415 - as above
    from pydantic import TypeAdapter  # noqa: PLC0415 - as above

    adapter: Any = TypeAdapter(list[ResponseOutputItem])
    counts: dict[str, Any] = {**object_at(raw, "usage")}
    usage = Usage(**{name: value for name, value in counts.items() if value is not None})
    output = adapter.validate_python(object_of(raw)["output"])
    return AgentsResponse(output=output, usage=usage, response_id=text_at(raw, "id", None))


def _load_event(raw: JsonValue) -> object:
    from openai.types.responses import ResponseStreamEvent  # noqa: PLC0415 - as above
    from pydantic import TypeAdapter  # noqa: PLC0415 - as above

    adapter: Any = TypeAdapter(ResponseStreamEvent)
    return adapter.validate_python(raw)


_USAGE = (
    ("", "input_tokens", names.INPUT_TOKENS),
    ("", "output_tokens", names.OUTPUT_TOKENS),
    ("input_tokens_details", "cached_tokens", names.CACHE_READ_TOKENS),
    ("input_tokens_details", "cache_write_tokens", names.CACHE_WRITE_TOKENS),
    ("output_tokens_details", "reasoning_tokens", names.REASONING_TOKENS),
)


def _read(raw: JsonValue) -> ObservedResponse:
    items = objects_at(raw, "output")
    read = [dialect.output_message(item) for item in items]
    reasonings = [reasoning for _, reasoning in read if reasoning is not None]
    calls = any(item.get("type") == "function_call" for item in items)
    attributes: dict[str, object] = {names.FINISH_REASONS: ["tool_calls" if calls else "stop"], **_usage(raw)}
    if response_id := value_at(raw, "id"):
        attributes[names.RESPONSE_ID] = response_id
    reasoning = reasonings[0] if len(reasonings) == 1 else reasonings or None
    return ObservedResponse([message for message, _ in read], raw, reasoning, attributes)


def _usage(raw: JsonValue) -> dict[str, int]:
    usage = object_at(raw, "usage")
    if not usage.get("total_tokens"):  # the framework sets zeros if the model class gives no counts
        return {}
    attributes: dict[str, int] = {}
    for group, key, name in _USAGE:
        count = int_at(usage.get(group) if group else usage, key, None)
        if count is not None:
            attributes[name] = count
    return attributes


def _from_message(message: JsonMapping, call: MethodCall) -> Json:
    answer = message if set(message) != {"role", "content"} else str(message["content"])
    return with_message(None, answer, model=str(getattr(call.client, "model", "")), streamed=False)


_WHOLE = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=_dump,
    load=_load,
    read=_read,
    from_message=_from_message,
)
_STREAMED = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=_dumped,
    load=_load_event,
    read=_read,
    from_message=_from_message,
    join=joined_response,
    split=events_of,
)
MODELS = (
    WrapSubclasses(
        "agents.models.interface",
        "Model",
        {"get_response": observing_model_async(_WHOLE), "stream_response": observing_model_stream_async(_STREAMED)},
    ),
)
