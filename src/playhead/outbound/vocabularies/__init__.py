"""Vocabularies: the names of attributes that a kind of destination reads. One file each, with the functions of
`SpanVocabulary`.

otel_genai      OpenTelemetry's GenAI conventions, for any OTLP backend
langfuse        Langfuse's own attributes
openinference   OpenInference, which Phoenix reads
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.outbound.content_modes import ShownContent
from playhead.outbound.options import OutboundOptions
from playhead.outbound.span import OutboundSpan
from playhead.outbound.vocabularies import langfuse, openinference, otel_genai


class SpanVocabulary(Protocol):
    """The functions that every vocabulary module has."""

    def refs(self, span: OutboundSpan, /) -> Iterable[ContentRef]:
        """Returns the refs of values (not of threads) that `encode` reads."""
        ...

    def encode(self, span: OutboundSpan, content: ShownContent, options: OutboundOptions, /) -> Span:
        """Returns the span in the destination's vocabulary. Its attributes hold texts, numbers, booleans and lists of
        these."""
        ...


BY_NAME: Final[Mapping[str, SpanVocabulary]] = {"otlp": otel_genai, "langfuse": langfuse, "phoenix": openinference}
