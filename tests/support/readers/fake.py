"""A store in memory, as far as questions need one, and a short run to ask about."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
from playhead_collector.errors import ContentMissing
from playhead_collector.read.record import RunRecord
from playhead_collector.store.ports import RunFilter
from playhead_collector.store.ports.scores import ScoreFilter, StoredScore
from playhead_collector.store.ports.uses import EventRange, SameContext

RUN = "0190f5fe" * 4
EPOCH_NS = 1_700_000_000_000_000_000


@dataclass
class FakeStore:
    """Keeps the promises of `ports.py` that [query] relies on; counts round trips."""

    events_of: dict[str, list[RunEvent]] = field(default_factory=dict)
    rows: dict[str, RunRow] = field(default_factory=dict)
    contents: dict[ContentRef, Content] = field(default_factory=dict)
    nodes: dict[ContentRef, ThreadNode] = field(default_factory=dict)
    spans_of: dict[str, list[Span]] = field(default_factory=dict)
    said: dict[tuple[ContentRef, str], ContentRef] = field(default_factory=dict)
    snapshot_every: int = 10
    trips: int = 0

    def keep(self, value: Any) -> ContentRef:
        content = value if isinstance(value, Content) else content_of(value)
        self.contents[content.ref] = content
        return content.ref

    def keep_thread(self, messages: Sequence[Message]) -> Thread:
        thread = thread_of(messages)
        for content in thread.contents:
            self.keep(content)
        self.nodes |= {node.ref: node for node in thread.nodes}
        return thread

    def keep_run(self, events: Sequence[RunEvent], run: str = RUN, **more: Any) -> RunRow:
        self.events_of[run] = list(events)
        row = RunRow(run=run, name="support", status="running", started_ns=EPOCH_NS, ended_ns=None, **more)
        self.rows[run] = _with(row, events=len(events))
        return self.rows[run]

    async def get(self, project_id: int, ref: ContentRef) -> Content:
        self.trips += 1
        if ref not in self.contents:
            raise ContentMissing(f"nothing is stored under {ref}")
        return self.contents[ref]

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        self.trips += 1
        return {ref: self.contents[ref] for ref in refs if ref in self.contents}

    async def thread(self, project_id: int, ref: ContentRef) -> Sequence[ThreadNode]:
        self.trips += 1
        nodes: list[ThreadNode] = []
        here: ContentRef | None = ref
        while here is not None:
            if here not in self.nodes:
                raise ContentMissing(f"nothing is stored under {here}")
            nodes.append(self.nodes[here])
            here = nodes[-1].parent
        return nodes[::-1]

    async def events(
        self, project_id: int, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[RunEvent]:
        self.trips += 1
        found = [event for event in self.events_of[run] if event.seq > after and (upto is None or event.seq <= upto)]
        return found[:limit]

    async def event_pages(self, project_id: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        yield await self.events(project_id, run, after=after)

    async def seq_of(self, project_id: int, run: str, event_id: str) -> int | None:
        return next((event.seq for event in self.events_of[run] if event.id == event_id), None)

    async def calls_with_thread(self, project_id: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        calls = [event for events in self.events_of.values() for event in events if isinstance(event, ev.LlmCalled)]
        return [(event.run, event.seq) for event in calls if event.thread == thread][:limit]

    async def runs_with_same_context(
        self, project_id: int, parts: Sequence[EventRange], *, without: Sequence[str], limit: int
    ) -> Sequence[SameContext]:
        found: dict[str, SameContext] = {}
        mine = [
            (part, event) for part in parts for event in self.events_of[part.run] if isinstance(event, ev.LlmCalled)
        ]
        for part, event in sorted(mine, key=lambda each: each[1].seq):
            if event.thread is None or not part.after < event.seq <= part.upto:
                continue
            for run, seq in await self.calls_with_thread(project_id, event.thread, limit=limit):
                if run not in (*without, part.run):
                    found[run] = SameContext(event.seq, run, seq)
        return sorted(found.values(), key=lambda each: -each.here)[:limit]

    async def explanation(self, project_id: int, subject: ContentRef, model: str | None = None) -> ContentRef | None:
        return next((ref for (of, by), ref in self.said.items() if of == subject and model in (None, by)), None)

    async def keep_explanation(
        self, project_id: int, run: str, subject: ContentRef, model: str, explanation: Content
    ) -> None:
        self.said[subject, model] = self.keep(explanation)

    async def snapshot(self, project_id: int, run: str, seq: int) -> RunState | None:
        upto = seq // self.snapshot_every * self.snapshot_every
        return fold(self.events_of[run][:upto]) if upto else None

    async def spans(self, project_id: int, run: str) -> Sequence[Span]:
        return self.spans_of.get(run, [])

    async def run(self, project_id: int, run: str) -> RunRow | None:
        return self.rows.get(run)

    async def scores(
        self, project_id: int, where: ScoreFilter, *, limit: int, before: tuple[int, str, str] | None = None
    ) -> Sequence[StoredScore]:
        return []

    async def runs(
        self, project_id: int, where: RunFilter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[RunRow]:
        rows = [row for row in self.rows.values() if where.fork_of in (None, row.fork_of)]
        rows = [row for row in rows if (where.id_part or "") in row.run]
        newest = sorted(rows, key=lambda row: (row.started_ns, row.run), reverse=True)
        return [row for row in newest if before is None or (row.started_ns, row.run) < before][:limit]


class FakeRunner:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def catch_up(self) -> None:
        """Nothing is ever behind here."""

    async def project_now(self, project_id: int, run: str) -> None:
        self.asked.append(run)


def record_of(store: FakeStore, run: str = RUN) -> RunRecord:
    return RunRecord(store, 1, store.rows[run])  # pyright: ignore[reportArgumentType]


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


def _with(row: RunRow, **changes: Any) -> RunRow:
    return RunRow(**{name: getattr(row, name) for name in RunRow.__slots__} | changes)
