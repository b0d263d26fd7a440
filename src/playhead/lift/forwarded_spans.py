"""Restores the refs of spans and log events that another Playhead forwarded with their content inline.

The attributes listed in `playhead.content.inline` hold the exact content of a ref as JSON text, so that equal content
has the same ref on both sides.  See `playhead.outbound.vocabularies.otel_genai`, which writes it.
"""

import base64
import binascii
import dataclasses
from typing import cast

from playhead.dialect.tool_definitions import restored
from playhead.lift.extraction import ExtractedContent
from playhead.model import names
from playhead.model.canonical import parse_bounded
from playhead.model.json_value import JsonValue, list_of, object_of, objects_of, text_at, value_at
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, Span


def was_forwarded(span: Span) -> bool:
    """Whether the span, or one of its events, has content inline from another Playhead."""
    return names.CONTENT_INLINE in span.attributes or any(
        names.CONTENT_INLINE in event.attributes for event in span.events
    )


def restore_refs(span: Span, contents: ExtractedContent) -> Span:
    """Returns the span with refs instead of inline content, which is added to `contents`."""
    events = [
        dataclasses.replace(event, attributes=restore_attribute_refs(event.attributes, contents))
        for event in span.events
    ]
    return dataclasses.replace(span, attributes=restore_attribute_refs(span.attributes, contents), events=events)


def restore_attribute_refs(attributes: Attributes, contents: ExtractedContent) -> Attributes:
    """The attributes with a ref in place of each listed content.  Content that cannot be read stays, for the
    dialects."""
    listed: JsonValue = attributes.get(names.CONTENT_INLINE)
    forms = list_of(attributes.get(names.TOOL_FORMS))
    remaining = {key: value for key, value in attributes.items() if key not in (names.CONTENT_INLINE, names.TOOL_FORMS)}
    for name in listed if isinstance(listed, list | tuple) else []:
        text = remaining.get(name) if isinstance(name, str) else None
        if not isinstance(name, str) or not isinstance(text, str):
            continue
        try:
            value = parse_bounded(text)
            if name == names.TOOL_DEFINITIONS and forms:
                value = restored(_list(value), [str(form) for form in forms])
            ref = _ref(name + names.REF_SUFFIX, value, contents)
        except ValueError:
            continue
        del remaining[name]
        if ref is not None:
            remaining[name + names.REF_SUFFIX] = ref
    return remaining


def _ref(key: str, value: JsonValue, contents: ExtractedContent) -> ContentRef | None:
    if key in names.THREAD_REFS:
        return contents.thread([_message(item) for item in _list(value)])
    if key in names.ONE_MESSAGE_REFS:
        return contents.message(_message(value))
    text = text_at(value, names.INLINE_BYTES, None)
    if text is not None and len(object_of(value)) == 1:
        try:
            return contents.content(base64.b64decode(text, validate=True))
        except binascii.Error:
            return contents.content(value)
    return contents.content(value)


def _message(value: JsonValue) -> Message:
    parts = _list(value_at(value, "parts"))
    if text_at(value, "role", None) is None or len(objects_of(parts)) != len(parts):
        raise ValueError("this is no message")
    return cast(Message, value)


def _list(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        raise ValueError("this is no list")
    return value
