"""store → [projection] → read.  Makes a run's events, its row in lists and snapshots of its state from its spans
and log events.

Pure and deterministic: the same spans and log events give the same events with the same ids and seqs, independent of
their order of arrival and of repetitions.

A run that has ended and received no data for a while is sealed: the seqs of its events never change again.  Events
of data that arrives later are appended and marked `late`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from playhead.model.event import MessageAdded, RunEvent, RunResumed, RunStarted, UnknownEvent
from playhead.model.state import RUNNING, RunState, fold
from playhead.projection.call_events import EventWriter
from playhead.projection.counted_run import run_calls
from playhead.projection.forking import first_order, fork_root, shared_with
from playhead.projection.inputs import Projection, ProjectSettings, RunInput
from playhead.projection.known_messages import KnownMessages
from playhead.projection.order import logs_once, spans_missing, timeline
from playhead.projection.processes import processes_in
from playhead.projection.progress import ProjectedRun, continuable_state
from playhead.projection.relations import Relations
from playhead.projection.summary import row_of, states, totals_of


def project(work: RunInput, now_ns: int, settings: ProjectSettings) -> Projection:
    """Projects a run from all its spans and log events."""
    counted = run_calls(work.run, work.spans, work.logs)
    tree, logs = counted.tree, logs_once(counted.logs)
    messages, shared = KnownMessages(work.roles, work.messages), shared_with(work, tree)
    writer = EventWriter(work.run, tree, work.nodes, messages, logs, shared)
    for moment in timeline(tree, logs):
        writer.write(moment)
    events: Sequence[RunEvent] = writer.pop_events()
    sealed = work.sealed is not None and not is_resumed(work.sealed, events)
    if work.sealed is not None and sealed:
        events = use_sealed_order(work.sealed, events)
    start = fold(shared.events, RunState(seq=shared.upto)) if shared else None
    state, snapshots = states(events, settings.snapshot_every, start)
    tally, processes = totals_of(events, shared), processes_in(tree.nodes, logs)
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
    unread = messages.unread - work.looked_up
    plain = not (fork or unread or work.sealed)
    done = plain and state.status != RUNNING and not (messages.unread or messages.missing or is_under_way)
    result = Projection(events, row, snapshots, unread, settled=done)
    if settings.keep_state and plain and state.status == RUNNING:
        result.progress = continuable_state(work.run, ProjectedRun(tree, logs, writer, messages, state, tally))
    return result


# --- sealed runs ------------------------------------------------------------------------------------------------------


def use_sealed_order(sealed: Sequence[RunEvent], events: Sequence[RunEvent]) -> list[RunEvent]:
    """All events of a sealed run: the sealed ones with their seqs, matched by id, then the others in their order."""
    now = {event.id: event for event in events}
    ordered = [_renumbered(now.get(old.id, old), old.seq, old.late) for old in sealed]
    sealed_ids = {old.id for old in sealed}
    # A message that a late call added may have been attributed to a later call when the run was sealed. It is in the
    # sealed events already, under another id.
    renamed = Counter(old.message for old in sealed if isinstance(old, MessageAdded) and old.id not in now)
    for event in events:
        if event.id in sealed_ids:
            continue
        if isinstance(event, MessageAdded) and renamed[event.message] > 0:
            renamed[event.message] -= 1
            continue
        ordered.append(_renumbered(event, ordered[-1].seq + 1 if ordered else event.seq, late=True))
    return ordered


def is_resumed(sealed: Sequence[RunEvent], events: Sequence[RunEvent]) -> bool:
    """Whether a sealed run was resumed: a later attempt follows the sealed events, all of which keep their position and
    are not `late`."""
    count = len(sealed)
    following = events[count] if len(events) > count else None
    return (
        isinstance(following, RunResumed)
        and following.attempt > latest_attempt(sealed)
        and all(old.id == event.id and not old.late for old, event in zip(sealed, events, strict=False))
    )


def latest_attempt(events: Iterable[RunEvent]) -> int:
    """The highest attempt number in these events."""
    return max((event.attempt for event in events if isinstance(event, RunStarted | RunResumed)), default=0)


def _renumbered(event: RunEvent, seq: int, late: bool) -> RunEvent:
    if event.seq == seq and event.late == late:
        return event
    if isinstance(event, UnknownEvent):  # its JSON is kept as it came, except for seq and `late`
        original = {**event.original, "seq": seq} | ({"late": True} if late else {})
        return replace(event, seq=seq, late=late, original=original)
    return replace(event, seq=seq, late=late)
