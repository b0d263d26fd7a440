"""span + contents → [encoding] → otlp.  A span in the vocabulary of a destination. Pure.

One span that a destination refuses makes it refuse the whole batch, so each is checked before it is sent (`check`,
`sendable`).
"""

import re
from dataclasses import replace
from typing import Final

from playhead.model import names
from playhead.model.json_value import JsonValue
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import Attributes, LogEvent, Span
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.contents import OutboundContents, WantedRefs
from playhead.outbound.langfuse_media import OutboundMedia
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan, outbound_span
from playhead.outbound.vocabularies import BY_NAME, langfuse, otel_genai


def wanted(span: OutboundSpan, options: OutboundOptions) -> WantedRefs:
    """Returns the refs whose content `encode` writes. The caller fetches those that `OutboundContents.missing`
    returns."""
    if options.content == "ref":
        return WantedRefs()
    threads = (span.ref(name) for name in sorted(names.THREAD_REFS))
    contents = dict.fromkeys(BY_NAME[options.vocabulary].refs(span))
    if span.run.metadata is not None:
        contents[span.run.metadata] = None
    return WantedRefs(tuple(contents), tuple(dict.fromkeys(ref for ref in threads if ref is not None)))


def encode(span: OutboundSpan, contents: OutboundContents, options: OutboundOptions) -> Span:
    """Returns the span with the attributes of the destination's vocabulary.

    Content that was not fetched is replaced by a text that says so. Raises ValueError for a span that has not ended,
    because destinations cannot correct a span later, and for a span with invalid ids or times.
    """
    check(span.span)
    return sendable(BY_NAME[options.vocabulary].encode(span, ShownContent(span, contents, options), options))


def media_of(span: OutboundSpan, contents: OutboundContents, options: OutboundOptions) -> list[OutboundMedia]:
    """Returns images, files and other bytes to upload before the span. Empty unless the destination is Langfuse in mode
    `full`: only Langfuse stores them separately."""
    if options.vocabulary != "langfuse" or options.content != "full" or not options.media:
        return []
    return langfuse.media(span, ShownContent(span, contents, options))


def wanted_of_log(log: LogEvent, options: OutboundOptions) -> WantedRefs:
    """Returns the refs whose content `encode_log` writes."""
    if options.content == "ref":
        return WantedRefs()
    threads = [ContentRef(ref) for name in sorted(names.THREAD_REFS) if is_ref(ref := log.attributes.get(name))]
    return WantedRefs(tuple(otel_genai.values_of(log.attributes)), tuple(threads))


def encode_log(log: LogEvent, contents: OutboundContents, options: OutboundOptions) -> LogEvent:
    """Returns a log event of a run (state, checkpoints, ...) for another Playhead. Other destinations read only
    spans."""
    nothing = outbound_span(Span("", "", None, log.name, log.time_ns, log.time_ns, {}))
    encoded = otel_genai.encode_log(log, ShownContent(nothing, contents, options))
    return replace(encoded, attributes=sendable_attributes(encoded.attributes))


# --- what destinations refuse -----------------------------------------------------------------------------------------


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
        name=_sendable_value(span.name) or "span",
        end_ns=max(span.start_ns, span.end_ns or 0),
        status_message=_sendable_value(span.status_message),
        attributes=sendable_attributes(span.attributes),
        events=[
            replace(event, name=_sendable_value(event.name), attributes=sendable_attributes(event.attributes))
            for event in span.events
        ],
    )


def sendable_attributes(attributes: Attributes) -> Attributes:
    """Returns the attributes without characters that destinations cannot store."""
    return {_sendable(key): _sendable_value(value) for key, value in attributes.items()}


def _sendable(text: str) -> str:
    return str(text) if _UNSENDABLE.search(text) is None else _UNSENDABLE.sub(_replacement, text)


def _sendable_value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _sendable(value)
    if isinstance(value, list | tuple):
        return [_sendable_value(item) for item in value]
    if isinstance(value, dict):
        return {_sendable(str(key)): _sendable_value(item) for key, item in value.items()}
    return value


def _replacement(match: "re.Match[str]") -> str:
    return "" if match[0] == "\x00" else "\ufffd"
