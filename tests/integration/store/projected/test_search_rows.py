"""Tool calls, decisions and errors as rows: they say what the events say, however a run arrives."""

import random
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import asyncpg
import pytest

from playhead.export.shipment import announcement
from playhead.model import event as ev
from playhead.model import names
from playhead.model.event import RunEvent
from playhead.model.span import LogEvent, Span
from playhead.projection.inputs import Projection
from playhead_collector.projection import ProjectionRunner
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import RUN, Clock, P, row
from tests.unit.projection.recording import Recording

TABLES = ("tool_call", "decision", "error")


def recorded() -> Recording:
    """Tools that end well, fail, are cancelled and never end; decisions; a failed model call, step and run."""
    r = Recording(RUN)
    root = r.begin("agent", "lead", playhead__run__root=True)
    r.inside.append(root)
    r.tool("search")
    r.tool("search", error="it took too long")
    r.tool("book", error="stopped", playhead__outcome="cancelled")
    r.log(names.HANDOFF, playhead__handoff__to="helper")
    r.log(names.PLAN)
    r.answer(r.ask(["user: Hello"]), error="no such model")
    with r.call("step", "check"):
        r.log(names.ANNOTATION)
    r.end(r.begin("step", "count"), error="too many")
    for n in range(20):
        r.tool(f"tool {n % 3}", error="no" if n % 7 == 3 else None)
    r.begin("tool", "wait")
    return r


def said(events: Sequence[RunEvent]) -> dict[str, list[tuple[Any, ...]]]:
    """What the tables should have of these events."""
    ends = {each.span: each for each in events if isinstance(each, ev.ToolCompleted | ev.ToolFailed)}
    kinds = ["agent_handoff", "plan_created", "orchestration_decision", "user_interrupted", "approval_requested"]
    errors: list[tuple[Any, ...]] = []
    for each in events:
        kind = ["run_failed", "llm_failed", "tool_failed", "step_completed"]
        if each.kind in kind and getattr(each, "error_type", None) and getattr(each, "outcome", None) != "cancelled":
            about = getattr(each, "model", None) or getattr(each, "name", None)
            numbers = [number(getattr(each, "error_type", None)), number(each.actor), number(about)]
            errors.append((each.seq, each.time_ns, kind.index(each.kind) + 1, *numbers))
    return {
        "tool_call": [
            (each.seq, each.time_ns, number(each.name), number(each.actor), outcome_of(ends.get(each.span)))
            for each in events
            if isinstance(each, ev.ToolCalled)
        ],
        "decision": [
            (
                each.seq,
                each.time_ns,
                kinds.index(each.kind) + 1,
                number(each.actor),
                number(getattr(each, "to", None)),
                0,
            )
            for each in events
            if each.kind in kinds
        ],
        "error": errors,
    }


def to_of(event: RunEvent) -> str | None:
    return event.to if isinstance(event, ev.AgentHandoff) else None


def outcome_of(end: RunEvent | None) -> int:
    match end:
        case None:
            return 0
        case ev.ToolFailed(outcome="cancelled"):
            return 3
        case ev.ToolFailed():
            return 2
        case _:
            return 1


def number(name: str | None) -> int | None:
    return None if name is None else int.from_bytes(sha256(name.encode()).digest()[:4], signed=True)


async def stored(sql: asyncpg.Connection) -> dict[str, list[tuple[Any, ...]]]:
    asked = {
        "tool_call": "seq, time_ns, tool, agent, outcome",
        "decision": "seq, time_ns, kind, agent, about, outcome",
        "error": "seq, time_ns, kind, error_type, agent, about",
    }
    return {
        table: [tuple(each) for each in await sql.fetch(f"select {columns} from {table} order by run_id, seq")]
        for table, columns in asked.items()
    }


def arrivals(r: Recording) -> list[Span | LogEvent]:
    return sorted(
        [*map(announcement, r.spans), *r.logs, *(span for span in r.spans if span.end_ns)],
        key=lambda each: (each.end_ns or each.start_ns) if isinstance(each, Span) else each.time_ns,
    )


@pytest.mark.parametrize("kept_bytes", [10**8, 0])
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_rows_say_what_the_events_say_however_a_run_arrives(
    store: PostgresStore, clock: Clock, sql: asyncpg.Connection, kept_bytes: int, seed: int
):
    chance, rest = random.Random(seed), arrivals(recorded())
    if seed == 3:
        chance.shuffle(rest)
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=30, kept_bytes=kept_bytes)
    while rest:
        size = chance.choice([1, 2, 3, 9])
        spans = [each for each in rest[:size] if isinstance(each, Span)]
        await store.spans.ingest(P, Batch(spans, [each for each in rest[:size] if isinstance(each, LogEvent)]))
        rest = rest[size:]
        await runner.project_now(P, RUN)
        assert await stored(sql) == said(await store.events.read(P, RUN))
    rows = await stored(sql)
    assert [len(rows[table]) for table in TABLES] == [24, 3, 6]
    assert {outcome for *_, outcome in rows["tool_call"]} == {0, 1, 2, 3}
    spans = await sql.fetch("select outcome from tool_call where call is not null")
    assert [each["outcome"] for each in spans] == [0]


async def test_rows_of_events_that_are_no_more_go(store: PostgresStore, sql: asyncpg.Connection):
    await store.spans.ingest(P, Batch(spans=recorded().spans))
    events = recorded().events()
    for some in (events, events[:9]):
        async with store.projections.locked_run(P, RUN) as work:
            assert work is not None
            work.result = Projection(some, row(RUN, events=len(some)))
        assert await stored(sql) == said(some)


async def test_rows_go_with_their_run(store: PostgresStore, sql: asyncpg.Connection):
    await store.spans.ingest(P, Batch(spans=recorded().spans))
    async with store.projections.locked_run(P, RUN) as work:
        assert work is not None
        work.result = Projection(recorded().events(), row(RUN))
    assert all((await stored(sql)).values())
    await store.garbage.delete_run(P, RUN, forks=False)
    assert not any((await stored(sql)).values())
