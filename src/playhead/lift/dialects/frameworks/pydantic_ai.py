"""pydantic-ai's own names beside OpenTelemetry's: events in one attribute (its first form), the whole conversation on
the agent's span, and tools' arguments and results."""

from collections.abc import Mapping
from typing import Any, Final, cast

from playhead.lift.found import LiftedContent
from playhead.lift.message_events import MessageEvents
from playhead.lift.natives.message import to_messages
from playhead.lift.stamps import parsed, stamp, stamp_value
from playhead.model import names
from playhead.model.span import Attributes, SpanEvent

NAME = "pydantic_ai"
PREFIXES = frozenset({
    "pydantic_ai", "model_request_parameters", "all_messages_events", "tool_arguments", "tool_response", "final_result",
})  # fmt: skip
ALIASES: Mapping[str, str] = {"agent_name": names.AGENT_NAME, "model_name": names.REQUEST_MODEL}
_EVENTS, _ALL_EVENTS, _ALL = "events", "all_messages_events", "pydantic_ai.all_messages"
_CONTENTS: Final = {
    "tool_arguments": names.TOOL_ARGUMENTS_REF,
    "tool_response": names.TOOL_RESULT_REF,
    "final_result": names.OUTPUT_REF,
    "model_request_parameters": names.REQUEST_REF,
    "pydantic_ai.variable_instructions": "pydantic_ai.variable_instructions_ref",
}


def speaks(attributes: Attributes) -> bool:
    """By an attribute that only it writes."""
    return any(key in attributes for key in (_ALL, _ALL_EVENTS, *_CONTENTS))


def kind(attributes: Attributes) -> str | None:
    """OpenTelemetry's names say it."""
    return None


def take(attributes: Attributes, _: str | None, found: LiftedContent) -> None:
    """The events of a model call become its messages, all else content under our names."""
    for key, ours in _CONTENTS.items():
        if key in attributes:
            stamp_value(attributes, ours, attributes.pop(key), key, found)
    if _EVENTS in attributes:
        _take_events(attributes, found)
    for key in (_ALL_EVENTS, _ALL):
        if key in attributes:
            _take_all(attributes, key, found)


def _take_events(attributes: Attributes, found: LiftedContent) -> None:
    events = _listed(attributes[_EVENTS])
    if events is None:
        return
    raw, messages = attributes.pop(_EVENTS), _messages_of(events, found)
    if messages.any:
        messages.stamp(attributes, found)
    else:
        stamp_value(attributes, _EVENTS + names.REF_SUFFIX, raw, _EVENTS, found)


def _take_all(attributes: Attributes, key: str, found: LiftedContent) -> None:
    """A whole conversation, answers included, as one thread: it has all messages of the model calls inside."""
    raw = attributes.pop(key)
    natives = _listed(raw)
    if natives is not None and key == _ALL_EVENTS:
        thread = _messages_of(natives, found).all(found)
    else:
        messages = None if natives is None else to_messages(natives)
        thread = None if messages is None else found.thread(messages)
    if thread is not None:
        stamp(attributes, _ALL + names.REF_SUFFIX, thread, key)
    else:
        stamp_value(attributes, key + names.REF_SUFFIX, raw, key, found)


def _messages_of(events: list[Any], found: LiftedContent) -> MessageEvents:
    messages = MessageEvents()
    for event in events:
        if isinstance(event, dict):
            fields = cast(dict[str, Any], event)
            messages.take(SpanEvent(str(fields.get("event.name")), 0, fields), found)
    return messages


def _listed(raw: Any) -> list[Any] | None:
    try:
        value = parsed(raw)
    except ValueError:
        return None
    return cast(list[Any], value) if isinstance(value, list) else None
