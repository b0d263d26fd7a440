"""store → [projection]: the order in which a run's calls began and ended.

Our SDK numbers starts and log events (`playhead.call.order`) and records for each end which start it came after, so
their order needs no clock.  Each process of a run counts for itself; `process_order` merges their orders.  Spans
without numbers (other instrumentation, older SDKs in other processes) are ordered by time, never before their parent.
"""

from collections.abc import Collection, Iterable, Sequence, Set
from operator import itemgetter

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.span import LogEvent
from playhead.projection.attributes import attempt_of, number_of, order_of, process_of, replaced_by, whole
from playhead.projection.process_order import END, LOG, START, Key, TimelineEntry, in_order_of_causes
from playhead.projection.span_tree import SpanNode, SpanTree

# Order of moments at the same time: ends of calls that began earlier, then starts, then ends of calls that began at
# this time.
_ENDS, _BEGINS, _ENDS_AT_ONCE = 0, 1, 2


_Keyed = list[tuple[Key, TimelineEntry]]


def timeline(tree: SpanTree, logs: Sequence[LogEvent]) -> list[TimelineEntry]:
    """All starts, ends and log events in order. `logs` should come from `logs_once`: then the result does not depend on
    the order in which they arrived."""
    by_process: dict[str, _Keyed] = {"": []}
    loose: list[TimelineEntry] = []
    # A resumed attempt continues the numbers of the previous one if its `resumed` log event has a number; otherwise it
    # begins again at 1.
    goes_on = any(log.name == names.RESUMED and order_of(log.attributes) for log in logs)
    for node in tree.nodes:
        process = process_of(node.span.attributes)
        _count(node, 0 if goes_on or process else node.attempt, by_process.setdefault(process, []), loose)
    for n, log in enumerate(logs):
        node = tree.get(log.span_id)
        if number_of(log.attributes) is None:
            loose.append(TimelineEntry(LOG, log.time_ns, node, log))
            continue
        process = process_of(log.attributes)
        attempt = 0 if goes_on or process else attempt_of(log.attributes) or (node.attempt if node else 0)
        by_process.setdefault(process, []).append(log_entry(log, node, attempt, n))
    for entries in by_process.values():
        entries.sort(key=itemgetter(0))
    counted = by_process[""] if len(by_process) == 1 else in_order_of_causes(by_process, by_attempt=not goes_on)
    if not loose:
        return [moment for _, moment in counted]
    return _merge(counted, _by_time(tree, counted, loose))


def logs_once(logs: Iterable[LogEvent]) -> list[LogEvent]:
    """The log events that become events of the run, each once, in a fixed order. Left out: announcements of spans, and
    log events in which instrumentations send the content of a model call."""
    events = (log for log in logs if log.name != names.STARTED and not _is_content(log.name))
    keyed = {(log.time_ns, log.name, log.span_id or "", canonical_json(log.attributes)): log for log in events}
    return [keyed[key] for key in sorted(keyed)]


def _is_content(name: str) -> bool:
    return name.startswith("gen_ai.") and name != names.EVALUATION


def spans_missing(tree: SpanTree, logs: Iterable[LogEvent], first: int = 1) -> int:
    """Number of missing call numbers of the run's own process, from `first` on. Works also if a later attempt began
    again at 1. Calls that a crash lost and that a later attempt made again do not count as missing."""
    logs = list(logs)
    counted = {node.order for node in tree.nodes}
    counted.update(order_of(log.attributes) for log in logs)
    replaced = [span for log in logs if log.name == names.RESUMED for span in replaced_by(log)]
    return holes({order for order in counted if order is not None}, replaced, first)


def holes(counted: Set[int], replaced: Collection[tuple[int, int]], first: int = 1) -> int:
    """How many numbers from `first` on are missing, not counting the ranges (first, last) in `replaced`."""
    orders = {order for order in counted if order >= first} if first > 1 else counted
    last = max(orders, default=first - 1)
    missing = last - (first - 1) - len(orders)
    if missing <= 0 or not replaced:
        return max(0, missing)
    missed = (order for order in range(first, last) if order not in orders)
    return sum(not any(low <= hole <= high for low, high in replaced) for hole in missed)


def log_entry(log: LogEvent, node: SpanNode | None, attempt: int, n: int) -> tuple[Key, TimelineEntry]:
    """The sort key and the moment of a log event that has a number; `n`: its index, which orders log events that are
    equal in all else."""
    key = (attempt, number_of(log.attributes) or 0, 0, 0, log.time_ns, log.span_id or "", n)
    return key, TimelineEntry(LOG, log.time_ns, node, log)


def numbered_entries(node: SpanNode, attempt: int) -> _Keyed:
    """The start and the end (if it has ended) of a call that has numbers, with their sort keys."""
    counted: _Keyed = []
    _count(node, attempt, counted, [])
    return counted


def last_key(tree: SpanTree, logs: Sequence[LogEvent]) -> Key | None:
    """The sort key of the last moment of a run in which everything has a number."""
    goes_on = any(log.name == names.RESUMED and order_of(log.attributes) for log in logs)
    keys = [key for node in tree.nodes for key, _ in numbered_entries(node, 0 if goes_on else node.attempt)]
    for log in logs:
        node = tree.get(log.span_id)
        attempt = 0 if goes_on else attempt_of(log.attributes) or (node.attempt if node else 0)
        keys.append(log_entry(log, node, attempt, 0)[0])
    return max(keys, default=None)


def _count(node: SpanNode, attempt: int, counted: _Keyed, loose: list[TimelineEntry]) -> None:
    span = node.span
    order = number_of(span.attributes)
    start = TimelineEntry(START, span.start_ns, node)
    if order is None:
        loose.append(start)
    else:
        counted.append(((attempt, order, 0, 0, span.start_ns, span.span_id, -1), start))
    if span.end_ns is None:
        return
    end = TimelineEntry(END, span.end_ns, node)
    after = whole(span.attributes, names.CALL_ENDED_AFTER)
    if order is None or after is None:
        loose.append(end)
    else:
        nth = whole(span.attributes, names.CALL_END_ORDER) or 0
        counted.append(((attempt, max(order, after), 1, nth, span.end_ns, span.span_id, -1), end))


def _by_time(tree: SpanTree, counted: _Keyed, loose: list[TimelineEntry]) -> _Keyed:
    """The moments without numbers (`loose`) with their time as sort key, sorted. Also changes the keys of `counted` to
    times. A child that began before its parent by its clock counts as begun at the same time as the parent."""
    now = 0
    for n, (_, moment) in enumerate(counted):
        now = max(now, moment.time_ns)
        counted[n] = ((now,), moment)
        if moment.kind == START and moment.node is not None:
            moment.node.begun_ns = now
    for node in tree.nodes:
        if node.begun_ns == 0:
            node.begun_ns = max(node.span.start_ns, node.parent.begun_ns if node.parent else 0)
    latest = {node.span.span_id: node.begun_ns for node in tree.nodes}
    for node in reversed(tree.nodes):
        if node.parent is not None:
            above = node.parent.span.span_id
            latest[above] = max(latest[above], latest[node.span.span_id])
    return sorted(((_time_key(moment, latest, n), moment) for n, moment in enumerate(loose)), key=itemgetter(0))


def _time_key(entry: TimelineEntry, latest: dict[str, int], n: int) -> Key:
    node = entry.node
    if node is None:
        return (entry.time_ns, _BEGINS, 0, "", n)
    span_id, time_ns = node.span.span_id, max(entry.time_ns, node.begun_ns)
    if entry.kind == START:
        return (node.begun_ns, _BEGINS, node.depth, span_id, -1)
    if entry.kind == LOG:
        return (time_ns, _BEGINS, node.depth + 1, span_id, n)
    # If another call begins inside a call at its end time, the outer one ends after that start.
    at_once = time_ns in (latest[span_id], node.begun_ns)
    return (time_ns, _ENDS_AT_ONCE if at_once else _ENDS, -node.depth, span_id, -1)


def _merge(counted: _Keyed, loose: _Keyed) -> list[TimelineEntry]:
    """Merges the two sorted lists. Numbered moments keep their order whatever their times are."""
    out: list[TimelineEntry] = []
    waiting = {moment.node.span.span_id: moment for _, moment in loose if moment.kind == START and moment.node}

    def take(moment: TimelineEntry) -> None:
        if moment.kind == START and moment.node is not None:
            # Parents without numbers that began after this child by their clocks are moved before it.
            above: list[TimelineEntry] = []
            here: SpanNode | None = moment.node.parent
            while here is not None and here.span.span_id in waiting:
                above.append(waiting.pop(here.span.span_id))
                here = here.parent
            out.extend(reversed(above))
            waiting.pop(moment.node.span.span_id, None)
        out.append(moment)

    position = 0
    for key, moment in loose:
        while position < len(counted) and counted[position][0][0] <= key[0]:
            take(counted[position][1])
            position += 1
        if moment.kind != START or moment.node is None or moment.node.span.span_id in waiting:
            take(moment)
    for _, moment in counted[position:]:
        take(moment)
    return out
