"""The journal's files as a source of recorded runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import orjson

from playhead.errors import JournalUnusable
from playhead.journal.frame import LOG, read_content, read_log, read_span, read_thread
from playhead.journal.index.reading import JournalIndex
from playhead.journal.index.updating import START_BYTES
from playhead.journal.lane import is_owned
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, LogEvent, Span
from playhead.model.thread import ThreadNode, extend
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.records.memory import MemoryRecords, last_recorded_ns
from playhead_collector.store.records.ports import RunRecords

_Record = TypeVar("_Record", Span, LogEvent)


class JournalRecords:
    """Implements `RecordSource` over the lanes of a journal's folder, including those of processes that still record.

    It has the records that existed when it was made; `update` adds later ones. The cost of reading a run depends on the
    size of the run, not on the size of the journal.
    """

    def __init__(self, journal_dir: Path) -> None:
        """`journal_dir`: the folder of the journal.  Raises JournalUnusable when it cannot be read."""
        self._journal_dir = journal_dir
        self.index = JournalIndex(journal_dir)
        self._lifted = MemoryRecords()
        """Contents and threads lifted from spans of other instrumentations, of the runs that were read."""
        self._known: dict[ContentRef, ThreadNode] = {}
        """Nodes of completely recorded threads."""
        self._lifted_of: dict[str, set[bytes]] = {}
        self.update()

    def update(self) -> None:
        """Adds the records that were written since the last update. Raises JournalUnusable."""
        try:
            self.index.update()
        except OSError as error:
            raise JournalUnusable(
                f"the journal in {self._journal_dir} cannot be read ({error.strerror}): "
                "set PLAYHEAD_JOURNAL_DIR to the folder that was recorded in, and see that it can be read"
            ) from error

    @property
    def damaged(self) -> Mapping[Path, int]:
        """Files of which a part cannot be read, with the size of that part in bytes. Records in it are left out."""
        return self.index.damaged()

    def runs(self) -> Sequence[str]:
        return self.index.runs()

    def version(self, run: str) -> str | None:
        return self.index.version(run)

    def forks(self, run: str) -> Sequence[str]:
        return self.index.forks(run)

    def records(self, run: str) -> RunRecords:
        from playhead.lift import SharedThreads, lift, lift_logs  # noqa: PLC0415 - not needed for a kept projection

        spans: list[Span] = []
        logs: list[LogEvent] = []
        for record in self.index.records(run):
            with suppress(ValueError, TypeError, IndexError):  # a record of another version of this library
                resource: Attributes = orjson.loads(record.resource or b"{}")
                if record.kind == LOG:
                    logs.append(_with_origin(read_log(record.payload), resource))
                else:
                    spans.append(_with_origin(read_span(record.payload), resource))
        shared = SharedThreads()
        lifted, lifted_logs = [lift(span, shared=shared) for span in spans], lift_logs(logs)
        starts = self._lifted_of.setdefault(run, set())
        for record in (*lifted, *lifted_logs):
            for thread in record.threads:
                self._take_parent(thread.parent)
            self._lifted.add(contents=record.contents, threads=record.threads)
            starts |= {_start(content.ref) for content in record.contents}
            for thread in record.threads:
                starts |= {_start(node.ref) for node in extend(thread.messages, thread.parent)}
        spans, logs = [record.span for record in lifted], [record.log for record in lifted_logs]
        return RunRecords(spans, logs, last_recorded_ns(spans, logs))

    def _take_parent(self, parent: ContentRef | None) -> None:
        """Adds the thread before a lifted thread to the lifted ones, if the journal has it."""
        if parent is not None and not self._lifted.nodes([parent]):
            nodes = sorted(self.nodes([parent]).values(), key=lambda node: node.depth)
            if nodes:
                self._lifted.add(threads=[ThreadExtension(None, tuple(node.message for node in nodes))])

    def is_gone(self, run: str) -> bool:
        lanes = self.index.lanes(run)
        try:
            return bool(lanes) and not any(map(is_owned, lanes))
        except OSError:  # the lock cannot be read, so the process may still be alive
            return False

    def lifted(self, run: str) -> Iterable[bytes]:
        """The first 16 bytes of the digests of contents and threads that `records` has lifted from spans of the run."""
        return self._lifted_of.get(run, ())

    def contents(self, refs: Iterable[ContentRef]) -> Mapping[ContentRef, Content]:
        wanted = {ref.plain for ref in refs}
        by_ref: dict[ContentRef, Content] = {}
        payloads = self.index.contents({_start(ref) for ref in wanted})
        for ref in wanted:
            if (payload := payloads.get(_start(ref))) is not None:
                with suppress(IndexError, ValueError):
                    by_ref[ref] = read_content(payload)[1]
        rest = wanted - by_ref.keys()
        self._lift(rest)
        return {**self._lifted.contents(rest), **by_ref}

    def nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        by_ref: dict[ContentRef, ThreadNode] = {}
        for thread in threads:
            ref: ContentRef | None = thread.plain
            while ref is not None and ref not in by_ref and (node := self._node(ref)) is not None:
                by_ref[ref] = node
                ref = node.parent
        return by_ref

    def last_nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        nodes = ((thread.plain, self._node(thread.plain)) for thread in threads)
        return {thread: node for thread, node in nodes if node is not None}

    def _node(self, thread: ContentRef) -> ThreadNode | None:
        """Returns the last node of a thread; None if the thread is not completely recorded."""
        if thread not in self._known:
            self._known |= self._nodes(thread, self._known)
        return self._known.get(thread)

    def refs_with_prefix(self, prefixes: Iterable[bytes]) -> Sequence[ContentRef]:
        wanted = set(prefixes)
        digests = {payload[:32] for payload in self.index.contents(wanted).values()}
        for start in wanted:
            self._lift_start(start)
        here = [ContentRef.from_digest(digest) for digest in digests]
        return [*here, *(ref for ref in self._lifted.refs_with_prefix(wanted) if ref.digest not in digests)]

    def _nodes(self, thread: ContentRef, known_nodes: Mapping[ContentRef, ThreadNode]) -> dict[ContentRef, ThreadNode]:
        """Returns the nodes of a thread that are not in `known_nodes`, first to last; empty if the thread is not
        completely recorded."""
        nodes: dict[ContentRef, ThreadNode] = {}
        frames: list[tuple[ThreadExtension, ContentRef]] = []
        ref: ContentRef | None = thread
        while ref is not None and ref not in known_nodes:
            payload = self.index.thread(_start(ref))
            if payload is None:
                self._lift([ref])
                nodes |= self._lifted.nodes([ref])
                if ref not in nodes:
                    return {}
                break
            extension = read_thread(payload)
            frames.append((extension, ref))
            ref = extension.parent
        depth = 0 if ref is None else (nodes.get(ref) or known_nodes[ref]).depth
        for extension, last in reversed(frames):
            for node in extend(extension.messages, extension.parent, depth):
                nodes[node.ref] = node
                depth = node.depth
                if node.ref == last:
                    break
        return nodes

    def _lift(self, refs: Iterable[ContentRef]) -> None:
        for ref in refs:
            self._lift_start(_start(ref))

    def _lift_start(self, start: bytes) -> None:
        """Lifts the spans of the runs that have a content or a thread with this beginning of its digest in their
        spans."""
        for run in self.index.runs_lifting(start):
            if run not in self._lifted_of:
                self.records(run)


def _start(ref: ContentRef) -> bytes:
    return ref.digest[:START_BYTES]


def _with_origin(record: _Record, resource: Attributes) -> _Record:
    """Sets the values that a file holds once for many records: the resource, and the scope of our own records. Returns
    the record."""
    record.resource, record.scope = resource, record.scope or names.SCOPE
    return record


def damage_of(damaged: Mapping[Path, int]) -> Iterator[str]:
    """Yields a sentence for each file of which a part cannot be read."""
    for path, size in damaged.items():
        yield f"{size:,} bytes of {path} are damaged: what stood there is left out"
