"""Whatever arrives, split and shuffled as it may be: a projection that goes on says what one from nothing says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model import names
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RUNNING, RunState, fold
from playhead.projection.inputs import Projection
from playhead.projection.progress import ProjectionState
from playhead.projection.projector import ProjectSettings, project
from playhead.projection.run_row import RunRow
from playhead.projection.search_rows import SearchRows, ToolOutcome, search_rows
from playhead_collector.store.packing.span_pages import SpanPage, merge, named_refs
from playhead_collector.store.ports.projections import RunWork
from tests.unit.projection.recording import Recording
from tests.unit.projection.test_properties import recordings as tangled

EVERY = 4
SETTINGS = ProjectSettings(snapshot_every=EVERY, keep_state=True)
AT_THE_END = (
    names.CALL_ENDED_AFTER, names.CALL_END_ORDER, names.OUTPUT_MESSAGES_REF, names.INPUT_TOKENS, names.OUTPUT_TOKENS,
    names.ERROR_TYPE, names.TOOL_RESULT_REF, names.OUTPUT_REF,
)  # fmt: skip
Item = Span | LogEvent


@dataclass
class Followed:
    """A run as the collector keeps it while it goes on: what is stored, and what is in memory."""

    recording: Recording
    arrived: list[Item] = field(default_factory=list)
    hidden: set[ContentRef] = field(default_factory=set)
    events: list[RunEvent] = field(default_factory=list)
    snapshots: list[RunState] = field(default_factory=list)
    searched: SearchRows = field(default_factory=SearchRows)
    row: RunRow | None = None
    progress: ProjectionState | None = None
    given: set[ContentRef] = field(default_factory=set)
    starts_over: int = 0

    def arrive(self, items: Iterable[Item] = ()) -> None:
        items = list(items)
        self.arrived += items
        result = self._go_on(items) if self.progress else None
        if result is None:
            self.starts_over += 1
            result = self.from_nothing()
            self.given = self._refs(self.arrived)
            self.events, self.snapshots = list(result.events), list(result.snapshots)
            self.searched = search_rows(result.events)
        else:
            self._search(search_rows(result.events))
            now = {event.seq: event for event in result.altered}
            self.events = [now.get(event.seq, event) for event in self.events] + list(result.events)
            self.snapshots += result.snapshots
        self.row, self.progress = result.row, result.progress

    def from_nothing(self) -> Projection:
        work = self._work(self.arrived, self._nodes(self._refs(self.arrived)))
        while (result := project(work, 0, SETTINGS)).unread:
            self._read(work, result.unread)
        return result

    def check(self) -> None:
        expected = self.from_nothing()
        assert self.events == list(expected.events)
        assert self.row == expected.row
        rows = search_rows(expected.events)
        assert (self.searched.tool_calls, self.searched.decisions) == (rows.tool_calls, rows.decisions)
        assert self.searched.errors == rows.errors
        assert self.snapshots == list(expected.snapshots)
        assert self.snapshots == [fold(self.events[:at]) for at in range(EVERY, len(self.events) + 1, EVERY)]

    def _search(self, more: SearchRows) -> None:
        """What a store does with the rows of events that were added."""
        for n, row in enumerate(self.searched.tool_calls):
            if row.outcome == ToolOutcome.OPEN and row.span in more.ended:
                self.searched.tool_calls[n] = row._replace(outcome=more.ended[row.span], span=None)
        self.searched.tool_calls += more.tool_calls
        self.searched.decisions += more.decisions
        self.searched.errors += more.errors

    def _go_on(self, items: Sequence[Item]) -> Projection | None:
        assert self.progress is not None
        refs = self._refs(items) - self.given
        self.given |= refs
        work = self._work(items, self._nodes(refs | self.progress.missing))
        work.roles |= {
            ref: self._role(ref) for ref in self.progress.missing & self.recording.roles.keys() - self.hidden
        }
        while (result := self.progress.continue_with(work, EVERY)) and result.unread:
            self._read(work, result.unread)
        return result

    def _work(self, items: Sequence[Item], nodes: dict[ContentRef, Any]) -> Any:
        merged = merge([SpanPage(1, b"", *_both(items))])
        roles = {node.message: self._role(node.message) for node in nodes.values() if node.message not in self.hidden}
        return RunWork(self.recording.run, merged.spans, merged.logs, nodes, roles, None, self.recording.now_ns)

    def _role(self, message: ContentRef) -> str:
        return self.recording.roles[message]

    def _read(self, work: RunWork, refs: Iterable[ContentRef]) -> None:
        work.looked_up |= set(refs)
        said = self.recording.messages
        work.messages |= {ref: said[ref] for ref in refs if ref in said and ref not in self.hidden}

    def _refs(self, items: Sequence[Item]) -> set[ContentRef]:
        return named_refs(*_both(items))

    def _nodes(self, refs: Iterable[ContentRef]) -> dict[ContentRef, Any]:
        found: dict[ContentRef, Any] = {}
        for ref in refs:
            here: ContentRef | None = ref
            while here is not None and here in self.recording.nodes and not self._is_hidden(ref):
                found[here] = self.recording.nodes[here]
                here = found[here].parent
        return found

    def _is_hidden(self, thread: ContentRef) -> bool:
        return thread in self.hidden


SUMMARY = "user: This is a summary of the conversation so far: all went well, and all is said."
WINDOW, SUMMED, MASKED, BEGUN_ANEW, ASKED, QUOTED = "window", "summed up", "masked", "begun anew", "asked", "quoted"
ASKS = "user: Summarize the conversation so far, with all of its numbers."


class Chat:
    """A conversation that goes on, and now and then loses messages."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.said = ["system: You help.", "user: Hello, I have a question about my order."]
        self.count = 0

    def more(self, role: str = "user") -> str:
        self.count += 1
        return f"{role}: Message {self.count}, which says a little more than the others, to be told from them."

    def next(self) -> list[str]:
        said = self.said
        match self.draw(st.sampled_from([None, None, None, WINDOW, SUMMED, MASKED, BEGUN_ANEW, ASKED, QUOTED])):
            case "window":
                said = [said[0], *said[1 + len(said) // 2 :]]
            case "summed up":
                said = [said[0], SUMMARY, *said[-1:]] if self.draw(st.booleans()) else [said[0], SUMMARY]
            case "masked":
                said = [line if not line.startswith("tool#") else f"{line.partition(': ')[0]}: -" for line in said]
            case "asked":
                self.said = [*said, ASKS]
                return self.said
            case "quoted":
                answers = [line for line in said if line.startswith("assistant: ")]
                quoted = answers[-1].replace("assistant: ", "user: So far: ") if answers else SUMMARY
                said = [said[0], quoted, *(said[-2:] if self.draw(st.booleans()) else [])]
            case "begun anew":
                said = [said[0], self.more()]
            case _:
                pass
        self.said = [*said, self.more("user" if self.draw(st.booleans()) else f"tool#c{self.count}")]
        return self.said


@st.composite
def conversations(draw: st.DrawFn) -> Recording:
    """An agent that talks, with tokens counted; calls beside each other, wrapped ones, tools, and a crash."""
    r, chat = Recording(), Chat(draw)
    root = r.begin("agent", "lead", None, playhead__run__root=True)
    chats, open_calls = {"lead": chat, "helper": Chat(draw)}, list[tuple[str, Span]]()
    for _ in range(draw(st.integers(2, 16))):
        match draw(st.sampled_from(["ask", "ask", "answer", "answer", "answer", "tool", "wrapped", "log", "crash"])):
            case "ask":
                who = draw(st.sampled_from(sorted(chats)))
                open_calls.append((who, r.ask(chats[who].next(), root, gen_ai__agent__name=who)))
            case "answer" if open_calls:
                who, span = open_calls.pop(draw(st.integers(0, len(open_calls) - 1)))
                answer = chats[who].more("assistant")
                r.answer(span, answer, tokens=draw(st.integers(1, 9)), error=draw(st.sampled_from([None, None, "no"])))
                chats[who].said = [*chats[who].said, answer]
            case "tool":
                r.tool("search")
            case "wrapped":
                outer = r.begin("llm", "wrapper", root)
                inner = r.ask(chat.next(), outer)
                r.answer(inner, chat.more("assistant"))
                said: dict[str, Any] = {"gen_ai__usage__input_tokens": 7} if draw(st.booleans()) else {}
                r.end(outer, **said)
            case "log":
                r.log(draw(st.sampled_from([names.STATE_CHANGED, names.CHECKPOINT])), playhead__state__key="k")
            case "crash" if r.attempt == 0 and draw(st.booleans()):
                r.attempt = 1
                if draw(st.booleans()):
                    r.log(names.RESUMED)
                else:
                    root = r.begin("agent", "lead", None, playhead__run__root=True)
                    open_calls = [] if draw(st.booleans()) else open_calls
            case _:
                pass
    if draw(st.booleans()):
        r.end(root)
    return r


recordings = st.one_of(tangled(), conversations(), conversations())


def _both(items: Sequence[Item]) -> tuple[list[Span], list[LogEvent]]:
    return [each for each in items if isinstance(each, Span)], [each for each in items if isinstance(each, LogEvent)]


def as_it_happened(r: Recording) -> list[Item]:
    """Announcements, ends and log events, in the order in which their process wrote them."""
    found: list[tuple[tuple[int, ...], Item]] = []
    for span in r.spans:
        attributes = {name: value for name, value in span.attributes.items() if name not in AT_THE_END}
        order = span.attributes[names.CALL_ORDER]
        begun = replace(span, end_ns=None, attributes=attributes, status=0, status_message="")
        found.append(((order, 0, 0), begun))
        if span.end_ns is not None:
            after, nth = span.attributes[names.CALL_ENDED_AFTER], span.attributes[names.CALL_END_ORDER]
            found.append(((after, 1, nth), span))
    found += [((log.attributes[names.CALL_ORDER], 0, 0), log) for log in r.logs]
    return [item for _, item in sorted(found, key=lambda each: each[0])]


def split(draw: Any, items: Sequence[Item]) -> list[list[Item]]:
    batches: list[list[Item]] = []
    rest = list(items)
    while rest:
        size = draw(st.integers(1, 4))
        batches.append(rest[:size])
        rest = rest[size:]
    return batches


@given(recordings, st.data())
@settings(deadline=None, max_examples=100)
def test_what_arrives_as_it_happens_is_told_without_starting_over(r: Recording, data: st.DataObject):
    followed = Followed(r)
    for batch in split(data.draw, as_it_happened(r)):
        ended = followed.row is not None and followed.row.status != RUNNING
        followed.arrive(batch)
        followed.check()
        assert followed.starts_over == 1 or ended or is_intricate(r)


def is_intricate(r: Recording) -> bool:
    """Whether there are model calls within model calls: what the outer one is depends on what it says in the end.  Or
    a later attempt, whose calls may end what an earlier one began."""
    calls = {span.span_id for span in r.spans if span.attributes[names.KIND] == "llm"}
    above = {span.span_id: span.parent_id for span in r.spans}
    for span in r.spans:
        here = above[span.span_id]
        while here is not None and span.span_id in calls:
            if here in calls:
                return True
            here = above[here]
    return r.attempt > 0


@given(recordings, st.data())
@settings(deadline=None, max_examples=100)
def test_any_order_of_arrival_gives_the_same(r: Recording, data: st.DataObject):
    items = as_it_happened(r)
    again = data.draw(st.lists(st.sampled_from(items), max_size=4))
    followed = Followed(r)
    for batch in split(data.draw, data.draw(st.permutations([*items, *again]))):
        followed.arrive(batch)
        followed.check()


@given(recordings, st.data())
@settings(deadline=None, max_examples=100)
def test_some_disorder_and_repetition_gives_the_same(r: Recording, data: st.DataObject):
    items = as_it_happened(r)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(items) - 1))
        items.insert(data.draw(st.integers(0, len(items))), items[at] if data.draw(st.booleans()) else items.pop(at))
    followed = Followed(r)
    for batch in split(data.draw, items):
        followed.arrive(batch)
        followed.check()


@given(recordings, st.data())
@settings(deadline=None, max_examples=100)
def test_content_that_comes_late_gives_the_same(r: Recording, data: st.DataObject):
    followed = Followed(r)
    refs = sorted({*r.nodes, *r.messages})
    if refs:
        followed.hidden = data.draw(st.sets(st.sampled_from(refs)))
    for batch in split(data.draw, as_it_happened(r)):
        followed.arrive(batch)
        followed.check()
        if followed.hidden and data.draw(st.booleans()):
            followed.hidden -= data.draw(st.sets(st.sampled_from(sorted(followed.hidden))))
            followed.arrive()
            followed.check()


@given(conversations(), st.data())
@settings(deadline=None, max_examples=30)
def test_a_growing_run_knows_its_traces_and_the_runs_that_it_names(r: Recording, data: st.DataObject):
    for span in r.spans:
        span.trace_id = data.draw(st.sampled_from([r.run, "b" * 32, "a" * 32]))
        span.attributes[names.LINKED_RUNS] = data.draw(st.sampled_from([[], ["d" * 32], ["c" * 32, r.run]]))
    followed = Followed(r)
    for batch in split(data.draw, as_it_happened(r)):
        followed.arrive(batch)
        followed.check()


def test_a_run_is_projected_from_nothing_once_another_process_records_a_part_of_it():
    r, part = Recording(), Recording(process="1" * 16)
    root = r.begin("agent", "lead", None, playhead__run__root=True)
    asked = r.begin("tool", "ask", root)
    part.begin("tool", "work", asked, playhead__process__after="#2")
    log = LogEvent(
        names.ANNOTATION, part.now_ns, r.run, asked.span_id, {names.CALL_ORDER: 2, names.PROCESS_ID: "1" * 16}
    )
    followed = Followed(r)
    followed.arrive([root])
    followed.arrive([asked])
    assert followed.starts_over == 1
    for item in (part.spans[0], log, r.end(asked)):
        followed.arrive([item])
        followed.check()
    assert followed.starts_over == 4
