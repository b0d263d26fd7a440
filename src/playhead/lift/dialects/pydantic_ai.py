"""pydantic-ai's own names in addition to OpenTelemetry's: message events in one attribute (its first form), the whole
conversation on the agent's span, and arguments and results of tools.
"""

from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import ExtractedContent, extract_value, json_or_text, set_ref_attribute
from playhead.lift.message_events import MessageEvents
from playhead.lift.provider_messages import to_messages
from playhead.model import names
from playhead.model.json_value import JsonValue
from playhead.model.span import Attributes, SpanEvent

NAME = "pydantic_ai"
PREFIXES = frozenset({
    "pydantic_ai", "model_request_parameters", "all_messages_events", "tool_arguments", "tool_response", "final_result",
    "agent_name",
})  # fmt: skip
ALIASES: Mapping[str, str] = {"agent_name": names.AGENT_NAME, "model_name": names.REQUEST_MODEL}
_EVENTS, _ALL_EVENTS, _ALL = "events", "all_messages_events", "pydantic_ai.all_messages"
_AGENT, _PROMPT = "agent_name", "prompt"
_CONTENTS: Final = {
    "tool_arguments": names.TOOL_ARGUMENTS_REF,
    "tool_response": names.TOOL_RESULT_REF,
    "final_result": names.OUTPUT_REF,
    "model_request_parameters": names.REQUEST_REF,
    "pydantic_ai.variable_instructions": "pydantic_ai.variable_instructions_ref",
}


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by an attribute that only pydantic-ai writes."""
    return _AGENT in attributes or any(key in attributes for key in (_ALL, _ALL_EVENTS, *_CONTENTS))


def kind(attributes: Attributes) -> str | None:
    """Returns None: OpenTelemetry's names tell the kind."""
    return None


def extract(attributes: Attributes, _: str | None, contents: ExtractedContent) -> None:
    """Moves the events of a model call into threads, and all other content to refs under our names."""
    for key, ours in _CONTENTS.items():
        if key in attributes:
            extract_value(attributes, ours, attributes.pop(key), key, contents)
    if _AGENT in attributes and _PROMPT in attributes:
        extract_value(attributes, names.INPUT_REF, attributes.pop(_PROMPT), _PROMPT, contents)
    if _EVENTS in attributes:
        _extract_events(attributes, contents)
    for key in (_ALL_EVENTS, _ALL):
        if key in attributes:
            _extract_all(attributes, key, contents)


def _extract_events(attributes: Attributes, contents: ExtractedContent) -> None:
    events = _listed(attributes[_EVENTS])
    if events is None:
        return
    raw, messages = attributes.pop(_EVENTS), _messages_of(events, contents)
    if messages.any:
        messages.set_refs(attributes, contents)
    else:
        extract_value(attributes, _EVENTS + names.REF_SUFFIX, raw, _EVENTS, contents)


def _extract_all(attributes: Attributes, key: str, contents: ExtractedContent) -> None:
    """Moves a whole conversation, including answers, into one thread: it has all messages of the model calls inside."""
    raw = attributes.pop(key)
    natives = _listed(raw)
    if natives is not None and key == _ALL_EVENTS:
        thread = _messages_of(natives, contents).all(contents)
    else:
        messages = None if natives is None else to_messages(natives)
        thread = None if messages is None else contents.thread(messages)
    if thread is not None:
        set_ref_attribute(attributes, _ALL + names.REF_SUFFIX, thread, key)
    else:
        extract_value(attributes, key + names.REF_SUFFIX, raw, key, contents)


def _messages_of(events: list[JsonValue], contents: ExtractedContent) -> MessageEvents:
    messages = MessageEvents()
    for event in events:
        if isinstance(event, dict):
            messages.extract(SpanEvent(str(event.get("event.name")), 0, event), contents)
    return messages


def _listed(raw: JsonValue) -> list[JsonValue] | None:
    try:
        value = json_or_text(raw)
    except ValueError:
        return None
    return value if isinstance(value, list) else None
