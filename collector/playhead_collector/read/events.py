"""The events of a run, in order."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from playhead.model.event import (
    EVENT_KINDS,
    NORMAL,
    CheckpointCreated,
    RunEvent,
    UnknownEvent,
    event_to_json,
    priority_of,
)
from playhead.model.times import rfc3339
from playhead.wire.answers import CheckpointEntry, Page, RecordedEvent
from playhead_collector.read.previews import event_previews, previews_of
from playhead_collector.read.record import RunRecord

# A filter that fits nothing must not hold a connection for a whole long run: the page ends early, with a cursor.
_MAX_READ = 20_000


@dataclass(frozen=True, slots=True)
class EventFilter:
    """All conditions must hold; an empty one holds for every event."""

    kinds: Collection[str] = ()
    priority: str | None = None
    since_ns: int | None = None

    def fits(self, event: RunEvent) -> bool:
        """Whether the event meets all conditions."""
        kind = event.original_kind if isinstance(event, UnknownEvent) else event.kind
        return (
            (not self.kinds or kind in self.kinds)
            and (self.priority is None or priority_of(event) == self.priority)
            and (self.since_ns is None or event.time_ns >= self.since_ns)
        )


async def list_events(
    record: RunRecord, where: EventFilter, limit: int, after: int, preview: int = 0
) -> Page[RecordedEvent]:
    """Events after seq `after`. A page may hold fewer than `limit` although more follow; `next_cursor` then names the
    next page.

    `preview`: characters of each value that an event names, to return with it; 0: none.
    """
    found: list[RunEvent] = []
    read_upto = after
    async for block in record.onwards(after):
        fitting = [event for event in block if where.fits(event)]
        room = limit - len(found)
        found += fitting[:room]
        read_upto = found[-1].seq if len(fitting) > room else block[-1].seq
        if len(found) == limit or read_upto - after >= _MAX_READ:
            break
    more = read_upto < record.last
    items = await _answered(record, found, preview)
    page: Page[RecordedEvent] = {"items": items, "next_cursor": str(read_upto) if more else None}
    unknown = sorted(set(where.kinds).difference(EVENT_KINDS, (item["kind"] for item in items)))
    if unknown:
        page["hint"] = f"no event here has the kind {unknown[0][:40]!r}: kinds are {', '.join(EVENT_KINDS)}"
    return page


async def list_checkpoints(record: RunRecord, limit: int, after: int, preview: int) -> Page[CheckpointEntry]:
    """Checkpoints after seq `after`, oldest first. `preview`: characters of each state to answer."""
    found = await list_events(record, EventFilter((CheckpointCreated.kind,)), limit, after, preview)
    page: Page[CheckpointEntry] = {"items": [], "next_cursor": found["next_cursor"]}
    for event in found["items"]:
        refs = event["refs"]
        item: CheckpointEntry = {
            "seq": event["seq"],
            "id": event["id"],
            "time": event["time"],
            "name": event["data"].get("name"),
            "state": refs.get("state"),
            "thread": refs.get("thread"),
        }
        if preview:
            item["preview"] = event.get("previews", {}).get("state")
        page["items"].append(item)
    return page


async def list_last_events(record: RunRecord, where: EventFilter, last: int, preview: int = 0) -> Page[RecordedEvent]:
    """The last events that fit, at most `last` of them, in order. Fewer, with `hint`, if they are far from the end."""
    found: list[RunEvent] = []
    read = 0
    async for block in record.backwards(record.last):
        found = [event for event in block if where.fits(event)] + found
        read += len(block)
        if len(found) >= last or read >= _MAX_READ:
            break
    page: Page[RecordedEvent] = {"items": await _answered(record, found[-last:], preview), "next_cursor": None}
    if len(found) < last and read < record.last:
        page["hint"] = f"only the last {read:,} events of this run were searched: use `after` to search all of them"
    return page


async def _answered(record: RunRecord, found: Sequence[RunEvent], preview: int) -> list[RecordedEvent]:
    items = [recorded_event(event) for event in found]
    if preview:
        known = await previews_of(record.store, record.project_id, found, preview)
        for item in items:
            item["previews"] = event_previews(item["refs"], known)
    return items


def recorded_event(event: RunEvent) -> RecordedEvent:
    """The event as an answer: all header fields present, its time as text."""
    value = event_to_json(event)
    return {
        "id": event.id,
        "run": event.run,
        "seq": event.seq,
        "time": rfc3339(event.time_ns),
        "kind": value["kind"],
        "priority": value.get("priority", NORMAL),
        "span": event.span,
        "actor": event.actor,
        "late": event.late,
        "data": value.get("data", {}),
        "refs": value.get("refs", {}),
    }
