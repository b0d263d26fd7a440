"""The events of a run, in order, with previews: short texts of the values that an event names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from playhead.model.canonical import Content
from playhead.model.event import (
    EVENT_KINDS,
    NORMAL,
    CheckpointCreated,
    RunEvent,
    UnknownEvent,
    event_to_json,
    priority_of,
)
from playhead.model.message import message_lines, read_message
from playhead.model.ref import ContentRef, is_ref
from playhead.model.thread import THREAD
from playhead.model.times import rfc3339
from playhead.wire.operations import CheckpointEntry, Page, RecordedEvent
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import plain_value
from playhead_collector.store.ports import ReadStore

# A filter that fits nothing must not hold a connection for a whole long run: the page ends early, with a cursor.
_MAX_READ_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class EventFilter:
    """All conditions must hold. Without conditions, every event matches."""

    kinds: Collection[str] = ()
    priority: str | None = None
    since_ns: int | None = None

    def fits(self, event: RunEvent) -> bool:
        """Returns whether the event meets all conditions."""
        kind = event.original_kind if isinstance(event, UnknownEvent) else event.kind
        return (
            (not self.kinds or kind in self.kinds)
            and (self.priority is None or priority_of(event) == self.priority)
            and (self.since_ns is None or event.time_ns >= self.since_ns)
        )


async def list_events(
    record: RunRecord, where: EventFilter, limit: int, after: int, preview: int = 0
) -> Page[RecordedEvent]:
    """Returns a page of events after seq `after`. A page may have fewer than `limit` events although more follow; then
    `next_cursor` is set.

    `preview`: how many characters to return of each value that an event names; 0: none.
    """
    matches: list[RunEvent] = []
    read_upto = after
    async for block in record.onwards(after):
        fitting = [event for event in block if where.fits(event)]
        room = limit - len(matches)
        matches += fitting[:room]
        read_upto = matches[-1].seq if len(fitting) > room else block[-1].seq
        if len(matches) == limit or read_upto - after >= _MAX_READ_EVENTS:
            break
    more = read_upto < record.last
    items = await _recorded_events(record, matches, preview)
    page: Page[RecordedEvent] = {"items": items, "next_cursor": str(read_upto) if more else None}
    unknown = sorted(set(where.kinds).difference(EVENT_KINDS, (item["kind"] for item in items)))
    if unknown:
        page["hint"] = f"no event here has the kind {unknown[0][:40]!r}: kinds are {', '.join(EVENT_KINDS)}"
    return page


async def list_checkpoints(record: RunRecord, limit: int, after: int, preview: int) -> Page[CheckpointEntry]:
    """Returns a page of checkpoints after seq `after`, oldest first. `preview`: how many characters to return of each
    state."""
    events = await list_events(record, EventFilter((CheckpointCreated.kind,)), limit, after, preview)
    page: Page[CheckpointEntry] = {"items": [], "next_cursor": events["next_cursor"]}
    for event in events["items"]:
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
    """Returns the last events that match, at most `last`, in order. Returns fewer, with `hint`, if they are far from
    the run's end."""
    matches: list[RunEvent] = []
    read = 0
    async for block in record.backwards(record.last):
        matches = [event for event in block if where.fits(event)] + matches
        read += len(block)
        if len(matches) >= last or read >= _MAX_READ_EVENTS:
            break
    page: Page[RecordedEvent] = {"items": await _recorded_events(record, matches[-last:], preview), "next_cursor": None}
    if len(matches) < last and read < record.last:
        page["hint"] = f"only the last {read:,} events of this run were searched: use `after` to search all of them"
    return page


async def _recorded_events(record: RunRecord, events: Sequence[RunEvent], preview: int) -> list[RecordedEvent]:
    items = [recorded_event(event) for event in events]
    if preview:
        previews = await previews_of(record.store, record.project_id, events, preview)
        for item in items:
            item["previews"] = event_previews(item["refs"], previews)
    return items


def recorded_event(event: RunEvent) -> RecordedEvent:
    """Converts an event to an answer with all header fields, and its time as text."""
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


# --- previews --------------------------------------------------------------------------------------------------------

# Contents may be large, so only this many are in memory at a time, and only their previews are kept.
_PORTION = 20
# A preview is made from this many bytes of a content: enough for the longest preview, white space included.
_MAX_READ_BYTES = 64 * 1024


async def previews_of(
    store: ReadStore, project_id: int, events: Iterable[RunEvent], most: int
) -> Mapping[ContentRef, str]:
    """Returns for each stored content that these events name a text of at most `most` characters.

    Text is returned as it is, JSON in canonical form, a message as its text.  Left out are threads (their messages have
    events of their own), binary contents, and contents that are not stored.
    """
    named = (event_to_json(event).get("refs", {}).items() for event in events)
    refs = (ref for items in named for name, ref in items if name != "thread")
    wanted = iter(dict.fromkeys(ContentRef(ref) for ref in refs if is_ref(ref)))
    previews: dict[ContentRef, str] = {}
    while portion := list(islice(wanted, _PORTION)):
        contents = await store.contents.get_many(project_id, portion)
        texts = ((ref, _preview_text(content)) for ref, content in contents.items())
        previews |= {ref: cut(text, most) for ref, text in texts if text is not None}
    return previews


def event_previews(refs: Mapping[str, str], previews: Mapping[ContentRef, str]) -> dict[str, str]:
    """Returns the previews of an event's refs, by the names of the refs."""
    return {name: previews[ContentRef(ref)] for name, ref in refs.items() if ref in previews}


def cut(text: str, most: int) -> str:
    """Returns the text, shortened to at most `most` characters; a shortened text ends with `…`."""
    return text if len(text) <= most else text[: max(0, most - 1)] + "…"


def _preview_text(content: Content) -> str | None:
    if content.media_type.startswith(THREAD) or plain_value(content) is None:
        return None
    if content.media_type.startswith("text/"):
        return content.data[:_MAX_READ_BYTES].decode("utf-8", "replace")
    if len(content.data) <= _MAX_READ_BYTES:
        try:
            return "\n".join(filter(None, message_lines(read_message(content.data))))
        except (ValueError, RecursionError):
            pass
    return content.data[:_MAX_READ_BYTES].decode("utf-8", "replace")
