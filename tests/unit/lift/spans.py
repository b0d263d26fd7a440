"""Spans to lift, and what their refs say once they are lifted."""

import json
from collections.abc import Sequence
from typing import Any

from playhead.lift import Lifted, LiftedLog, lift
from playhead.model.canonical import Content, value_of
from playhead.model.message import Message
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead.wire.pack import ThreadExtension


def a_span(attributes: dict[str, Any], **fields: Any) -> Span:
    """A span of somebody else's."""
    fields.setdefault("scope", "theirs")
    return Span("a" * 32, "b" * 16, None, "chat", 1, 2, attributes, **fields)


def an_event(name: str, **attributes: Any) -> SpanEvent:
    """Something that happened within a span."""
    return SpanEvent(name, 1, attributes)


def a_log(attributes: dict[str, Any], **fields: Any) -> LogEvent:
    """A log event of somebody else's."""
    fields = {"name": "gen_ai.client.inference.operation.details", "scope": "theirs"} | fields
    return LogEvent(time_ns=1, trace_id="a" * 32, span_id="b" * 16, attributes=attributes, **fields)


def value(lifted: Lifted | LiftedLog, ref: Any) -> Any:
    """What the content of a lifted span's ref says."""
    return value_of(content(lifted.contents, ref))


def content(contents: Sequence[Content], ref: Any) -> Content:
    """The content with this ref."""
    (found,) = (content for content in contents if content.ref == ref)
    return found


def messages(lifted: Lifted | LiftedLog, ref: Any) -> list[Message]:
    """The messages of the thread that a lifted span's ref names."""
    (thread,) = (thread for thread in lifted.threads if thread.ref == ref)
    return [value(lifted, message) for message in thread.messages]


def attributes_of(attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The attributes that are left when a span with these is lifted."""
    return lift(a_span(attributes, **fields)).span.attributes


def as_json(value: Any) -> str:
    """An attribute as most emitters write it."""
    return json.dumps(value)


def thread_to_json(thread: ThreadExtension) -> dict[str, Any]:
    """For a golden file."""
    return {"ref": thread.ref, "parent": thread.parent, "messages": list(thread.messages)}
