"""store or journal → [outbound] → Langfuse, Phoenix, any OTLP backend.  Spans in the words of a destination.  Pure.

    span           `OutboundSpan`: one ended span of the record, its content as refs, and what its run says
    counting       what a span counts as, where the destination adds up tokens and costs itself
    contents       `OutboundContents`: the content that is at hand, and which is still to be fetched
    options        `OutboundOptions`: vocabulary, content mode, redaction
    content_modes  what of the content is sent: all (`full`), its beginning (`preview`), or a link (`ref`)
    vocabularies   a file per vocabulary: which attributes say what
    valid          what no destination takes: found before it is sent
    encoding       `wanted` and `encode`: the way through all of these
    otlp           encoded spans as OTLP protobuf
    langfuse_uploads   the requests with which Langfuse is given images and files

This file imports nothing: delivery to the collector needs `otlp` alone, in each program that records.

The caller reads the store or the journal, and sends:

    span = outbound_span(stored, run, url=...)
    contents = OutboundContents()
    while missing := contents.missing(wanted(span, options)):
        ...  # fetch `missing.threads` and `missing.contents`; stop when some stay missing for too long
    body = traces_request([encode(span, contents, options)])
"""
