"""store or journal → [outbound] → Langfuse, Phoenix, any OTLP backend. Converts spans to the vocabulary of a
destination. Pure.

    span           `OutboundSpan`: one ended span of the record, its content as refs, and facts about its run
    counting       the kind with which a span is counted, for destinations that add up tokens and costs themselves
    contents       `OutboundContents`: the contents that were fetched, and which are still missing
    options        `OutboundOptions`: vocabulary, content mode, redaction
    content_modes  how much of the content is sent: all (`full`), its beginning (`preview`), or a link (`ref`)
    vocabularies   a file per vocabulary: the names of its attributes
    encoding       `wanted` and `encode`, which use all of these; refuses spans that every destination would refuse
    otlp           encoded spans as OTLP protobuf
    langfuse_media images and files for Langfuse, and the requests that upload them
    answers        what an HTTP status means, and a destination's error as one line that is safe to show

This file imports nothing, because delivery to the collector needs only `otlp`, in each program that records.

The caller reads the store or the journal, and sends:

    span = outbound_span(stored, run, url=...)
    contents = OutboundContents()
    while missing := contents.missing(wanted(span, options)):
        ...  # fetch `missing.threads` and `missing.contents`; stop when some stay missing for too long
    body = traces_request([encode(span, contents, options)])
"""
