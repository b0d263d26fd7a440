"""The journal's files as a source of recorded runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import orjson

from playhead.errors import JournalUnusable
from playhead.journal.frame import LOG, read_content, read_log, read_span, read_thread
from playhead.journal.index.reading import JournalIndex
from playhead.journal.index.scanning import START_BYTES
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
    """Implements `RecordSource` over the lanes of a journal's folder, also of processes that still record.

    It has what was recorded when it was made; `update` takes what was recorded since.  Reading a run costs what the run
    is, however much else the journal has.
    """

    def __init__(self, journal_dir: Path) -> None:
        """`journal_dir`: the folder of the journal.  Raises JournalUnusable when it cannot be read."""
        self._journal_dir = journal_dir
        self.index = JournalIndex(journal_dir)
        self._lifted = MemoryRecords()
        """Contents and threads that stood in spans of other instrumentations, of the runs that were read."""
        self._known: dict[ContentRef, ThreadNode] = {}
        """Nodes of threads that are recorded whole."""
        self._lifted_of: dict[str, set[bytes]] = {}
        self.update()

    def update(self) -> None:
        """Takes what was recorded since.  Raises JournalUnusable."""
        try:
            self.index.update()
        except OSError as error:
            raise JournalUnusable(
                f"the journal in {self._journal_dir} cannot be read ({error.strerror}): "
                "set PLAYHEAD_JOURNAL_DIR to the folder that was recorded in, and see that it can be read"
            ) from error

    @property
    def damaged(self) -> Mapping[Path, int]:
        """Files of which a part cannot be read, with the bytes of that part: what stood there is left out."""
        return self.index.damaged()

    def runs(self) -> Sequence[str]:
        return self.index.runs()

    def version(self, run: str) -> str | None:
        return self.index.version(run)

    def forks(self, run: str) -> Sequence[str]:
        return self.index.forks(run)

    def records(self, run: str) -> RunRecords:
        from playhead.lift import SharedMessages, lift, lift_logs  # noqa: PLC0415 - not needed for a kept projection

        spans: list[Span] = []
        logs: list[LogEvent] = []
        for each in self.index.records(run):
            with suppress(ValueError, TypeError, IndexError):  # a record of another version of this library
                resource: Attributes = orjson.loads(each.resource or b"{}")
                if each.kind == LOG:
                    logs.append(_with_origin(read_log(each.payload), resource))
                else:
                    spans.append(_with_origin(read_span(each.payload), resource))
        shared = SharedMessages()
        lifted, lifted_logs = [lift(span, shared=shared) for span in spans], lift_logs(logs)
        starts = self._lifted_of.setdefault(run, set())
        for each in (*lifted, *lifted_logs):
            for thread in each.threads:
                self._take_parent(thread.parent)
            self._lifted.add(contents=each.contents, threads=each.threads)
            starts |= {_start(content.ref) for content in each.contents}
            for thread in each.threads:
                starts |= {_start(node.ref) for node in extend(thread.messages, thread.parent)}
        spans, logs = [each.span for each in lifted], [each.log for each in lifted_logs]
        return RunRecords(spans, logs, last_recorded_ns(spans, logs))

    def _take_parent(self, parent: ContentRef | None) -> None:
        """A lifted thread may continue one of the journal's."""
        if parent is not None and not self._lifted.nodes([parent]):
            nodes = sorted(self.nodes([parent]).values(), key=lambda node: node.depth)
            if nodes:
                self._lifted.add(threads=[ThreadExtension(None, tuple(node.message for node in nodes))])

    def is_gone(self, run: str) -> bool:
        lanes = self.index.lanes(run)
        try:
            return bool(lanes) and not any(map(is_owned, lanes))
        except OSError:  # its lock cannot be looked at: that it is gone is not known
            return False

    def lifted(self, run: str) -> Iterable[bytes]:
        """The first 16 bytes of the digests of contents and threads that `records` has lifted from spans of the run."""
        return self._lifted_of.get(run, ())

    def contents(self, refs: Iterable[ContentRef]) -> Mapping[ContentRef, Content]:
        wanted = {ref.plain for ref in refs}
        found: dict[ContentRef, Content] = {}
        payloads = self.index.contents({_start(ref) for ref in wanted})
        for ref in wanted:
            if (payload := payloads.get(_start(ref))) is not None:
                with suppress(IndexError, ValueError):
                    found[ref] = read_content(payload)[1]
        rest = wanted - found.keys()
        self._lift(rest)
        return {**self._lifted.contents(rest), **found}

    def nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        found: dict[ContentRef, ThreadNode] = {}
        for thread in threads:
            at: ContentRef | None = thread.plain
            while at is not None and at not in found and (node := self._node(at)) is not None:
                found[at] = node
                at = node.parent
        return found

    def last_nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        found = ((thread.plain, self._node(thread.plain)) for thread in threads)
        return {thread: node for thread, node in found if node is not None}

    def _node(self, thread: ContentRef) -> ThreadNode | None:
        """The last node of a thread that is recorded whole."""
        if thread not in self._known:
            self._known |= self._nodes(thread, self._known)
        return self._known.get(thread)

    def beginning_with(self, beginnings: Iterable[bytes]) -> Sequence[ContentRef]:
        wanted = set(beginnings)
        found = {payload[:32] for payload in self.index.contents(wanted).values()}
        for start in wanted:
            self._lift_start(start)
        here = [ContentRef.from_digest(digest) for digest in found]
        return [*here, *(ref for ref in self._lifted.beginning_with(wanted) if ref.digest not in found)]

    def _nodes(self, thread: ContentRef, known: Mapping[ContentRef, ThreadNode]) -> dict[ContentRef, ThreadNode]:
        """The nodes of a thread that are not known, from the first to the last; empty if it is not recorded whole."""
        found: dict[ContentRef, ThreadNode] = {}
        frames: list[tuple[ThreadExtension, ContentRef]] = []
        at: ContentRef | None = thread
        while at is not None and at not in known:
            payload = self.index.thread(_start(at))
            if payload is None:
                self._lift([at])
                found |= self._lifted.nodes([at])
                if at not in found:
                    return {}
                break
            extension = read_thread(payload)
            frames.append((extension, at))
            at = extension.parent
        depth = 0 if at is None else (found.get(at) or known[at]).depth
        for extension, last in reversed(frames):
            for node in extend(extension.messages, extension.parent, depth):
                found[node.ref] = node
                depth = node.depth
                if node.ref == last:
                    break
        return found

    def _lift(self, refs: Iterable[ContentRef]) -> None:
        for ref in refs:
            self._lift_start(_start(ref))

    def _lift_start(self, start: bytes) -> None:
        """Lifts the spans of the runs that are known to have a content, or a thread, in them."""
        for run in self.index.runs_lifting(start):
            if run not in self._lifted_of:
                self.records(run)


def _start(ref: ContentRef) -> bytes:
    return ref.digest[:START_BYTES]


def _with_origin(record: _Record, resource: Attributes) -> _Record:
    """The record with what stands once for many in a file: its resource, and the scope of our own records."""
    record.resource, record.scope = resource, record.scope or names.SCOPE
    return record


def damage_of(damaged: Mapping[Path, int]) -> Iterator[str]:
    """A sentence for each file of which a part cannot be read."""
    for path, size in damaged.items():
        yield f"{size:,} bytes of {path} are damaged: what stood there is left out"
