"""What the collector makes of what this process has journaled, without a collector."""

from collections.abc import Sequence

from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.thread import ThreadNode, extend
from playhead.projection.inputs import Projection
from playhead.projection.projector import ProjectSettings, project
from playhead_collector.store.ports.projections import RunWork
from tests.support.journal_reader import Journaled

_NS = 1_000_000_000


def projected(seen: Journaled, run: str, *, quiet_s: int = 0, sealed: Sequence[RunEvent] | None = None) -> Projection:
    """Events and row of a run; a run belongs to what names it, else to the trace of that name, as in the store."""
    ours: list[Span] = [span for span in (*seen.announced, *seen.spans) if span.attributes.get(names.RUN_ID) == run]
    for span in ours:  # a scope is said once for all when they are sent
        span.scope = span.scope or (names.SCOPE if names.KIND in span.attributes else "")
    nodes: dict[ContentRef, ThreadNode] = {}
    for thread in seen.threads:
        depth = nodes[thread.parent].depth if thread.parent is not None else 0
        nodes |= {node.ref: node for node in extend(thread.messages, thread.parent, depth)}
    messages = {node.message: value_of(seen.contents[node.message]) for node in nodes.values()}
    last = max(span.end_ns or span.start_ns for span in ours)
    work = RunWork(
        run=run,
        spans=ours,
        logs=[log for log in seen.logs if log.attributes.get(names.RUN_ID) == run],
        nodes=nodes,
        roles={ref: str(message["role"]) for ref, message in messages.items()},
        sealed=sealed,
        last_arrival_ns=last,
        messages=messages,
    )
    return project(work, last + quiet_s * _NS, ProjectSettings())
