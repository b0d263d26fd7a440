"""Counts of a shipper's work: for tests, benchmarks and `playhead doctor`."""

from dataclasses import dataclass


@dataclass(slots=True)
class ShipCounters:
    """Written by the shipping thread only; others may read at any time."""

    spans: int = 0
    logs: int = 0
    contents: int = 0
    threads: int = 0
    batches: int = 0
    wire_bytes: int = 0
    """Bytes of request bodies as sent, including failed requests."""
    content_bytes_raw: int = 0
    asked_refs: int = 0
    retries: int = 0
    rejected: int = 0
    """Spans, log events, contents and threads that the collector refused for good. They are stored as dead letters."""
    unknown_parents: int = 0
    """Threads whose parent thread the collector does not have."""
    skipped_frames: int = 0
    """Frames or stretches of the journal that cannot be read: cut short by a crash, or damaged."""
    damaged_bytes: int = 0
    """Bytes of the journal that were written completely and were damaged afterwards."""
