"""store → [projection]: reads a span's attributes.  A value of the wrong type counts as missing."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.model import names
from playhead.model.event import TokenUsage
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import STATUS_ERROR, Attributes, LogEvent, Span

CANCELLED = "cancelled"
_OTHER = "_OTHER"  # what OpenTelemetry calls an error of unknown type


def text(attributes: Mapping[str, Any], name: str) -> str | None:
    """A text; None when it is missing or empty."""
    value = attributes.get(name)
    return value if isinstance(value, str) and value else None


def texts(attributes: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts; empty when it is missing."""
    value = attributes.get(name)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(item for item in cast(list[Any], value) if isinstance(item, str))


def whole(attributes: Mapping[str, Any], name: str) -> int | None:
    """An integer of 0 or more; None when it is missing."""
    value = attributes.get(name)
    if type(value) is int:
        return value if value >= 0 else None
    return int(value) if type(value) is float and value >= 0 and value.is_integer() else None


def wholes(attributes: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """A list of integers of 0 or more; empty when it is missing, or has anything else in it."""
    value = attributes.get(name)
    items = cast(list[Any], value) if isinstance(value, list | tuple) else []
    return tuple(items) if all(type(item) is int and item >= 0 for item in items) else ()


def number(attributes: Mapping[str, Any], name: str) -> float | None:
    """An integer or a float; None when it is missing."""
    value = attributes.get(name)
    return float(value) if type(value) is int or type(value) is float else None


def ref(attributes: Mapping[str, Any], name: str) -> ContentRef | None:
    """A content ref; None for other values, such as references to other storage (`gs://...`)."""
    value = attributes.get(name)
    return None if value is None or not is_ref(value) else ContentRef(value)


def process_of(attributes: Mapping[str, Any]) -> str:
    """The id of the process that recorded the call or log event. Empty if none is named: then it is the run's own
    process, which started or resumed the run."""
    return text(attributes, names.PROCESS_ID) or ""


def number_of(attributes: Mapping[str, Any]) -> int | None:
    """The number that its process gave the call or log event, from 1; None without one."""
    return whole(attributes, names.CALL_ORDER) or None


def order_of(attributes: Mapping[str, Any]) -> int | None:
    """The number that the run's own process gave the call or log event, from 1; None without one, and for calls and log
    events of other processes."""
    return None if process_of(attributes) else number_of(attributes)


def attempt_of(attributes: Mapping[str, Any]) -> int:
    """The number of the attempt at the run."""
    return whole(attributes, names.RUN_ATTEMPT) or 0


def replaced_by(resumed: LogEvent) -> list[tuple[int, int]]:
    """Ranges (first, last) of call numbers that were missing in the record; the resumed attempt made these calls
    again."""
    value = resumed.attributes.get(names.RESUMED_WITHOUT)
    numbers = [item for item in cast(list[Any], value) if type(item) is int] if isinstance(value, list | tuple) else []
    return list(zip(numbers[::2], numbers[1::2], strict=False))


def kind_of(span: Span) -> str | None:
    """The kind of call (llm, tool, step, ...); None for a span without our attributes and GenAI attributes."""
    kind = text(span.attributes, names.KIND)
    if kind is not None:
        return kind
    operation = text(span.attributes, names.OPERATION)
    if operation is not None:
        return names.KIND_OF_OPERATION.get(operation, "step")
    return "step" if span.scope == names.SCOPE else None


def agent_name(span: Span, kind: str | None) -> str | None:
    """The name of the acting agent; for an agent's own span without that attribute, the span's name."""
    name = text(span.attributes, names.AGENT_NAME)
    if name is not None or kind != "agent":
        return name
    return span.name.removeprefix("invoke_agent").strip() or span.name


def model_of(attributes: Attributes) -> str | None:
    """The name of the requested model."""
    return text(attributes, names.REQUEST_MODEL)


def answer_tokens(attributes: Attributes) -> int | None:
    """Output tokens of a call without reasoning tokens, which do not stay in the context: the size of an answer of one
    message. None when they were not reported."""
    output = whole(attributes, names.OUTPUT_TOKENS)
    return None if output is None else max(0, output - (usage_of(attributes).reasoning_tokens or 0))


def usage_of(attributes: Attributes) -> TokenUsage:
    """Token usage as the provider reported it."""
    cache_write = whole(attributes, names.CACHE_WRITE_TOKENS)
    return TokenUsage(
        whole(attributes, names.INPUT_TOKENS),
        whole(attributes, names.OUTPUT_TOKENS),
        whole(attributes, names.CACHE_READ_TOKENS),
        whole(attributes, names.CACHE_CREATION_TOKENS) if cache_write is None else cache_write,
        whole(attributes, names.REASONING_TOKENS),
        whole(attributes, names.COMPACTION_INPUT_TOKENS),
        whole(attributes, names.COMPACTION_OUTPUT_TOKENS),
    )


def has_failed(span: Span) -> bool:
    """Whether the call raised. Cancellation counts as raising; closing a stream early (`aborted`) does not."""
    return span.status == STATUS_ERROR or span.attributes.get(names.OUTCOME) == CANCELLED


def failure_of(span: Span) -> tuple[str, str]:
    """Type and message of the exception of a failed span."""
    error_type = text(span.attributes, names.ERROR_TYPE)
    message = span.status_message
    for event in reversed(span.events):
        if event.name == "exception":
            error_type = error_type or text(event.attributes, "exception.type")
            message = message or text(event.attributes, "exception.message") or ""
            break
    return error_type or text(span.attributes, names.OUTCOME) or _OTHER, message


def sent_fields(attributes: Attributes) -> dict[str, Any]:
    """The fields of a model call's end event that refer to the request body that was sent."""
    return {"sent": ref(attributes, names.SENT_REF), "sent_thread": ref(attributes, names.SENT_MESSAGES_REF)}


def failure_fields(span: Span) -> dict[str, Any]:
    """The fields of the event for the end of a failed call."""
    error_type, message = failure_of(span)
    outcome = text(span.attributes, names.OUTCOME)
    return {"elapsed_ms": elapsed_ms(span), "error_type": error_type, "message": message, "outcome": outcome}


def elapsed_ms(span: Span, since_ns: int | None = None) -> float:
    """Duration in ms, from the start or from `since_ns` to the end; 0 while the span is open."""
    since_ns = span.start_ns if since_ns is None else since_ns
    return round(((span.end_ns or since_ns) - since_ns) / 1e6, 3)


def tool_name(span: Span) -> str:
    """The name of the called tool; without that attribute, the span's name."""
    return text(span.attributes, names.TOOL_NAME) or span.name.removeprefix("execute_tool").strip() or span.name
