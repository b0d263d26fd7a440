"""Content under OpenTelemetry's GenAI names: in attributes of spans, of log events and of span events.

Values are JSON text, structured, or encoded twice. Messages become threads. A message that has no parts but looks like
Chat Completions is read as such, because many instrumentations write the message that they received.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from playhead.dialect import openai_chat, otel_genai
from playhead.lift.extraction import ExtractedContent, note_compaction, previous_response, set_ref, with_elsewhere
from playhead.lift.provider_messages import canonical_messages
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, JsonValue, objects_of
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, SpanEvent

NAME = "otel_genai"
PREFIXES = frozenset({"gen_ai"})
ALIASES: Mapping[str, str] = {
    "gen_ai.usage.reasoning_tokens": names.REASONING_TOKENS,
    "gen_ai.usage.details.reasoning_tokens": names.REASONING_TOKENS,
    "gen_ai.usage.cache_read_input_tokens": names.CACHE_READ_TOKENS,
    "gen_ai.usage.cache_creation_input_tokens": names.CACHE_WRITE_TOKENS,
    "gen_ai.is_streaming": names.REQUEST_STREAM,
    "gen_ai.thread.id": names.CONVERSATION,
}

# Operations that the conventions do not have (older versions of them; Semantic Kernel).
_KIND_OF_OTHER_OPERATION: Final = {
    "completion": "llm",
    "generate": "llm",
    "chat.completions": "llm",
    "chat.streaming_completions": "llm",
    "text.completions": "llm",
    "text.streaming_completions": "llm",
}
DETAILS: Final = "gen_ai.client.inference.operation.details"
_VARIABLE = "gen_ai.prompt.variable."
_PREFIX = "gen_ai."


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by content under its names, or by refs of such content."""
    return any(
        key.startswith(_PREFIX) and (key in _READERS or key in _REF_KEYS or _is_variable(key) or _is_variable_ref(key))
        for key in attributes
    )


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `gen_ai.operation.name`."""
    operation = attributes.get(names.OPERATION)
    if not isinstance(operation, str):
        return None
    return names.KIND_OF_OPERATION.get(operation) or _KIND_OF_OTHER_OPERATION.get(operation)


def extract(attributes: Attributes, _: str | None, contents: ExtractedContent) -> None:
    """Moves content out of the attributes, in place."""
    for key in [key for key in attributes if key.startswith(_PREFIX)]:
        reader = _READERS.get(key) or (_value if _is_variable(key) else None)
        if reader is None:
            continue
        raw = attributes.pop(key)
        if raw is None:
            continue
        try:
            ref = reader(raw, attributes, contents)
        except ValueError:
            ref = contents.keep_unparsed_text(key, raw)
        if ref is not None:
            set_ref(attributes, key, ref)


def hoist(event: SpanEvent, onto: Attributes) -> None:
    """Copies attributes from an event with details of the operation to its span, which may be configured to hold no
    content."""
    if event.name == DETAILS:
        for name in _ABOUT_THE_SPAN:
            if name in event.attributes:
                onto.setdefault(name, event.attributes[name])


def _is_variable(key: str) -> bool:
    return key.startswith(_VARIABLE) and not key.endswith((names.REF_SUFFIX, names.REF_SUFFIX + ".external"))


def _is_variable_ref(key: str) -> bool:
    return key.startswith(_VARIABLE) and key.endswith(names.REF_SUFFIX)


def _natives(raw: JsonValue) -> list[Json]:
    value = otel_genai.structured(raw)
    natives = value if isinstance(value, list) else [value]
    messages = objects_of(natives)
    if len(messages) != len(natives):
        raise ValueError("a list of messages was expected")
    return messages


def _dialect(native: JsonMapping) -> Any:
    is_chat = "parts" not in native and ("content" in native or "tool_calls" in native)
    return openai_chat if is_chat else otel_genai


def _input(raw: JsonValue, attributes: Attributes, contents: ExtractedContent) -> ContentRef | None:
    messages: list[Message] = [_dialect(native).to_message(native) for native in _natives(raw)]
    response = previous_response(attributes) if kind(attributes) == "llm" else None
    return contents.thread(with_elsewhere(canonical_messages(messages), response))


def _output(raw: JsonValue, attributes: Attributes, contents: ExtractedContent) -> ContentRef | None:
    messages: list[Message] = []
    reasonings: list[JsonValue] = []
    reasons: list[str] = []
    for native in _natives(raw):
        if reason := otel_genai.finish_reason(native):
            reasons.append(reason)
        inner = native.get("message")
        answer = inner if isinstance(inner, dict) else native  # `native` may be a whole choice
        answer = {key: value for key, value in answer.items() if key != "finish_reason"}
        message, reasoning = _dialect(answer).output_message(answer)
        messages.append(message)
        if reasoning is not None:
            reasonings.append(reasoning)
    if reasons:
        attributes.setdefault(names.FINISH_REASONS, reasons)
    if reasonings and names.REASONING_REF not in attributes:
        attributes[names.REASONING_REF] = contents.reasoning(reasonings[0] if len(reasonings) == 1 else reasonings)
    note_compaction(attributes, messages)
    return contents.thread(canonical_messages(messages))


def _system(raw: JsonValue, _: Attributes, contents: ExtractedContent) -> ContentRef | None:
    if isinstance(raw, str) and raw[:1] not in ("{", "[", '"'):
        return contents.content(raw)  # some senders write the instructions as plain text
    value = otel_genai.structured(raw)
    if isinstance(value, str):
        return contents.content(value)
    natives = value if isinstance(value, list) else [value]
    return contents.content(otel_genai.to_parts(natives))


def _tools(raw: JsonValue, _: Attributes, contents: ExtractedContent) -> ContentRef | None:
    value = otel_genai.structured(raw)
    natives = value if isinstance(value, list) else [value]
    # Some senders write a list of JSON texts, one per tool.
    return contents.content(otel_genai.tool_definitions(otel_genai.tool_value(native) for native in natives))


def _value(raw: JsonValue, _: Attributes, contents: ExtractedContent) -> ContentRef | None:
    value = otel_genai.tool_value(raw)
    if isinstance(value, str) and value[:1] in ("{", "["):
        raise ValueError("this looked like JSON")
    return contents.content(value)


_READERS: Final[dict[str, Callable[[JsonValue, Attributes, ExtractedContent], ContentRef | None]]] = {
    names.INPUT_MESSAGES: _input,
    names.OUTPUT_MESSAGES: _output,
    names.SYSTEM_INSTRUCTIONS: _system,
    names.TOOL_DEFINITIONS: _tools,
    names.TOOL_ARGUMENTS: _value,
    names.TOOL_RESULT: _value,
    "gen_ai.retrieval.query.text": _value,
    "gen_ai.retrieval.documents": _value,
    "gen_ai.memory.query.text": _value,
    "gen_ai.memory.records": _value,
    "gen_ai.tool.description": _value,
    "gen_ai.agent.description": _value,
}
_REF_KEYS: Final = frozenset(key + names.REF_SUFFIX for key in _READERS)
_ABOUT_THE_SPAN: Final = (
    *(key + names.REF_SUFFIX for key in _READERS),
    names.FINISH_REASONS,
    names.REASONING_REF,
)
