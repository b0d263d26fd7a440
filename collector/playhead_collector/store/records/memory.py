"""[store]: records in memory."""

import threading
from collections.abc import Iterable, Mapping, Sequence

from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.thread import ThreadNode, extend
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.records.ports import RunProjection, RunRecords
from playhead_collector.store.run_items import RunItems, items_by_run


class MemoryRecords:
    """Implements `RecordSource`: keeps the added records in memory, and never removes any.  Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, RunItems] = {}
        self._contents: dict[ContentRef, Content] = {}
        self._nodes: dict[ContentRef, ThreadNode] = {}
        self._orphans: dict[ContentRef, list[ThreadExtension]] = {}
        """Extensions of threads that have not arrived, by the ref of that thread."""

    def add(
        self,
        spans: Iterable[Span] = (),
        logs: Iterable[LogEvent] = (),
        contents: Iterable[Content] = (),
        threads: Iterable[ThreadExtension] = (),
    ) -> None:
        """Adds records, in any order. Adding a record again does no harm.  An announcement is a span without an end, or
        a log event."""
        with self._lock:
            self._contents |= {content.ref.plain: content for content in contents}
            for thread in threads:
                self._extend(thread)
            for run, items in items_by_run(spans, logs).items():
                run_items = self._runs.setdefault(run, RunItems())
                run_items.spans += items.spans
                run_items.logs += items.logs

    def runs(self) -> Sequence[str]:
        with self._lock:
            return list(self._runs)

    def version(self, run: str) -> str | None:
        with self._lock:
            items = self._runs.get(run)
            return None if items is None else f"{len(items.spans)}.{len(items.logs)}"

    def is_gone(self, run: str) -> bool:
        return False  # the process that has these records also makes them

    def forks(self, run: str) -> Sequence[str]:
        with self._lock:
            return [
                fork
                for fork, items in self._runs.items()
                if any(span.attributes.get(names.FORK_OF) == run for span in items.spans)
            ]

    def records(self, run: str) -> RunRecords:
        with self._lock:
            items = self._runs.get(run) or RunItems()
            spans, logs = list(items.spans), list(items.logs)
        return RunRecords(spans, logs, last_recorded_ns(spans, logs))

    def contents(self, refs: Iterable[ContentRef]) -> Mapping[ContentRef, Content]:
        with self._lock:
            return {plain: self._contents[plain] for ref in refs if (plain := ref.plain) in self._contents}

    def nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        thread_nodes: dict[ContentRef, ThreadNode] = {}
        with self._lock:
            for thread in threads:
                ref: ContentRef | None = thread.plain
                while ref is not None and ref not in thread_nodes and (node := self._nodes.get(ref)) is not None:
                    thread_nodes[ref] = node
                    ref = node.parent
        return thread_nodes

    def last_nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        with self._lock:
            return {plain: self._nodes[plain] for ref in threads if (plain := ref.plain) in self._nodes}

    def refs_with_prefix(self, prefixes: Iterable[bytes]) -> Sequence[ContentRef]:
        wanted = set(prefixes)
        with self._lock:
            return [ref for ref in self._contents if ref.digest[:16] in wanted]

    def _extend(self, thread: ThreadExtension) -> None:
        """Adds the nodes of a thread, and of extensions that waited for it. An extension whose parent is unknown is
        kept until the parent arrives."""
        todo = [thread]
        while todo:
            extension = todo.pop()
            parent = extension.parent.plain if extension.parent is not None else None
            if parent is not None and parent not in self._nodes:
                self._orphans.setdefault(parent, []).append(extension)
                continue
            depth = 0 if parent is None else self._nodes[parent].depth
            for node in extend(extension.messages, parent, depth):
                self._nodes[node.ref] = node
                todo += self._orphans.pop(node.ref, ())


class MemoryProjections:
    """Implements `ProjectionCache`: keeps the projection of every run.  Thread-safe."""

    def __init__(self) -> None:
        self._kept: dict[str, RunProjection] = {}

    def get(self, run: str) -> RunProjection | None:
        return self._kept.get(run)

    def put(self, run: str, projection: RunProjection) -> None:
        self._kept[run] = projection


def last_recorded_ns(spans: Iterable[Span], logs: Iterable[LogEvent]) -> int:
    """Returns when the last of these items was recorded, in ns by the clock of the recording program; 0 if there are
    none."""
    times = [span.end_ns or span.start_ns for span in spans] + [log.time_ns for log in logs]
    return max(times, default=0)
