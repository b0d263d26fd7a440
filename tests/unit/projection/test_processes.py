"""Runs that several processes recorded: gaps of each, when they are sealed, and what relates runs to each other."""

from typing import Any

import pytest

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.projection.inputs import ProjectSettings
from playhead.projection.projector import project
from playhead.projection.run_row import HandedProcess
from tests.unit.projection.recording import MS, Recording

P, Q = "1" * 16, "2" * 16
SETTINGS = ProjectSettings(seal_after_ns=30_000 * MS, lost_after_ns=900_000 * MS)


def run_with(*processes: str, tools: int = 2, is_open: bool = False) -> tuple[Recording, list[Span]]:
    """A run that hands a tool on to each of these processes; all spans of it."""
    r = Recording()
    spans: list[Span] = []
    with r.root():
        for process in processes:
            with r.call("tool", "ask") as asked:
                part = Recording(process=process)
                part.now_ns = r.now_ns
                for n in range(tools):
                    called = part.begin("tool", f"work {n}", asked)
                    if n == 0:
                        called.attributes[names.PROCESS_AFTER] = f"#{r.order}"
                    if not (is_open and n == tools - 1):
                        part.end(called)
                r.now_ns = part.now_ns
                spans += part.spans
    return r, [*r.spans, *spans]


def projected(r: Recording, spans: list[Span], quiet_s: int = 0, logs: list[LogEvent] | None = None) -> Any:
    return project(r.work(spans, logs), r.now_ns + quiet_s * 1_000 * MS, SETTINGS)


def test_every_process_has_its_place_in_the_order_of_the_run():
    r, spans = run_with(P)
    told = [r.tell(event) for event in projected(r, spans).events]
    assert told == [
        "run_started support", "tool_called ask", "tool_called work 0", "tool_completed work 0", "tool_called work 1",
        "tool_completed work 1", "tool_completed ask", "run_completed",
    ]  # fmt: skip


def test_gaps_are_those_of_each_process_and_of_the_run():
    r, spans = run_with(P, Q, tools=3)
    lost = [span for span in spans if span.name != "execute_tool work 1" or span.attributes[names.PROCESS_ID] != Q]
    row = projected(r, lost).row
    assert row.spans_missing == 1
    assert [(each.process, each.spans, each.spans_missing) for each in row.processes] == [(Q, 2, 1), (P, 3, 0)]
    assert projected(r, [span for span in lost if span is not r.spans[1]]).row.spans_missing == 2
    log = LogEvent("playhead.annotation", r.now_ns, None, None, {names.CALL_ORDER: 5, names.PROCESS_ID: P})
    assert projected(r, lost, logs=[log]).row.spans_missing == 2


def test_a_row_says_of_each_process_when_it_was_at_work():
    r, spans = run_with(P)
    own = [span for span in spans if names.PROCESS_ID in span.attributes]
    assert projected(r, spans).row.processes == (HandedProcess(P, own[0].start_ns, own[-1].end_ns, 2, 0),)
    r, spans = run_with(P, is_open=True)
    assert projected(r, spans).row.processes[0].ended_ns is None


def test_a_row_has_few_of_many_processes_and_those_with_gaps_or_open_calls_first():
    r, spans = run_with(*(f"{n:08x}" * 2 for n in range(1, 131)), tools=1)
    for process, attributes in ((120, {names.CALL_ORDER: 2}), (121, {})):
        [span] = [span for span in spans if span.attributes.get(names.PROCESS_ID) == f"{process:08x}" * 2]
        span.attributes |= attributes
        if not attributes:
            span.end_ns = None
    row = projected(r, spans).row
    assert (len(row.processes), row.process_count, row.processes_open) == (100, 130, 1)
    assert [each.process for each in row.processes[:3]] == [f"{n:08x}" * 2 for n in (120, 121, 1)]


@pytest.mark.parametrize(("quiet_s", "sealed"), [(31, False), (899, False), (901, True)])
def test_a_run_is_sealed_when_its_processes_have_ended_or_are_lost(quiet_s: int, sealed: bool):
    r, spans = run_with(P, Q, is_open=True)
    result = projected(r, spans, quiet_s)
    assert (result.row.status, result.row.processes_open) == ("completed", 2)
    assert (result.row.sealed, result.settled) == (sealed, False), "the store cannot seal it where it stands"


def test_a_run_whose_processes_have_ended_is_sealed_when_it_is_quiet():
    r, spans = run_with(P)
    result = projected(r, spans, 31)
    assert (result.row.sealed, result.row.processes_open) == (True, 0)
    assert projected(r, spans, 29).settled


def test_a_process_that_goes_on_after_the_run_s_end_does_not_end_it_otherwise():
    r, spans = run_with(P, is_open=True)
    last = spans[-1]
    last.end_ns = r.now_ns + 60_000 * MS
    last.attributes |= {names.CALL_ENDED_AFTER: 2, names.CALL_END_ORDER: 2}
    result = projected(r, spans)
    assert [event.kind for event in result.events[-2:]] == ["run_completed", "tool_completed"]
    assert (result.row.status, result.row.ended_ns) == ("completed", r.spans[0].end_ns)


def test_a_process_has_a_short_name_whatever_a_stranger_calls_it():
    r, spans = run_with("x" * 4_000)
    assert [each.process for each in projected(r, spans).row.processes] == ["x" * 64]


def test_log_events_of_one_call_have_ids_of_their_own_in_each_process():
    r, spans = run_with(P, Q)
    inside = spans[0].span_id
    logs = [
        LogEvent("playhead.annotation", r.now_ns, None, inside, {names.CALL_ORDER: 3} | of)
        for of in ({names.PROCESS_ID: P}, {names.PROCESS_ID: Q})
    ]
    ids = [event.id for event in projected(r, spans, logs=logs).events if event.kind == "orchestration_decision"]
    assert ids == [f"{inside}.orchestration_decision.{process}.3" for process in (P, Q)]


def test_a_run_says_which_traces_it_is_in_and_which_runs_it_names():
    r, spans = run_with(P)
    spans[-1].trace_id = "b" * 32
    for n, linked in enumerate((["c" * 32, r.run], ["d" * 32, "c" * 32], ["no id", 5], "e" * 32)):
        spans[n].attributes[names.LINKED_RUNS] = linked
    row = projected(r, spans).row
    assert (set(row.traces), row.linked) == ({r.run, "b" * 32}, ("c" * 32, "d" * 32))


def test_a_row_names_few_of_many_traces_and_runs():
    r, spans = run_with(P, tools=300)
    for n, span in enumerate(spans):
        span.trace_id = f"{n:032x}"
        span.attributes[names.LINKED_RUNS] = [f"{n + 1000:032x}"]
    row = projected(r, spans).row
    assert (len(row.traces), len(row.linked)) == (100, 100)
