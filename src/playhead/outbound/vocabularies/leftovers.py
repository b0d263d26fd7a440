"""Attributes and events that all vocabularies write in the same way: attributes that the program set itself, and
errors.
"""

from typing import Final

from playhead.lift.dialects import DIALECTS
from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.json_value import JsonValue
from playhead.model.ref import is_ref
from playhead.model.span import Attributes, SpanEvent
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.span import OutboundSpan
from playhead.outbound.vocabularies.otel_genai import inline

# Namespaces of instrumentations. Their facts are sent under the destination's own names; sent twice, they would be
# counted twice.
_INSTRUMENTATIONS: Final = frozenset({
    "playhead", "agent", "agent_name", "model_name", "tool", "tag", "session", "user", "metadata", "embedding",
    "retrieval", "reranker", "annotations", "evaluations", "graph", "langgraph", "events", "genkit:name", "logfire",
    "exception", "operation",
}).union(*(dialect.PREFIXES for dialect in DIALECTS))  # fmt: skip
# Attributes with which a person finds the call in Playhead.
_KEPT: Final = (
    names.RUN_ID, names.RUN_ATTEMPT, names.CALL_KEY, names.PROCESS_ID, names.CALL_ORDER, names.OUTCOME, names.FORK_OF,
)  # fmt: skip
_OF_FORWARDING: Final = (names.CONTENT_INLINE, names.TOOL_FORMS)
_EXCEPTION: Final = "exception"
_MESSAGES: Final = "gen_ai."


def custom_attributes(span: OutboundSpan, content: ShownContent) -> Attributes:
    """Returns attributes that the program set itself, and those that identify the call in Playhead: plain values, no
    content."""
    attributes = {
        key: content.attribute(key, value)
        for key, value in span.attributes.items()
        if key in _KEPT or (key.partition(".")[0] not in _INSTRUMENTATIONS and not is_ref(value))
    }
    return {key: value for key, value in attributes.items() if key not in _OF_FORWARDING}


def plain(value: JsonValue) -> JsonValue:
    """Returns a value in a form that OTLP readers accept: a text, a number, a boolean or a list of texts; others become
    JSON."""
    if isinstance(value, list | tuple):
        return list(value) if all(isinstance(item, str) for item in value) else _json(value)
    return value if isinstance(value, str | bool | int | float) else _json(value)


def events(span: OutboundSpan, content: ShownContent) -> list[SpanEvent]:
    """Returns the span's events, except those that hold messages. An error that our SDK recorded becomes an exception
    event."""
    span_events = [
        SpanEvent(event.name, event.time_ns, _of_event(event.attributes, content))
        for event in span.span.events
        if not event.name.startswith(_MESSAGES)
    ]
    raised = content.object(span.ref(names.ERROR_REF))
    if raised and not any(event.name == _EXCEPTION for event in span_events):
        attributes = {f"exception.{key}": raised[key] for key in ("type", "message", "stacktrace") if raised.get(key)}
        span_events.append(SpanEvent(_EXCEPTION, span.span.end_ns or span.span.start_ns, attributes))
    return span_events


def _of_event(attributes: Attributes, content: ShownContent) -> Attributes:
    inlined = inline(attributes, content)
    return {key: plain(value) for key, value in inlined.items() if key not in _OF_FORWARDING}


def _json(value: JsonValue) -> str:
    return canonical_json(value).decode("utf-8", "replace")
