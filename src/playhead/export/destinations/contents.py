"""[destinations]: finds the content that spans of a lane refer to.

A lane has all content that its spans refer to, but often long before them. Recent content is kept in memory; other
content is read from the lane again, which is rare.
"""

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from playhead.export.shipment import Shipment
from playhead.journal.frame import CONTENT, THREAD, frames_in
from playhead.journal.lane import LaneReader
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from playhead.outbound.contents import OutboundContents, WantedRefs
from playhead.wire.pack import ThreadExtension

# 32 MiB: the conversations of some dozens of agents at work. And at most so many nodes of threads (200 bytes each).
_MOST_BYTES = 32 * 2**20
_MOST_NODES = 100_000
# Rounds of look-ups: threads and values, messages, large parts; and one more to see that nothing is missing.
_ROUNDS = 4


class LaneContents:
    """Contents and threads of lanes in one journal.  Used by one thread."""

    def __init__(self, most_bytes: int = _MOST_BYTES, most_nodes: int = _MOST_NODES) -> None:
        self._contents: OrderedDict[ContentRef, Content] = OrderedDict()
        self._nodes: OrderedDict[ContentRef, tuple[ContentRef | None, ContentRef]] = OrderedDict()
        """Thread → the thread before its last message, and that message."""
        self._bytes = 0
        self._most_bytes, self._most_nodes = most_bytes, most_nodes

    def take(self, contents: Iterable[Content], threads: Iterable[ThreadExtension]) -> None:
        """Keeps the contents and threads of a shipment, and drops the oldest beyond the limits."""
        for content in contents:
            if content.ref.plain not in self._contents:
                self._bytes += len(content.data)
            self._contents[content.ref.plain] = content
            self._contents.move_to_end(content.ref.plain)
        for thread in threads:
            for node in extend(thread.messages, thread.parent):
                self._nodes[node.ref] = node.parent, node.message
        while self._bytes > self._most_bytes and len(self._contents) > 1:
            self._bytes -= len(self._contents.popitem(last=False)[1].data)
        while len(self._nodes) > self._most_nodes:
            self._nodes.popitem(last=False)

    def find(self, wanted: WantedRefs, lane: Path | None) -> OutboundContents:
        """Returns the wanted contents and threads that are kept or in the lane. Raises OSError."""
        outbound = OutboundContents()
        self.fill(outbound, wanted)
        if lane is not None and outbound.missing(wanted):
            everything = LaneContents(2**62, 2**62)
            for shipment in _shipments(lane):
                everything.take(shipment.contents.values(), shipment.threads)
            everything.fill(outbound, wanted)
        return outbound

    def fill(self, outbound: OutboundContents, wanted: WantedRefs) -> None:
        """Adds to `outbound` every content and thread of `wanted` that is kept, and what these refer to."""
        for _ in range(_ROUNDS):
            missing = outbound.missing(wanted)
            contents = {ref: self._contents.get(ref) for ref in missing.contents}
            threads = {ref: self._thread(ref) for ref in missing.threads}
            for ref, content in contents.items():
                if content is not None:
                    outbound.add(ref, content)
            for ref, messages in threads.items():
                if messages is not None:
                    outbound.add_thread(ref, messages)
            if not any(contents.values()) and not any(threads.values()):
                return

    def _thread(self, ref: ContentRef) -> list[ContentRef] | None:
        """The messages of a thread, first to last; None if a node is missing."""
        messages: list[ContentRef] = []
        thread: ContentRef | None = ref
        while thread is not None:
            node = self._nodes.get(thread)
            if node is None:
                return None
            thread, message = node
            messages.append(message)
        return messages[::-1]


def _shipments(lane: Path) -> Iterable[Shipment]:
    """Yields the contents and threads of a lane, one shipment per segment."""
    reader = LaneReader(lane)
    for number in reader.segments():
        shipment = Shipment()
        try:
            data = reader.segment_path(number).read_bytes()
        except OSError:
            continue
        for kind, payload, _ in frames_in(data):
            if kind in (CONTENT, THREAD):
                shipment.add(kind, payload)
        yield shipment
