"""Calls without an agent around them: which of them are one run."""

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, TraceIdRatioBased

import playhead
from playhead import observe
from playhead.calls import grouping
from playhead.model import names
from tests.support.journal_reader import Recording
from tests.support.projected import projected

pytestmark = pytest.mark.usefixtures("quiet")


@observe(kind="tool")
def call(n: int = 0) -> int:
    return n


@observe(kind="llm")
async def ask(n: int = 0) -> int:
    await asyncio.sleep(0)
    return n


@observe
async def agent() -> int:
    return call(1)


def runs(recording: Recording) -> list[list[str]]:
    """Names of the calls of each run, as they ended; runs in the order of their first."""
    found: dict[str, list[str]] = {}
    for span in recording.read().spans:
        found.setdefault(span.attributes[names.RUN_ID], []).append(span.name.rpartition(" ")[2])
    return list(found.values())


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[TracerProvider]:
    provider = TracerProvider()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield provider
    provider.shutdown()


async def test_calls_of_one_task_are_one_run_and_an_agents_are_its_own(recording: Recording):
    await ask(1)
    call(2)
    await agent()
    await ask(3)
    assert runs(recording) == [["ask", "call", "ask"], ["call", "agent"]]
    seen = recording.read()
    mine = [span for span in seen.spans if span.attributes[names.CALL_KEY].startswith(("ask", "call"))]
    assert [span.attributes[names.CALL_ORDER] for span in mine] == [1, 2, 3]
    assert len({span.trace_id for span in mine}) == 1
    told = projected(seen, mine[0].attributes[names.RUN_ID])
    assert [event.kind for event in told.events if event.kind.startswith("run")] == ["run_started", "run_completed"]
    assert (told.row.status, told.row.spans_missing, told.row.tool_calls, told.row.llm_calls) == ("completed", 0, 1, 2)
    assert told.events[-1].kind == "run_completed"


async def test_other_tasks_have_runs_of_their_own(recording: Recording):
    async def task(n: int) -> None:
        await ask(n)
        await ask(n)

    await asyncio.gather(task(1), task(2))
    assert runs(recording) == [["ask", "ask"], ["ask", "ask"]]


async def test_a_task_that_rests_begins_another_run(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr(grouping.time, "monotonic", lambda: now[0])
    for now[0] in (0, 59, 118, 179):
        call()
    assert runs(recording) == [["call"] * 3, ["call"]]
    recording.configure(task_run_seconds=0)
    call()
    call()
    assert runs(recording)[2:] == [["call"], ["call"]]


def test_calls_of_a_thread_or_below_a_library_are_runs_of_their_own(recording: Recording):
    """This test is called by a library, as a server's handler is."""
    call()
    call()
    thread = threading.Thread(target=lambda: [call(), call()])
    thread.start()
    thread.join()
    assert runs(recording) == [["call"]] * 4


def test_calls_inside_a_span_are_the_run_of_its_trace(recording: Recording, provider: TracerProvider):
    tracer = provider.get_tracer("web")

    async def handler() -> str:
        with tracer.start_as_current_span("POST /ask", kind=trace.SpanKind.SERVER) as span:
            with tracer.start_as_current_span("inner"):
                await asyncio.gather(ask(1), ask(2))
            thread = threading.Thread(target=playhead.propagate_to_thread(call))
            thread.start()
            thread.join()
            await agent()
        return f"{span.get_span_context().trace_id:032x}"

    first, second = asyncio.run(handler()), asyncio.run(handler())
    seen = recording.read()
    of = {run: [s for s in seen.spans if s.attributes[names.RUN_ID] == run] for run in (first, second)}
    for run, spans in of.items():
        assert sorted(span.name.rpartition(" ")[2] for span in spans) == ["/ask", "ask", "ask", "call"]
        assert {span.trace_id for span in spans} == {run}
        row = projected(seen, run).row
        assert (row.status, row.spans_missing, row.llm_calls, row.tool_calls) == ("completed", 0, 2, 1)
        assert row.name == "POST /ask"
    assert len(runs(recording)) == 4, "and the two agents"


def test_a_span_that_is_not_recorded_drops_all_calls_in_it(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    provider = TracerProvider(sampler=ALWAYS_OFF)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with provider.get_tracer("web").start_as_current_span("GET /"):
        assert (call(1), call(2)) == (1, 2)
    assert recording.read().spans == []
    provider.shutdown()


async def test_a_run_of_calls_is_sampled_whole(recording: Recording, monkeypatch: pytest.MonkeyPatch):
    provider = TracerProvider(sampler=TraceIdRatioBased(0.5))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)

    async def task() -> None:
        for _ in range(4):
            await ask()

    await asyncio.gather(*(task() for _ in range(20)))
    assert {len(each) for each in runs(recording)} == {4}
    provider.shutdown()


async def test_calls_of_one_task_are_resumed_together(recording: Recording):
    made: list[int] = []

    @observe(kind="tool")
    async def work(n: int) -> int:
        made.append(n)
        return n

    await work(1)
    await work(2)
    [run] = {span.attributes[names.RUN_ID] for span in recording.read().spans}
    with playhead.resume(run):
        assert [await work(1), await work(2), await work(3)] == [1, 2, 3]
    assert made == [1, 2, 3]
    await work(4)  # after the block it is the task's first run again, or another: never the resumed one's end
    assert len(recording.read().spans) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
async def test_a_forked_child_begins_its_own_run(recording: Recording):
    call(1)
    child = os.fork()
    if child == 0:
        call(2)
        playhead.flush()
        os._exit(0)
    os.waitpid(child, 0)
    call(3)
    assert sorted(map(len, runs(recording))) == [1, 2]
