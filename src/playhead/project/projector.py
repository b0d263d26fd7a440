"""store → [project] → read.  Makes a run's events, its row in lists and its snapshots out of its spans and log events.

Pure and deterministic: the same spans and log events give the same events with the same ids and seqs, independent of
their order of arrival and of repetitions.
"""

from collections.abc import Sequence

from playhead.model.event import RunEvent
from playhead.model.state import RUNNING, RunState, fold
from playhead.project.call_events import EventWriter
from playhead.project.context.known_messages import KnownMessages
from playhead.project.duplicates.counted_run import counted_run
from playhead.project.forking import first_order, fork_root, shared_with
from playhead.project.inputs import Projection, ProjectSettings, RunInput
from playhead.project.order import logs_once, moments, spans_missing
from playhead.project.processes import processes_in
from playhead.project.progress import ProjectedRun, keep
from playhead.project.relations import Relations
from playhead.project.sealing import is_resumed, keep_sealed_order
from playhead.project.summary import row_of, states, tallied


def project(work: RunInput, now_ns: int, settings: ProjectSettings) -> Projection:
    """Projects a run from all its spans and log events."""
    counted = counted_run(work.run, work.spans, work.logs)
    tree, logs = counted.tree, logs_once(counted.logs)
    messages, shared = KnownMessages(work.roles, work.messages), shared_with(work, tree)
    writer = EventWriter(work.run, tree, work.nodes, messages, logs, shared)
    for moment in moments(tree, logs):
        writer.write(moment)
    events: Sequence[RunEvent] = writer.take()
    sealed = work.sealed is not None and not is_resumed(work.sealed, events)
    if work.sealed is not None and sealed:
        events = keep_sealed_order(work.sealed, events)
    start = fold(shared.events, RunState(seq=shared.upto)) if shared else None
    state, snapshots = states(events, settings.snapshot_every, start)
    tally, processes = tallied(events, shared), processes_in(tree.nodes, logs)
    is_under_way = any(process.ended_ns is None for process in processes)
    quiet = now_ns - work.last_arrival_ns > settings.quiet_after_ns(is_under_way=is_under_way)
    fork = fork_root(work.spans) is not None
    # A fork's seqs follow its parent's, so they are final only when the parent's are.
    settled = not fork or (work.parent is not None and work.parent.sealed and shared is not None)
    sealed = sealed or (quiet and settled and state.status != RUNNING)
    row = row_of(
        work.run,
        tally,
        state,
        earliest_ns=min((node.span.start_ns for node in tree.nodes), default=None),
        spans_missing=spans_missing(tree, logs, first_order(work.spans))
        + sum(process.spans_missing for process in processes),
        sealed=sealed,
        relations=Relations(work.run, (node.span for node in tree.nodes)),
        shared=shared,
        processes=processes,
    )
    unread = messages.unread - work.asked
    plain = not (fork or unread or work.sealed)
    done = plain and state.status != RUNNING and not (messages.unread or messages.missing or is_under_way)
    result = Projection(events, row, snapshots, unread, settled=done)
    if settings.keep and plain and state.status == RUNNING:
        result.progress = keep(work.run, ProjectedRun(tree, logs, writer, messages, state, tally))
    return result
