"""The record store over runs whose events are written by hand, and a short run to ask about."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import Content, content_of
from playhead.model.event import RunEvent
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import Span
from playhead.model.state import RunState, fold
from playhead.model.thread import Thread, ThreadNode, thread_of
from playhead.projection.run_row import RunRow
from playhead_collector.read.record import RunRecord
from playhead_collector.store.records.ports import RunProjection, RunRecords
from tests.support.local_app import LocalStore

RUN = "0190f5fe" * 4
EPOCH_NS = 1_700_000_000_000_000_000
_SNAPSHOT_EVERY = 10


@dataclass
class WrittenRuns:
    """A `RecordSource` of contents, threads and spans, and a `ProjectionCache` that has the events of all its runs.

    Nothing is projected, so tests can give a run any events.
    """

    events_of: dict[str, list[RunEvent]] = field(default_factory=dict)
    rows: dict[str, RunRow] = field(default_factory=dict)
    bodies: dict[ContentRef, Content] = field(default_factory=dict)
    thread_nodes: dict[ContentRef, ThreadNode] = field(default_factory=dict)
    spans_of: dict[str, list[Span]] = field(default_factory=dict)
    trips: int = 0
    """How often contents, threads or the events of a run were read."""

    def runs(self) -> Sequence[str]:
        return list(self.rows)

    def version(self, run: str) -> str | None:
        return "1" if run in self.rows else None

    def forks(self, run: str) -> Sequence[str]:
        return [row.run for row in self.rows.values() if row.fork_of == run]

    def records(self, run: str) -> RunRecords:
        return RunRecords(self.spans_of.get(run, []), [], 0)

    def is_gone(self, run: str) -> bool:
        return False

    def contents(self, refs: Iterable[ContentRef]) -> Mapping[ContentRef, Content]:
        self.trips += 1
        return {ref.plain: self.bodies[ref.plain] for ref in refs if ref.plain in self.bodies}

    def nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        self.trips += 1
        complete: dict[ContentRef, ThreadNode] = {}
        for thread in threads:
            chain: dict[ContentRef, ThreadNode] = {}
            here: ContentRef | None = thread.plain
            while here is not None and here in self.thread_nodes:
                chain[here] = self.thread_nodes[here]
                here = chain[here].parent
            complete |= chain if here is None else {}
        return complete

    def last_nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        plain = [ref.plain for ref in threads]
        return {ref: node for ref in plain if (node := self.nodes([ref]).get(ref)) is not None}

    def refs_with_prefix(self, prefixes: Iterable[bytes]) -> Sequence[ContentRef]:
        return [ref for ref in self.bodies if ref.digest[:16] in set(prefixes)]

    def get(self, run: str) -> RunProjection | None:
        self.trips += 1
        row, events = self.rows[run], self.events_of.get(run, [])
        last = events[-1].seq if events else 0
        return RunProjection(
            version="1",
            row=replace(row, events=max(row.events, last)),
            events=[event for event in events if event.seq > (row.shared or 0)],
            snapshots=_snapshots(events),
            awaited=frozenset(),
            last_ns=0,
            is_quiet=True,
            parent_version=self._parent_version(row),
        )

    def put(self, run: str, projection: RunProjection) -> None:
        raise AssertionError(f"the events of {run} are written by hand")

    def _parent_version(self, row: RunRow) -> str | None:
        parent = self.rows.get(row.fork_of or "")
        return None if parent is None else f"1/{self._parent_version(parent) or ''}/{parent.sealed}"


class FakeStore(LocalStore):
    """The record store, with runs that are written by hand. It refuses what only a collector can do."""

    def __init__(self) -> None:
        self.written = WrittenRuns()
        super().__init__(self.written, self.written, clock=time.time_ns)

    @property
    def events_of(self) -> dict[str, list[RunEvent]]:
        return self.written.events_of

    @property
    def rows(self) -> dict[str, RunRow]:
        return self.written.rows

    @property
    def bodies(self) -> dict[ContentRef, Content]:
        return self.written.bodies

    @property
    def thread_nodes(self) -> dict[ContentRef, ThreadNode]:
        return self.written.thread_nodes

    @property
    def spans_of(self) -> dict[str, list[Span]]:
        return self.written.spans_of

    def keep(self, value: Any) -> ContentRef:
        content = value if isinstance(value, Content) else content_of(value)
        self.bodies[content.ref.plain] = content
        return content.ref

    def keep_thread(self, messages: Sequence[Message]) -> Thread:
        thread = thread_of(messages)
        for content in thread.contents:
            self.keep(content)
        self.thread_nodes.update({node.ref: node for node in thread.nodes})
        return thread

    def keep_run(self, events: Sequence[RunEvent], run: str = RUN, **more: Any) -> RunRow:
        self.events_of[run] = list(events)
        more.setdefault("llm_calls", sum(isinstance(event, ev.LlmCalled) for event in events))
        row = RunRow(run=run, name="support", status="running", started_ns=EPOCH_NS, ended_ns=None, **more)
        self.rows[run] = replace(row, events=len(events))
        return self.rows[run]


class FakeRunner:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def catch_up(self, project_id: int) -> None:
        """Nothing is ever behind here."""

    async def project_now(self, project_id: int, run: str) -> None:
        self.asked.append(run)


def record_of(store: FakeStore, run: str = RUN) -> RunRecord:
    return RunRecord(store, 1, store.rows[run])


class Story:
    """Writes events one after the other, as the projector orders them."""

    def __init__(self, store: FakeStore) -> None:
        self.store = store
        self.events: list[RunEvent] = []

    def add(self, cls: type[Any], span: str | None = None, **fields: Any) -> Any:
        seq = len(self.events) + 1
        head = {"id": f"{span}.{cls.kind}.{seq}", "run": RUN, "seq": seq, "time_ns": EPOCH_NS + seq, "span": span}
        self.events.append(cls(**head, actor="support", **fields))
        return self.events[-1]

    def messages(self, span: str, refs: Iterable[ContentRef], role: str, source: str = "input") -> None:
        for ref in refs:
            self.add(ev.MessageAdded, span, role=role, source=source, message=ref)

    def model_call(
        self, span: str, before: Sequence[Message], new: Sequence[Message], output: Message | None, **fields: Any
    ) -> ev.LlmCalled:
        thread = self.store.keep_thread([*before, *new])
        self.messages(span, (node.message for node in thread.nodes[len(before) :]), "user")
        called = self.add(ev.LlmCalled, span, model="gpt-4o", messages=len(thread.nodes), thread=thread.ref, **fields)
        if output is not None:
            answer = self.store.keep_thread([output])
            usage = ev.TokenUsage(input_tokens=10 * len(thread.nodes), output_tokens=5)
            self.add(ev.LlmCompleted, span, model="gpt-4o", usage=usage, elapsed_ms=2.5, thread=answer.ref)
            self.messages(span, (node.message for node in answer.nodes), "assistant", "output")
        return called

    def tool_call(self, span: str, name: str, arguments: Any, result: Any) -> None:
        self.add(ev.ToolCalled, span, name=name, call_id=f"call_{span}", arguments=self.store.keep(arguments))
        self.add(ev.ToolCompleted, span, name=name, elapsed_ms=1.0, result=self.store.keep(result))

    def done(self) -> RunRecord:
        self.store.keep_run(self.events)
        return record_of(self.store)


def _snapshots(events: Sequence[RunEvent]) -> list[RunState]:
    """The state after each _SNAPSHOT_EVERY events, each from the one before."""
    states: list[RunState] = []
    for end in range(_SNAPSHOT_EVERY, len(events) + 1, _SNAPSHOT_EVERY):
        states.append(fold(events[end - _SNAPSHOT_EVERY : end], states[-1] if states else None))
    return states
