"""OpenTelemetry's GenAI conventions, for any OTLP backend, another Playhead among them.

Every ref `NAME_ref` becomes its content under `NAME`, which is the convention's own name for messages, instructions,
definitions of tools, arguments and results: `gen_ai.input.messages_ref` → `gen_ai.input.messages`, as JSON text.  In
the content mode `ref` the refs stay.  All other attributes stay, so that another Playhead answers as this one does.
"""

import base64
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import Attributes, LogEvent, Span
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan


def refs(span: OutboundSpan) -> Iterable[ContentRef]:
    """Every ref of a value, on the span and on its events."""
    of_events = [event.attributes for event in span.span.events]
    return [ref for attributes in (span.attributes, *of_events) for ref in values_of(attributes)]


def values_of(attributes: Attributes) -> Iterable[ContentRef]:
    """The refs of values among the attributes of a span, an event or a log event."""
    return [ContentRef(value) for key, value in attributes.items() if is_value(key, value)]


def is_value(key: str, value: Any) -> bool:
    """Whether the attribute names a value."""
    return key.endswith(names.REF_SUFFIX) and key not in names.THREAD_REFS and is_ref(value)


def encode(span: OutboundSpan, content: ShownContent, options: OutboundOptions) -> Span:
    """See the module."""
    attributes = inline(span.attributes, content)
    if span.url:
        attributes[names.RUN_URL] = span.url
    run = span.run
    for key, value in ((names.CONVERSATION, run.session), (names.USER, run.user), (names.RUN_ID, run.id)):
        if value is not None:
            attributes.setdefault(key, value)
    attributes |= options.attributes
    events = [replace(event, attributes=inline(event.attributes, content)) for event in span.span.events]
    message = content.text(span.span.status_message)
    return replace(span.span, attributes=attributes, events=events, status_message=message)


def encode_log(log: LogEvent, content: ShownContent) -> LogEvent:
    """A log event of the run, with its content inline as on spans."""
    return replace(log, attributes=inline(log.attributes, content))


def inline(attributes: Attributes, content: ShownContent) -> Attributes:
    """The attributes with content in place of refs; as they are in the content mode `ref`."""
    if content.is_link:
        return dict(attributes)
    written: Attributes = {}
    named: list[str] = []
    for key, value in attributes.items():
        if not key.endswith(names.REF_SUFFIX) or not is_ref(value):
            written[key] = content.attribute(key, value)
            continue
        ref = ContentRef(value)
        name = key.removesuffix(names.REF_SUFFIX)
        written[name] = json_text(_shown(key, ref, content))
        named.append(name)
    if named:
        written[names.CONTENT_INLINE] = named
    return written


def _shown(key: str, ref: ContentRef, content: ShownContent) -> Any:
    if key in names.THREAD_REFS:
        return content.messages(ref)
    return content.message(ref) if key in names.ONE_MESSAGE_REFS else content.value(ref)


def json_text(value: Any) -> str:
    """JSON that a reader takes back to the value: bytes are an object with their base64."""
    return canonical_json(_without_bytes(value)).decode("utf-8", "replace")


def _without_bytes(value: Any) -> Any:
    if isinstance(value, bytes):
        return {names.INLINE_BYTES: base64.b64encode(value).decode()}
    return value
