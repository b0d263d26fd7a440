"""journal → [recorded events] → listeners: the events of one record, as `playhead.on_event` gives them."""

from collections.abc import Sequence
from typing import Any

from playhead.calls.lifecycle import gives_announcement
from playhead.journal.frame import LOG as LOG_FRAME
from playhead.journal.frame import SPAN, read_log, read_span
from playhead.model.event import EVENT_KINDS, RunEvent, event_to_json
from playhead.project.logs.record_events import events_of_log, events_of_span

__all__ = ["EVENT_KINDS", "events_of"]


def events_of(kind: bytes, payload: bytes) -> list[dict[str, Any]]:
    """The events of a frame's kind and payload, as the API gives them, without `seq`."""
    return [_to_json(event) for event in _events_of(kind, payload)]


def _events_of(kind: bytes, payload: bytes) -> Sequence[RunEvent]:
    if kind == LOG_FRAME:
        return events_of_log(read_log(payload))
    span = read_span(payload)
    return events_of_span(span, was_announced=kind != SPAN or gives_announcement(span.attributes))


def _to_json(event: RunEvent) -> dict[str, Any]:
    fields = event_to_json(event)
    return {name: value for name, value in fields.items() if name != "seq"}
