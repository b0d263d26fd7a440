"""store → [projection]: counts each call of a run once, given all its spans and log events.

A call may be described by several spans, by a span and log records, or by log records alone.  The tree has one node for
each span; the kind of a node says whether its call counts there.  Used by the projector, and by forwarding to
destinations that count calls themselves.  Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playhead.model.span import LogEvent, Span
from playhead.projection.duplicate_calls import merge_duplicate_calls, merge_framework_spans
from playhead.projection.log_events import with_log_content
from playhead.projection.session_records import with_calls_of_records
from playhead.projection.span_tree import SpanTree


@dataclass(frozen=True, slots=True)
class RunCalls:
    """The spans of a run, completed from log records, and the log events that do not describe a call.

    `last_records`: see `RecordedCalls`.
    """

    tree: SpanTree
    logs: Sequence[LogEvent]
    last_records: Mapping[str, LogEvent | Span]

    @property
    def has_ended(self) -> bool:
        """Whether the span with which the run ends has arrived and has ended."""
        return any(node.ends_run and node.span.end_ns is not None for node in self.tree.roots)


def run_calls(run: str, spans: Sequence[Span], logs: Sequence[LogEvent]) -> RunCalls:
    """Counts the calls of a run, given all its stored spans and log events. `run`: its id."""
    recorded = with_calls_of_records(run, spans, logs)
    tree = SpanTree(with_log_content(recorded.spans, logs))
    merge_duplicate_calls(tree.nodes)
    merge_framework_spans(tree.nodes)
    return RunCalls(tree, recorded.logs, recorded.last_records)
