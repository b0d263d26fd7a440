"""project → [counting] → span.  What a span counts as, where the destination adds up tokens and costs itself.  Pure.

Langfuse and Phoenix count every span of a model call.  Where several describe one call, only the one that our
projection counts may go out as that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.outbound.options import Vocabulary
from playhead.project.attributes import kind_of
from playhead.project.duplicates.counted_run import CountedRun
from playhead.project.logs.log_events import describes_call

# Kinds of calls that several instrumentations may describe.
OFTEN_TWICE: Final = frozenset({"llm", "tool", "agent"})
_CONTENT: Final = (names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF, names.INPUT_TOKENS)


@dataclass(frozen=True, slots=True)
class CountedSpan:
    """A span to send. `kind`: what it counts as in its run; None: what it says itself."""

    span: Span
    kind: str | None = None


def counts_calls(vocabulary: Vocabulary) -> bool:
    """Whether destinations of this vocabulary sum up the spans that they get, and read no log events.  Backends that
    take what was recorded, such as another Playhead, count for themselves."""
    return vocabulary != "otlp"


def needs_run(spans: Iterable[Span], logs: Iterable[LogEvent]) -> bool:
    """Whether the rest of the run may decide what these count as. Calls that only our SDK recorded are clear, but for
    functions that are declared to be model calls."""
    return any(map(describes_call, logs)) or any(map(_is_unclear, spans))


def _is_unclear(span: Span) -> bool:
    if span.scope != names.SCOPE:
        return names.SESSION_RUN in span.attributes or kind_of(span) in OFTEN_TWICE
    return kind_of(span) == "llm" and not any(name in span.attributes for name in _CONTENT)


def counted_span(run: CountedRun, span: Span) -> CountedSpan:
    """The span as it counts in its run. A duplicate is a step without messages: the other span has them."""
    node = run.tree.get(span.span_id)
    if node is None:
        return CountedSpan(span)
    if node.kind is None and node.own in OFTEN_TWICE:
        kept = {key: value for key, value in node.span.attributes.items() if key not in names.THREAD_REFS}
        return CountedSpan(replace(node.span, attributes=kept), "step")
    return CountedSpan(node.span, node.kind or "step")
