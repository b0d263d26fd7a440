"""Restores the refs of spans and log events that another Playhead forwarded with their content inline.

The attributes listed in `playhead.content.inline` hold the exact content of a ref as JSON text, so that equal content
has the same ref on both sides.  See `playhead.outbound.vocabularies.otel_genai`, which writes it.
"""

import base64
import binascii
import dataclasses
from typing import Any, cast

from playhead.lift.extraction import ExtractedContent
from playhead.model import names
from playhead.model.canonical import parse_bounded
from playhead.model.message import Message
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
    listed = attributes.get(names.CONTENT_INLINE)
    remaining = {key: value for key, value in attributes.items() if key != names.CONTENT_INLINE}
    for name in cast("list[Any]", listed) if isinstance(listed, list | tuple) else []:
        text = remaining.get(name) if isinstance(name, str) else None
        if not isinstance(text, str):
            continue
        try:
            ref = _ref(name + names.REF_SUFFIX, parse_bounded(text), contents)
        except (ValueError, TypeError):
            continue
        del remaining[name]
        if ref is not None:
            remaining[name + names.REF_SUFFIX] = ref
    return remaining


def _ref(key: str, value: Any, contents: ExtractedContent) -> Any:
    if key in names.THREAD_REFS:
        return contents.thread([_message(item) for item in cast("list[Any]", _checked(value, list))])
    if key in names.ONE_MESSAGE_REFS:
        return contents.message(_message(value))
    if isinstance(value, dict) and cast("dict[str, Any]", value).keys() == {names.INLINE_BYTES}:
        try:
            return contents.content(base64.b64decode(cast("dict[str, str]", value)[names.INLINE_BYTES], validate=True))
        except (binascii.Error, TypeError):
            return contents.content(cast(Any, value))
    return contents.content(value)


def _message(value: Any) -> Message:
    parts = cast("dict[str, Any]", _checked(value, dict)).get("parts")
    if not isinstance(value.get("role"), str) or not all(
        isinstance(part, dict) for part in cast("list[Any]", _checked(parts, list))
    ):
        raise ValueError("this is no message")
    return cast(Message, value)


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"this is a {type(value).__name__}")
    return value
