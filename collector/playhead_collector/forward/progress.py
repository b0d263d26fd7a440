"""Tracks the result of each entry that a worker took, until it is stored.  Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from playhead.model.span import LogEvent, Span
from playhead_collector.forward.delivery import OutgoingItem
from playhead_collector.forward.senders import Signal
from playhead_collector.store.packing.span_pages import log_key, span_key
from playhead_collector.store.ports.outbox import OutboxEntry, OutboxSettlement, Remaining


@dataclass(slots=True)
class EntryProgress:
    """Progress of one entry. `remaining` are the keys that are still to be sent, by signal; None: the entry was not
    read yet."""

    entry: OutboxEntry
    remaining: dict[Signal, dict[bytes, None]] | None = None
    dead: dict[str, dict[Signal, list[bytes]]] = field(default_factory=dict[str, dict[Signal, list[bytes]]])
    due_ns: int = 0
    left_out: bool = False
    was_attempted: bool = False

    def loaded(self, spans: Sequence[Span], logs: Sequence[LogEvent]) -> None:
        """Sets the items to send."""
        self.remaining = {"traces": dict.fromkeys(map(span_key, spans)), "logs": dict.fromkeys(map(log_key, logs))}

    def sent(self, signal: Signal, key: bytes) -> None:
        """Marks an item as done: the destination has it or does not need it."""
        if self.remaining is not None:
            self.remaining[signal].pop(key, None)

    def wait_until(self, due_ns: int) -> None:
        """Sets the time (ns since 1970) before which a part of the entry is not sent; the earliest time counts."""
        self.due_ns = min(self.due_ns, due_ns) if self.due_ns else due_ns

    def give_up(self, signal: Signal, key: bytes, reason: str) -> None:
        """Marks an item as dead letter: the destination refuses it for `reason`."""
        self.sent(signal, key)
        self.dead.setdefault(reason, {"traces": [], "logs": []})[signal].append(key)

    def settle(self, into: OutboxSettlement) -> None:
        """Adds the result of this entry to the settlement."""
        for reason, keys in self.dead.items():
            into.dead.append(Remaining(self.entry, keys["traces"], keys["logs"], reason=reason))
        if not self.left_out and self.remaining is None:
            into.later.append(Remaining(self.entry, self.entry.spans, self.entry.logs, self.due_ns, counts=False))
        elif not self.left_out and self.remaining is not None and any(self.remaining.values()):
            spans, logs = self.remaining["traces"], self.remaining["logs"]
            into.later.append(Remaining(self.entry, spans, logs, self.due_ns, counts=self.was_attempted))
        else:
            into.done.append(self.entry)


@dataclass(slots=True)
class CycleProgress:
    """All entries of one cycle of a worker, by number."""

    entries: dict[int, EntryProgress]

    @classmethod
    def of(cls, entries: Iterable[OutboxEntry]) -> "CycleProgress":
        """Returns the progress of these entries, with nothing done."""
        return cls({entry.number: EntryProgress(entry) for entry in entries})

    def sent(self, items: Iterable[OutgoingItem]) -> None:
        """Marks these items as done."""
        for item in items:
            self.entries[item.entry.number].sent(item.signal, item.key)

    def mark_attempted(self, items: Iterable[OutgoingItem]) -> None:
        """Notes that the destination failed when it was sent these items."""
        for item in items:
            self.entries[item.entry.number].was_attempted = True

    def settlement(self, pause_until_ns: int) -> OutboxSettlement:
        """Returns the results to store. Remaining items are not due before `pause_until_ns`."""
        settlement = OutboxSettlement()
        for progress in self.entries.values():
            progress.due_ns = max(progress.due_ns, pause_until_ns)
            progress.settle(settlement)
        return settlement
