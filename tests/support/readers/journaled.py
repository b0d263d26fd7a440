"""Recorded batches as the SDK's journal has them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from playhead.journal.frame import (
    ANNOUNCEMENT,
    RESOURCE,
    SPAN,
    content_frame,
    frame,
    log_frame,
    span_frame,
    thread_frame,
)
from playhead.journal.lane import SEGMENT_BYTES, LaneWriter
from playhead.model.span import Span
from playhead_collector.store.ports.spans import Batch


def frames_of(batch: Batch) -> list[bytes]:
    """The frames of a batch, as they are appended."""
    return list(_frames(batch))


def write_journal(folder: Path, batches: Iterable[Batch]) -> Path:
    """Writes the batches into one lane of a journal, and returns the file that has them."""
    lane = LaneWriter(folder, fsync=False, resource_frame=frame(RESOURCE, b"{}"), segment_bytes=SEGMENT_BYTES)
    for batch in batches:
        for data in _frames(batch):
            lane.append(data)
    path = lane.path
    lane.close()
    (segment,) = path.glob("00000001*")
    return segment


def _frames(batch: Batch) -> Iterator[bytes]:
    for content in batch.contents:
        yield content_frame(content.ref.digest, content.data, content.media_type)
    for thread in batch.threads:
        yield thread_frame(thread.parent, thread.messages)
    for span in batch.spans:
        yield span_frame(ANNOUNCEMENT if span.end_ns is None else SPAN, _fields(span))
    for log in batch.logs:
        yield log_frame(log)


def _fields(span: Span) -> list[object]:
    events = [[event.name, event.time_ns, event.attributes] for event in span.events]
    return [
        span.trace_id, span.span_id, span.parent_id, span.name, span.kind, span.start_ns, span.end_ns, span.status,
        span.status_message, span.attributes, events, span.links, span.scope,
    ]  # fmt: skip
