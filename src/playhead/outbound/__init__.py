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

The caller reads the store or the journal, and sends:

    span = outbound_span(stored, run, url=...)
    contents = OutboundContents()
    while missing := contents.missing(wanted(span, options)):
        ...  # fetch `missing.threads` and `missing.contents`; stop when some stay missing for too long
    body = traces_request([encode(span, contents, options)])
"""

from playhead.outbound.contents import ContentNotAtHand, OutboundContents, WantedRefs
from playhead.outbound.encoding import encode, encode_log, media_of, wanted, wanted_of_log
from playhead.outbound.options import CONTENT_MODES, VOCABULARIES, ContentMode, OutboundOptions, Vocabulary
from playhead.outbound.span import OutboundCost, OutboundRun, OutboundSpan, outbound_span, run_of
from playhead.outbound.vocabularies.media import OutboundMedia

__all__ = [
    "CONTENT_MODES",
    "VOCABULARIES",
    "ContentMode",
    "ContentNotAtHand",
    "OutboundContents",
    "OutboundCost",
    "OutboundMedia",
    "OutboundOptions",
    "OutboundRun",
    "OutboundSpan",
    "Vocabulary",
    "WantedRefs",
    "encode",
    "encode_log",
    "media_of",
    "outbound_span",
    "run_of",
    "wanted",
    "wanted_of_log",
]
