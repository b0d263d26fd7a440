"""span + contents → [encoding] → the span in the destination's vocabulary. Pure."""

from dataclasses import replace

from playhead.model import names
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import LogEvent, Span
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.contents import OutboundContents, WantedRefs
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan, outbound_span
from playhead.outbound.valid import check, sendable, sendable_attributes
from playhead.outbound.vocabularies import BY_NAME, langfuse, otel_genai
from playhead.outbound.vocabularies.media import OutboundMedia


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
