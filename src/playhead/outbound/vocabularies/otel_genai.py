"""OpenTelemetry's GenAI conventions, for any OTLP backend, including another Playhead.

Every ref `NAME_ref` is replaced by its content under `NAME`, which is the conventions' own name for messages,
instructions, tool definitions, arguments and results: `gen_ai.input.messages_ref` → `gen_ai.input.messages`, as JSON
text. Tool definitions are in the conventions' flat form, with a note of the form that they had. In the content mode
`ref`, the refs stay. All other attributes stay, so that another Playhead gives the same answers.
"""

import base64
from collections.abc import Iterable
from dataclasses import replace

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.json_value import JsonValue
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import Attributes, LogEvent, Span
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan


def refs(span: OutboundSpan) -> Iterable[ContentRef]:
    """Returns every ref of a value, on the span and on its events."""
    of_events = [event.attributes for event in span.span.events]
    return [ref for attributes in (span.attributes, *of_events) for ref in values_of(attributes)]


def values_of(attributes: Attributes) -> Iterable[ContentRef]:
    """Returns the refs of values among the attributes of a span, an event or a log event."""
    return [ContentRef(value) for key, value in attributes.items() if is_value(key, value)]


def is_value(key: str, value: JsonValue) -> bool:
    """Whether the attribute is a ref of a value, not of a thread."""
    return key.endswith(names.REF_SUFFIX) and key not in names.THREAD_REFS and is_ref(value)


def encode(span: OutboundSpan, content: ShownContent, options: OutboundOptions) -> Span:
    """Returns the span with content in place of refs; see `SpanVocabulary`."""
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
    """Returns a log event with content in place of refs, as on spans."""
    return replace(log, attributes=inline(log.attributes, content))


def inline(attributes: Attributes, content: ShownContent) -> Attributes:
    """Returns the attributes with content in place of refs; in the content mode `ref`, the attributes unchanged."""
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
        tools, forms = content.tool_definitions(ref) if name == names.TOOL_DEFINITIONS else ([], [])
        if any(forms):
            written[names.TOOL_FORMS] = [*forms]
        written[name] = json_text(tools or _shown(key, ref, content))
        named.append(name)
    if named:
        written[names.CONTENT_INLINE] = named
    return written


def _shown(key: str, ref: ContentRef, content: ShownContent) -> object:
    if key in names.THREAD_REFS:
        return content.messages(ref)
    return content.message(ref) if key in names.ONE_MESSAGE_REFS else content.value(ref)


def json_text(value: object) -> str:
    """Returns JSON text from which a reader gets the same value; bytes become an object with their base64."""
    return canonical_json(_without_bytes(value)).decode("utf-8", "replace")


def _without_bytes(value: object) -> object:
    if isinstance(value, bytes):
        return {names.INLINE_BYTES: base64.b64encode(value).decode()}
    return value
