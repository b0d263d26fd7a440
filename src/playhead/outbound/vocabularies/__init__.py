"""Vocabularies: the attributes that a kind of destination reads, one file each, all of one shape (`Vocabulary`).

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
    """What every module here has."""

    def refs(self, span: OutboundSpan, /) -> Iterable[ContentRef]:
        """The refs of values (not of threads) that `encode` reads."""
        ...

    def encode(self, span: OutboundSpan, content: ShownContent, options: OutboundOptions, /) -> Span:
        """The span in the destination's words.  Its attributes hold texts, numbers, truth values and lists of these."""
        ...


BY_NAME: Final[Mapping[str, SpanVocabulary]] = {"otlp": otel_genai, "langfuse": langfuse, "phoenix": openinference}
