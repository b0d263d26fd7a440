"""projection → [counting] → span. The kind with which a span is counted, for destinations that add up tokens and costs.
Pure.

Langfuse and Phoenix count every span of a model call. Where several spans describe one call, only the one that our
projection counts may be sent as a model call.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.outbound.options import Vocabulary
from playhead.projection.attributes import kind_of
from playhead.projection.counted_run import RunCalls
from playhead.projection.log_events import describes_call

# Kinds of calls for which several instrumentations may record a span.
OFTEN_TWICE: Final = frozenset({"llm", "tool", "agent"})
_CONTENT: Final = (names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF, names.INPUT_TOKENS)


@dataclass(frozen=True, slots=True)
class CountedSpan:
    """A span to send. `kind`: the kind with which its run counts it; None: the span's own kind."""

    span: Span
    kind: str | None = None


def counts_calls(vocabulary: Vocabulary) -> bool:
    """Whether destinations of this vocabulary add up the spans that they receive, and read no log events. Backends that
    receive unchanged records, such as another Playhead, detect duplicates themselves."""
    return vocabulary != "otlp"


def needs_run(spans: Iterable[Span], logs: Iterable[LogEvent]) -> bool:
    """Whether these spans and logs can be counted only together with the rest of their run. Not needed for calls that
    only our SDK recorded, except functions that are declared to be model calls."""
    return any(map(describes_call, logs)) or any(map(_is_unclear, spans))


def _is_unclear(span: Span) -> bool:
    if span.scope != names.SCOPE:
        return names.SESSION_RUN in span.attributes or kind_of(span) in OFTEN_TWICE
    return kind_of(span) == "llm" and not any(name in span.attributes for name in _CONTENT)


def counted_span(run: RunCalls, span: Span) -> CountedSpan:
    """Returns the span with the kind that its run counts. A duplicate becomes a step without messages: the other span
    has them."""
    node = run.tree.get(span.span_id)
    if node is None:
        return CountedSpan(span)
    if node.kind is None and node.own in OFTEN_TWICE:
        attributes = {key: value for key, value in node.span.attributes.items() if key not in names.THREAD_REFS}
        return CountedSpan(replace(node.span, attributes=attributes), "step")
    return CountedSpan(node.span, node.kind or "step")
