"""A run that was killed and resumed, killed and resumed: whatever arrives when, and whenever the run is sealed."""

from dataclasses import dataclass, field, replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.projection.inputs import Projection
from playhead_collector.store.packing.span_pages import merge, pack, unpack
from tests.unit.projection.recording import Recording


@dataclass
class Chain:
    """What each process of a run left to be delivered; the last one lived to its end."""

    r: Recording
    lanes: list[list[Span | LogEvent]] = field(default_factory=list[list[Span | LogEvent]])

    def left(self, *records: Span | LogEvent) -> None:
        self.lanes[-1] += [replace(record) for record in records]


def killed_chain(kills: int, *, fails: bool = False) -> Chain:
    """Each process does a model call and dies in a tool, below a step of which only the tools tell."""
    r = Recording()
    chain = Chain(r, [[]])
    root = r.begin("agent", "lead", playhead__run__root=True)
    chain.left(root)
    asked: list[str] = []
    gone: list[int] = []
    for attempt in range(kills + 1):
        if attempt:
            r.attempt = attempt
            chain.lanes.append([])
            chain.left(r.log(names.RESUMED, **{names.RESUMED_WITHOUT: [*gone]}))
        step = r.begin("step", "step", root)
        r.spans.remove(step)  # it is written down when it ends
        gone += [r.order, r.order]
        step.span_id = f"{attempt + 1:x}" * 16
        asked.append(f"user: {attempt}")
        call = r.model(asked, f"assistant: {attempt}")
        call.parent_id = step.span_id
        chain.left(call)
        tool = r.begin("tool", "pay", step)
        chain.left(tool)
        if attempt == kills:
            chain.left(r.end(tool), r.end(step))
            root.attributes[names.RUN_ATTEMPT] = attempt
            chain.left(r.end(root, error="no" if fails else None))
    return chain


def arrive(chain: Chain, order: list[int], seal_after: set[int]) -> tuple[list[Projection], Projection]:
    """Lanes arrive in this order, stored as they are stored; after some of them the run has been quiet for long."""
    r, pages, seen = chain.r, [], list[Projection]()
    sealed = None
    for n, lane in enumerate(order):
        records = chain.lanes[lane]
        spans = [record for record in records if isinstance(record, Span)]
        logs = [record for record in records if isinstance(record, LogEvent)]
        pages += [unpack(len(pages) + m, page.body) for m, page in enumerate(pack(spans, logs))]
        merged = merge(pages)
        quiet = 60_000 if n in seal_after else 0
        result = r.project(spans=merged.spans, logs=merged.logs, sealed=sealed, quiet_ms=quiet)
        seen.append(result)
        sealed = result.events if result.row.sealed else None
    return seen, seen[-1]


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_a_chain_of_kills_ends_as_its_last_attempt_did(data: st.DataObject):
    kills, fails = data.draw(st.integers(1, 4)), data.draw(st.booleans())
    chain = killed_chain(kills, fails=fails)
    order = data.draw(st.permutations(range(kills + 1)))
    seen, last = arrive(chain, order, data.draw(st.sets(st.integers(0, kills))))
    assert (last.row.status, last.row.attempt) == ("failed" if fails else "completed", kills)
    assert last.row.spans_missing == 0
    assert last.row.llm_calls == kills + 1
    over = False
    for result in seen:
        assert not over or result.row.status == last.row.status, "it had ended, and goes on for ever"
        over |= result.row.status != "running"
    assert not any(isinstance(event, ev.RunDiverged) for event in last.events)


@example([2, 0, 1], {0})
@given(st.permutations(range(3)), st.sets(st.integers(0, 2)))
@settings(deadline=None, max_examples=50)
def test_an_attempt_that_failed_and_arrives_late_does_not_undo_the_one_that_completed(
    order: list[int], seal_after: set[int]
):
    r = Recording()
    lanes: list[list[Span | LogEvent]] = []
    for attempt in range(3):
        r.attempt = attempt
        said = [r.log(names.RESUMED)] if attempt else []
        root = r.begin("agent", "lead", playhead__run__root=True)
        tool = r.tool("pay")
        lanes.append([*said, r.end(root, error=None if attempt == 2 else "no"), tool])
    _, last = arrive(Chain(r, lanes), order, seal_after)
    assert (last.row.status, last.row.attempt) == ("completed", 2)


def test_of_a_span_that_two_attempts_ended_the_later_one_s_end_counts():
    chain = killed_chain(2)
    root = next(record for record in chain.lanes[2] if names.RUN_ROOT in record.attributes)
    assert isinstance(root, Span)
    # A process that was taken for dead, and was not.
    attributes = {**root.attributes, names.RUN_ATTEMPT: 1}
    chain.lanes[1].append(replace(root, attributes=attributes, status=2, end_ns=(root.end_ns or 0) + 10**9))
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        _, last = arrive(chain, order, {0, 2})
        assert (last.row.status, last.row.attempt) == ("completed", 2), order


def test_what_nobody_has_replaced_is_missing():
    chain = killed_chain(1)
    resumed = next(record for record in chain.lanes[1] if isinstance(record, LogEvent))
    del resumed.attributes[names.RESUMED_WITHOUT]
    assert arrive(chain, [0, 1], set())[1].row.spans_missing == 1
    resumed.attributes[names.RESUMED_WITHOUT] = [1, "x"]
    assert arrive(chain, [0, 1], set())[1].row.spans_missing == 1
