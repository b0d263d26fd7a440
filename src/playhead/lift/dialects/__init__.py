"""One file per dialect, all of one shape (`SpanDialect`).  A new one is a file and a line in DIALECTS.

    conventions     conventions that many instrumentations follow
    frameworks      frameworks with names of their own
    platforms       SDKs of products that store traces
    coding_agents   Claude Code, Codex and Gemini CLI

A span may have attributes of several dialects.  Each takes what it knows, in the order of DIALECTS; the first ref of a
name stays.  OpenTelemetry's messages come early, since refs of other programs may be beside them; before them come
OpenLLMetry's tools, which contain them, and LangSmith's `gen_ai.prompt`, which has another meaning there.  A span's
kind is from the first dialect in BY_KIND that knows it; the order is Langfuse's (own types, OpenInference's,
OpenTelemetry's, vendors').
"""

from collections.abc import Mapping
from typing import Final, Protocol

from playhead.lift.dialects import coding_agents
from playhead.lift.dialects.conventions import openinference, openllmetry, otel_genai
from playhead.lift.dialects.frameworks import crewai, pydantic_ai, vercel
from playhead.lift.dialects.platforms import agentops, laminar, langfuse, langsmith, logfire, mlflow, vendors
from playhead.lift.found import LiftedContent
from playhead.model.span import Attributes


class SpanDialect(Protocol):
    """What every module in DIALECTS has."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """What the dialect is called."""
        ...

    @property
    def PREFIXES(self) -> frozenset[str]:  # noqa: N802
        """First segments (up to the first dot) of its attribute names; spans without any of these are not passed to
        it."""
        ...

    @property
    def ALIASES(self) -> Mapping[str, str]:  # noqa: N802
        """Its attribute names → ours for the same value (a session, a model, tokens), to which the value is copied."""
        ...

    def speaks(self, attributes: Attributes, /) -> bool:
        """Whether it recognises these attributes, and so knows which of them are content."""
        ...

    def kind(self, attributes: Attributes, /) -> str | None:
        """The span's kind, one of `names.KINDS`; None when it is not known.  Called before `take`."""
        ...

    def take(self, attributes: Attributes, kind: str | None, found: LiftedContent, /) -> None:
        """Moves all content it knows out of the attributes of a span of this kind, in place, and leaves refs."""
        ...


DIALECTS: Final[tuple[SpanDialect, ...]] = (
    coding_agents, langsmith, openllmetry, otel_genai, langfuse, openinference, pydantic_ai, logfire, vercel, mlflow,
    laminar, agentops, crewai, vendors,
)  # fmt: skip
BY_KIND: Final[tuple[SpanDialect, ...]] = (
    coding_agents, langfuse, logfire, openinference, crewai, otel_genai, vercel, openllmetry, langsmith, mlflow,
    laminar, agentops, vendors,
)  # fmt: skip
