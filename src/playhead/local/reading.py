"""`playhead.read_local`: the recorded events of this machine's journal, in order, from any position."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from time import perf_counter
from typing import Any, Literal

from playhead.errors import NotFound
from playhead.journal.latencies import READING
from playhead.local.answering import run_without_loop
from playhead.local.source import JournalSource
from playhead.model.event import EVENT_KINDS, RunEvent, event_to_json
from playhead.model.times import parse_time
from playhead.recording import current_settings
from playhead_collector.errors import Refused
from playhead_collector.read.events import EventFilter
from playhead_collector.read.record import run_named

_PROJECT = 1
_PRIORITIES = ("critical", "normal")


def read_local(
    run: str | None = None,
    *,
    after: int | Mapping[str, int] = 0,
    since: datetime | str | int | None = None,
    kinds: Iterable[str] | str | None = None,
    priority: Literal["critical", "normal"] | None = None,
    limit: int | None = None,
    last: int | None = None,
    session: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Yields the events in the local journal, without a collector: of one run by `seq`; of all runs, or of the runs of
    a `session`, by time.

    An event is a dictionary as in the API, with `time_ns`. `run` is an id, a unique part of an id, or "last". To read
    only what is new: `after`: only events with a greater seq; for all runs, a mapping of run ids to the last seq that
    was read of each. `since`: only events from this time on, a time or ns since 1970 (the last `time_ns` + 1). `kinds`
    and `priority`: only such events. Of these, `limit` gives the first so many, and `last` the last so many.

    An event that is recorded late (by a parallel branch, or another process) may get the seq of an event that was read
    before, as in live streams; ids do not change. The events are those that this and other processes had recorded when
    the first one is read. Runs that were delivered and have ended are kept for PLAYHEAD_JOURNAL_KEEP_SECONDS. Raises
    ValueError or TypeError for arguments that could never match; raises NotFound and JournalUnusable when the first
    event is read.
    """
    wanted = frozenset([kinds] if isinstance(kinds, str) else kinds or ())
    if unknown := sorted(wanted.difference(EVENT_KINDS)):
        raise ValueError(f"read_local(kinds={unknown}): no such kinds of events; there are: {', '.join(EVENT_KINDS)}")
    if priority not in (None, *_PRIORITIES):
        raise ValueError(f"read_local(priority={priority!r}): expected one of {', '.join(_PRIORITIES)}")
    for option, number in (("limit", limit), ("last", last)):
        if number is not None and number < 0:
            raise ValueError(f"read_local({option}={number}): expected a number from 0 on, or None for all")
    if limit is not None and last is not None:
        raise ValueError("read_local(limit=..., last=...): give one, the first or the last so many")
    if run is not None and session is not None:
        raise ValueError("read_local(session=...) is of all runs of a session: leave out the run")
    if run is None and not isinstance(after, Mapping) and after:
        raise ValueError("read_local(after=...) counts within a run: name the run, or give {run: seq} for several")
    where = EventFilter(wanted, priority, _time_ns(since))
    return _replayed(run, session, after, where, limit, last)


def _replayed(
    run: str | None,
    session: str | None,
    after: int | Mapping[str, int],
    where: EventFilter,
    limit: int | None,
    last: int | None,
) -> Iterator[dict[str, Any]]:
    began = perf_counter()
    source = JournalSource(current_settings().journal_dir, _ignore)
    try:
        if run is None:
            events = _of_runs(source, session, after if isinstance(after, Mapping) else {}, where)
        else:
            events = _of_run(source, run, after, where)
        wanted = islice(events, limit) if last is None else iter(deque(events, last))
        first = next(wanted, None)
        READING.add(perf_counter() - began)
        if first is None:
            return
        yield event_to_json(first)
        for event in wanted:
            yield event_to_json(event)
    finally:
        source.close()


def _of_run(source: JournalSource, name: str, after: int | Mapping[str, int], where: EventFilter) -> Iterator[RunEvent]:
    try:
        run: str = run_without_loop(run_named(source.store, _PROJECT, name))
    except Refused as error:
        raise NotFound(str(error)) from None
    if source.records.version(run) is None:
        raise NotFound(f"the journal has no run {run}: `playhead runs --local` lists those that it has")
    start = after.get(run, 0) if isinstance(after, Mapping) else after
    events = run_without_loop(source.store.events.read(_PROJECT, run, after=start))
    return filter(where.fits, events)


def _of_runs(
    source: JournalSource, session: str | None, after: Mapping[str, int], where: EventFilter
) -> Iterator[RunEvent]:
    """Yields the events of all runs, or of the runs of a session, by time. Of a fork, only its own events: the events
    before them are its parent's."""
    lists = [_own(source, run, session, after.get(run, 0), where) for run in source.records.runs()]
    return merge(*filter(None, lists), key=lambda event: (event.time_ns, event.run, event.seq))


def _own(source: JournalSource, run: str, session: str | None, after: int, where: EventFilter) -> list[RunEvent]:
    projection = source.projection(run)
    if projection is None or (session is not None and projection.row.session != session):
        return []
    if where.since_ns is not None and projection.last_ns < where.since_ns:
        return []
    events = [event for event in projection.events if event.seq > after and where.fits(event)]
    return sorted(events, key=lambda event: (event.time_ns, event.seq))


def _time_ns(moment: datetime | str | int | None) -> int | None:
    if moment is None or (isinstance(moment, int) and not isinstance(moment, bool)):
        return moment
    if isinstance(moment, datetime):
        return parse_time(moment.astimezone(UTC).isoformat())
    if isinstance(moment, str):
        return parse_time(moment)
    raise TypeError(f"read_local(since={moment!r}): give a datetime, an RFC 3339 time, or ns since 1970")


def _ignore(sentence: str) -> None:
    """Ignores a sentence about a damaged file: its damaged part is left out, and `playhead runs --local` names it."""
