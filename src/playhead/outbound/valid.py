"""encoding → [valid] → otlp. Finds, before a span is sent, what makes a destination refuse a whole batch."""

import re
from dataclasses import replace
from typing import Any, Final, cast

from playhead.model.span import Attributes, Span

_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")
_MOST_NS: Final = 2**63 - 1
# NUL, which Postgres does not store as text, and lone surrogates, which UTF-8 cannot encode.
_UNSENDABLE: Final = re.compile("[\x00\ud800-\udfff]")


def check(span: Span) -> None:
    """Raises ValueError, with the reason, for a span that a destination would refuse."""
    if span.end_ns is None:
        raise ValueError(f"span {span.span_id} has not ended; send it when it has")
    if not _TRACE_ID.fullmatch(span.trace_id):
        raise ValueError(f"span {span.span_id} has the trace id {span.trace_id[:40]!r}; it takes 32 hex digits")
    if not _SPAN_ID.fullmatch(span.span_id):
        raise ValueError(f"{span.span_id[:40]!r} is no span id; it takes 16 hex digits")
    if span.parent_id is not None and not _SPAN_ID.fullmatch(span.parent_id):
        raise ValueError(f"span {span.span_id} has the parent id {span.parent_id[:40]!r}; it takes 16 hex digits")
    if not 0 < span.start_ns <= _MOST_NS or not 0 < span.end_ns <= _MOST_NS:
        raise ValueError(f"span {span.span_id} has no time: {span.start_ns} to {span.end_ns}")


def sendable(span: Span) -> Span:
    """Returns the span without characters that destinations cannot store, and with an end that is not before its
    start."""
    return replace(
        span,
        name=_sendable(span.name) or "span",
        end_ns=max(span.start_ns, span.end_ns or 0),
        status_message=_sendable(span.status_message),
        attributes=sendable_attributes(span.attributes),
        events=[
            replace(event, name=_sendable(event.name), attributes=sendable_attributes(event.attributes))
            for event in span.events
        ],
    )


def sendable_attributes(attributes: Attributes) -> Attributes:
    """Returns the attributes without characters that destinations cannot store."""
    return {_sendable(key): _sendable(value) for key, value in attributes.items()}


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return str(value) if _UNSENDABLE.search(value) is None else _UNSENDABLE.sub(_instead, value)
    if isinstance(value, list | tuple):
        return [_sendable(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(_sendable(key)): _sendable(item) for key, item in cast("dict[Any, Any]", value).items()}
    return value


def _instead(match: "re.Match[str]") -> str:
    return "" if match[0] == "\x00" else "\ufffd"
