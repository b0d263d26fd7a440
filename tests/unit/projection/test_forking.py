"""Forks: what they share with their parents, what they tell themselves; and attempts that go on with a record."""

from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model import names
from playhead.model.span import Span
from playhead.model.state import fold
from playhead.projection.inputs import Parent, Projection
from playhead.projection.projector import ProjectSettings, project
from tests.unit.projection.recording import MS, SETTINGS, Recording

CHILD = "c0ffee00" * 4
SYSTEM = "system: Help."


def parent_run() -> Recording:
    """A model, a tool, a model, a tool, a model."""
    r = Recording()
    with r.root():
        with r.call("step", "plan"):
            r.model([SYSTEM, "user: go"], "assistant: one", tokens=10)
        r.tool("search")
        r.model([SYSTEM, "user: go", "assistant: one", "user: found"], "assistant: two", tokens=20)
        with r.call("step", "settle"):
            r.tool("pay")
        r.model([SYSTEM, "user: go", "assistant: one", "user: found", "assistant: two"], "assistant: three", tokens=30)
    return r


def order_of(r: Recording, name: str) -> int:
    """The number of the call of this tool."""
    return next(span.attributes[names.CALL_ORDER] for span in r.spans if span.attributes.get(names.TOOL_NAME) == name)


def child_of(r: Recording, cut: int, run: str = CHILD) -> Recording:
    """A recording that begins with the number of the call at which it parts, and knows what the parent's knows."""
    child = Recording(run)
    child.order = cut - 1
    child.spans = [Span(run, f"{n:016x}", None, "", 0, None, {}) for n in range(100)]  # so that ids are others
    child.nodes, child.roles, child.messages, child.labels = r.nodes, r.roles, r.messages, r.labels
    return child


def told(child: Recording) -> list[Span]:
    return child.spans[100:]


def shown(child: Recording, parent: Parent | None, quiet_ms: int = 0, **more: Any) -> Projection:
    work = child.work(spans=told(child), **more)
    work.parent, work.shared = parent, more.get("shared")
    return project(work, child.now_ns + quiet_ms * MS, SETTINGS)


def as_parent(r: Recording, *above: Recording, events: Any = None, sealed: bool = False) -> Parent:
    spans = [r.spans if each is r else told(each) for each in (r, *above)]
    return Parent(r.run, events or r.events(), spans, sealed)


def a_fork(r: Recording, cut: int) -> Recording:
    """Goes on from the tool `pay`, which fails this time."""
    child = child_of(r, cut)
    with child.root(playhead__fork__of=r.run, playhead__fork__order=cut):
        with child.call("step", "settle"):
            child.tool("pay", error="no money")
        said = [SYSTEM, "user: go", "assistant: one", "user: found", "assistant: two", "user: it failed"]
        child.model(said, "assistant: sorry", tokens=40)
    return child


def test_a_fork_goes_on_where_its_parent_s_events_end_and_tells_no_message_again():
    r = parent_run()
    cut = order_of(r, "pay")
    child = a_fork(r, cut)
    parent = as_parent(r)
    made = shown(child, parent)
    first = next(event.seq for event in parent.events if isinstance(event, ev.ToolCalled) and event.name == "pay")
    assert [event.seq for event in made.events] == list(range(first, first + len(made.events)))
    assert [child.tell(event) for event in made.events] == [
        "run_started support", "run_forked", "step_started settle", "tool_called pay", "tool_failed pay",
        "step_completed settle", "message_added user: it failed", "llm_called", "llm_completed",
        "message_added assistant: sorry", "run_completed",
    ]  # fmt: skip
    forked = made.events[1]
    assert isinstance(forked, ev.RunForked)
    assert (forked.parent_run, forked.at) == (r.run, first)
    assert (made.row.shared, made.row.fork_at, made.row.events) == (first - 1, first, made.events[-1].seq)
    assert (made.row.llm_calls, made.row.tool_calls, made.row.input_tokens) == (3, 2, 70)
    assert made.row.spans_missing == 0
    state = fold([*parent.events[: first - 1], *made.events])
    assert [r.labels[ref] for ref in state.history] == [
        SYSTEM, "user: go", "assistant: one", "user: found", "assistant: two", "user: it failed", "assistant: sorry",
    ]  # fmt: skip
    assert (state.status, state.open_calls) == ("completed", {})


def test_what_the_parent_had_open_around_the_cut_is_not_open_in_the_fork():
    r = parent_run()
    cut = order_of(r, "pay")
    child = child_of(r, cut)
    root = child.begin(
        "agent", "support", playhead__run__root=True, playhead__fork__of=r.run, playhead__fork__order=cut
    )
    child.inside.append(root)
    step = child.begin("step", "settle")
    parent = as_parent(r)
    state = fold(parent.events[: shown(child, parent).row.shared])
    assert [call.name for call in state.open_calls.values()] == ["settle"]
    state = fold(shown(child, parent).events, state)
    assert list(state.open_calls) == [step.span_id]


def test_calls_that_ran_beside_the_cut_and_were_answered_from_the_record_end_in_the_fork_as_they_did():
    r = Recording()
    with r.root():
        slow = r.begin("tool", "slow")
        asked = r.ask([SYSTEM, "user: go"])
        cut = r.begin("tool", "cut")
        r.end(cut)
        cancelled = r.begin("tool", "later")
        r.answer(asked, "assistant: fine", tokens=9)
        r.end(slow)
        r.end(cancelled, playhead__outcome="cancelled")
    child = child_of(r, cut.attributes[names.CALL_ORDER])
    with child.root(playhead__fork__of=r.run, playhead__fork__order=cut.attributes[names.CALL_ORDER]):
        child.tool("cut", error="timeout")
        child.model([SYSTEM, "user: go", "assistant: fine", "user: next"], "assistant: done")
    parent = as_parent(r)
    made = shown(child, parent)
    assert [child.tell(event) for event in made.events] == [
        "run_started support", "run_forked", "llm_completed", "message_added assistant: fine", "tool_completed slow",
        "tool_called cut", "tool_failed cut",
        "message_added user: next", "llm_called", "llm_completed", "message_added assistant: done", "run_completed",
    ]  # fmt: skip
    assert {event.run for event in made.events} == {CHILD}
    state = fold([*parent.events[: made.row.shared], *made.events])
    assert (state.open_calls, len(state.history)) == ({}, 5)


def test_a_call_beside_the_cut_that_the_fork_made_again_ends_as_it_did_there():
    r = Recording()
    with r.root():
        slow = r.begin("tool", "slow", playhead__call__key="support/slow:tool#1")
        cut = r.begin("tool", "cut")
        r.end(cut)
        r.end(slow)
    number = cut.attributes[names.CALL_ORDER]
    child = child_of(r, number)
    with child.root(playhead__fork__of=r.run, playhead__fork__order=number):
        child.end(child.begin("tool", "slow", playhead__call__key="support/slow:tool#1"), error="not this time")
    assert [child.tell(event) for event in shown(child, as_parent(r)).events] == [
        "run_started support", "run_forked", "tool_called slow", "tool_failed slow", "run_completed",
    ]  # fmt: skip


def test_a_fork_of_a_fork_parts_in_either_of_the_records_above_it():
    r = parent_run()
    first = a_fork(r, order_of(r, "pay"))
    own = shown(first, as_parent(r))
    history = [*r.events()[: own.row.shared], *own.events]
    for name, above in (("search", r), ("pay", first)):
        number = next(
            span.attributes[names.CALL_ORDER]
            for span in (told(above) if above is first else r.spans)
            if span.attributes.get(names.TOOL_NAME) == name
        )
        second = child_of(r, number, "d00d" * 8)
        with second.root(playhead__fork__of=first.run, playhead__fork__order=number):
            second.tool(name, error="again")
        parent = Parent(first.run, history, [told(first), r.spans])
        made = shown(second, parent)
        at = next(event.seq for event in history if isinstance(event, ev.ToolCalled) and event.name == name)
        assert (made.row.fork_at, made.row.shared) == (at, at - 1)
        assert made.events[0].seq == at


def test_without_its_parent_a_fork_tells_what_it_has_and_is_projected_anew_when_that_comes():
    r = parent_run()
    child = a_fork(r, order_of(r, "pay"))
    alone = shown(child, None)
    assert [event.seq for event in alone.events] == list(range(1, len(alone.events) + 1))
    assert (alone.row.fork_of, alone.row.fork_at, alone.row.shared) == (r.run, None, None)
    assert not shown(child, None, quiet_ms=60_000).row.sealed
    early = as_parent(r, events=r.events(spans=r.spans[:3]))  # which has not got as far yet
    assert shown(child, early).row.shared is None
    assert shown(child, as_parent(r)).row.shared


def test_a_parent_that_is_gone_leaves_every_event_in_its_place():
    r = parent_run()
    child = a_fork(r, order_of(r, "pay"))
    before = shown(child, as_parent(r))
    after = shown(child, None, shared=before.row.shared)
    assert after.row.shared == before.row.shared
    assert after.events[0].seq == before.events[0].seq


def test_a_fork_is_sealed_after_its_parent_and_keeps_its_seqs_from_then_on():
    r = parent_run()
    child = a_fork(r, order_of(r, "pay"))
    assert not shown(child, as_parent(r), quiet_ms=60_000).row.sealed
    parent = as_parent(r, sealed=True)
    sealed = shown(child, parent, quiet_ms=60_000)
    assert sealed.row.sealed
    child.log("playhead.of_tomorrow")
    late = shown(child, parent, sealed=sealed.events, shared=sealed.row.shared).events
    assert list(late[:-1]) == list(sealed.events)
    assert (late[-1].seq, late[-1].late) == (sealed.events[-1].seq + 1, True)


def test_a_run_that_says_to_be_a_fork_of_nothing_known_keeps_what_it_said():
    child = child_of(Recording(), 1)
    with child.root(playhead__fork__of="ab" * 16, playhead__fork__at=9):
        pass
    assert shown(child, None).row.fork_at == 9


def test_snapshots_of_a_fork_go_on_from_its_parent_s_state():
    r = parent_run()
    child = a_fork(r, order_of(r, "pay"))
    work, parent = child.work(spans=told(child)), as_parent(r)
    work.parent = parent
    made = project(work, child.now_ns, ProjectSettings(snapshot_every=4))
    whole = [*parent.events[: made.row.shared], *made.events]
    assert [state.seq for state in made.snapshots] == [made.events[3].seq, made.events[7].seq]
    assert made.snapshots[-1] == fold(whole[: made.events[7].seq])


# --- attempts --------------------------------------------------------------------------------------------------------


def resumed_run() -> Recording:
    """A process died while a model thought; the next one goes on with that call and its root."""
    r = Recording()
    root = r.begin("agent", "support", playhead__run__root=True)
    r.inside.append(root)
    r.tool("search")
    asked = r.ask([SYSTEM, "user: go"])
    r.attempt = 1
    r.log(names.RESUMED)
    for span in (root, asked):
        span.attributes[names.RUN_ATTEMPT] = 1  # whoever ends it says so
    r.answer(asked, "assistant: fine", tokens=9)
    r.model([SYSTEM, "user: go", "assistant: fine", "user: next"], "assistant: done", tokens=20)
    r.inside.clear()
    r.end(root)
    return r


def test_a_run_that_was_resumed_says_where_its_record_ended():
    r = resumed_run()
    assert r.story() == [
        "run_started support", "tool_called search", "tool_completed search", f"message_added {SYSTEM}",
        "message_added user: go", "llm_called", "run_resumed", "llm_completed", "message_added assistant: fine",
        "message_added user: next", "llm_called", "llm_completed", "message_added assistant: done", "run_completed",
    ]  # fmt: skip
    (resumed,) = (event for event in r.events() if isinstance(event, ev.RunResumed))
    assert (resumed.seq, resumed.from_seq, resumed.attempt) == (7, 6, 1)
    started = r.events()[0]
    assert isinstance(started, ev.RunStarted)
    assert (started.attempt, r.project().row.attempt) == (0, 1)


def test_seqs_of_a_run_stay_as_they_were_when_the_next_attempt_goes_on_with_its_calls():
    r = resumed_run()
    dead = Recording()
    root = dead.begin("agent", "support", playhead__run__root=True)
    dead.inside.append(root)
    dead.tool("search")
    dead.ask([SYSTEM, "user: go"])
    assert [event.id for event in dead.events()] == [event.id for event in r.events()[:6]]


def test_what_is_not_as_recorded_is_an_event():
    r = Recording()
    with r.root():
        r.log(
            names.DIVERGED, playhead__divergence__how="changed", playhead__divergence__call="support/pay:tool#1",
            playhead__divergence_ref=r.kept("arguments changed"),
        )  # fmt: skip
    (diverged,) = (event for event in r.events() if isinstance(event, ev.RunDiverged))
    assert (diverged.how, diverged.call, diverged.report) == (
        "changed",
        "support/pay:tool#1",
        r.kept("arguments changed"),
    )
    assert diverged.priority == "critical"


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_a_number_that_no_call_of_the_parent_has_shares_nothing(cut: int):
    r = Recording()
    with r.root():
        pass
    child = child_of(r, cut + 1)
    with child.root(playhead__fork__of=r.run, playhead__fork__order=cut + 1):
        pass
    assert shown(child, as_parent(r)).row.shared is None
