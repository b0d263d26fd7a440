"""Dialects of spans: one file per dialect, each with the functions of `SpanDialect`. A new dialect is a file and an
entry in DIALECTS.

    otel_genai, openinference, openllmetry                       conventions that many instrumentations follow
    pydantic_ai, crewai, vercel                                  frameworks with names of their own
    langfuse, langsmith, logfire, mlflow, laminar, agentops      SDKs of products that store traces
    coding_agents                                                Claude Code, Codex and Gemini CLI
    vendors                                                      frameworks that add a few names for content

A span may have attributes of several dialects. Each takes what it knows, in the order of DIALECTS; the first ref of a
name stays. `otel_genai` comes early, because its messages may be next to refs of other programs. Before it comes
`openllmetry`, whose tools repeat their values under OpenTelemetry's names, and before both comes `langsmith`, for which
`gen_ai.prompt` has another meaning. A span's kind is from the first dialect in BY_KIND that knows it; the order is the
same as in Langfuse (its own types, OpenInference's, OpenTelemetry's, vendors').
"""

from collections.abc import Mapping
from typing import Final, Protocol

from playhead.lift.dialects import (
    agentops,
    coding_agents,
    crewai,
    laminar,
    langfuse,
    langsmith,
    logfire,
    mlflow,
    openinference,
    openllmetry,
    otel_genai,
    pydantic_ai,
    vendors,
    vercel,
)
from playhead.lift.extraction import ExtractedContent
from playhead.model.span import Attributes


class SpanDialect(Protocol):
    """The functions and constants that every module in DIALECTS has."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """Name of the dialect."""
        ...

    @property
    def PREFIXES(self) -> frozenset[str]:  # noqa: N802
        """First segments (up to the first dot) of its attribute names; spans without any of these are not passed to
        it."""
        ...

    @property
    def ALIASES(self) -> Mapping[str, str]:  # noqa: N802
        """Attribute names of the dialect → our names for the same value (a session, a model, tokens). The values are
        copied."""
        ...

    def matches(self, attributes: Attributes, /) -> bool:
        """Whether the dialect recognises these attributes, and so knows which of them are content."""
        ...

    def kind(self, attributes: Attributes, /) -> str | None:
        """Returns the span's kind, one of `names.KINDS`; None if it is unknown. Called before `extract`."""
        ...

    def extract(self, attributes: Attributes, kind: str | None, contents: ExtractedContent, /) -> None:
        """Moves all content that the dialect knows out of the attributes of a span of this kind, in place, and leaves
        refs."""
        ...


DIALECTS: Final[tuple[SpanDialect, ...]] = (
    coding_agents, langsmith, openllmetry, otel_genai, langfuse, openinference, pydantic_ai, logfire, vercel, mlflow,
    laminar, agentops, crewai, vendors,
)  # fmt: skip
BY_KIND: Final[tuple[SpanDialect, ...]] = (
    coding_agents, langfuse, logfire, openinference, crewai, otel_genai, vercel, openllmetry, langsmith, mlflow,
    laminar, agentops, vendors,
)  # fmt: skip
