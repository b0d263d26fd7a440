from typing import Any

import pytest

from playhead.model.usage import ModelUsage
from playhead.projection.inputs import Projection
from playhead.projection.run_row import HandedProcess, RunRow
from playhead_collector.store.ports.runs import RunFilter, RunPosition
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.store.making import START_NS, P, events, row, run_number, span


def made(number: int, **fields: Any) -> RunRow:
    return row(run_number(number), **{"started_ns": START_NS + number // 2} | fields)


USAGE = (ModelUsage("gpt-4o", None, 2**40, 7, cache_read_tokens=5), ModelUsage(None, "m\ufffd", 0, 1))
RUNS = [
    made(0, name="Order Bot", status="completed", agents=("support", "refunds"), tags=("beta",), ended_ns=START_NS + 9),
    made(1, forks=1, session="s-1", user="ann", models=("gpt-4o",), tools=("search",), input_tokens=2**40, errors=3),
    made(
        2, usage=USAGE, session="s-1", status="failed", agents=("support",), tags=("beta", "eu:west"), context_peak=12
    ),
    made(3, name=None, user="a%_'\\", tools=("search", "pay"), fork_of=run_number(1), fork_at=9, parent_missing=True),
    made(
        4,
        name="STRASSE Ü",
        sealed=True,
        spans_missing=2,
        compressions=1,
        llm_calls=5,
        tool_calls=6,
        attempt=1,
        continued_by=(run_number(0), run_number(2)),
    ),
    made(
        5,
        traces=("a" * 32, "b" * 32),
        linked=(run_number(4), run_number(1)),
        processes=(
            HandedProcess("1" * 16, START_NS, None, 3, 1),
            HandedProcess("2" * 16, START_NS + 1, START_NS + 2**40, 5, 0),
        ),
        process_count=102,
        processes_open=1,
    ),
]


@pytest.fixture
async def store(store: PostgresStore) -> PostgresStore:
    for each in RUNS:
        await store.spans.ingest(P, Batch(spans=[span(1, run=each.run)]))
        await write(store, each)
    return store


async def write(store: PostgresStore, summary: RunRow) -> None:
    async with store.projections.locked_run(P, summary.run) as work:
        assert work is not None
        work.result = Projection(events(1, run=summary.run), summary)


async def numbers(store: PostgresStore, **where: Any) -> list[int]:
    found = await store.runs.page(P, RunFilter(**where), limit=10)
    return [int(each.run, 16) - 1 for each in found]


async def test_runs_come_newest_first_and_whole(store: PostgresStore):
    assert await store.runs.page(P, RunFilter(), limit=10) == RUNS[::-1]


async def test_pages_follow_each_other_without_a_gap(store: PostgresStore):
    found: list[RunRow] = []
    while page := await store.runs.page(
        P, RunFilter(), limit=2, before=RunPosition(found[-1].started_ns, found[-1].run) if found else None
    ):
        found += page
    assert found == RUNS[::-1]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"agent": "support"}, [2, 0]),
        ({"agent": "support", "status": "failed"}, [2]),
        ({"id_part": run_number(3)[-4:]}, [3]),
        ({"id_part": run_number(3)}, [3]),
        ({"id_part": "ff"}, []),
        ({"status": "running"}, [5, 4, 3, 1]),
        ({"with_error": True}, [1]),
        ({"with_error": False}, [5, 4, 3, 2, 0]),
        ({"with_error": False, "session": "s-1"}, [2]),
        ({"trace": "b" * 32}, [5]),
        ({"trace": "c" * 32}, []),
        ({"linked": run_number(1)}, [5]),
        ({"linked": run_number(1), "trace": "a" * 32}, [5]),
        ({"session": "s-1"}, [2, 1]),
        ({"user": "a%_'\\"}, [3]),
        ({"tag": "eu:west"}, [2]),
        ({"tag": "eu"}, []),
        ({"model": "gpt-4o"}, [1]),
        ({"tool": "search"}, [3, 1]),
        ({"text": "ORDER"}, [0]),
        ({"text": "strasse ü"}, [4]),
        ({"text": "%"}, [3]),
        ({"text": "support"}, [2, 0]),
        ({"text": "eu:w", "tag": "beta"}, [2]),
        ({"since_ns": START_NS + 1}, [5, 4, 3, 2]),
        ({"until_ns": START_NS + 1}, [3, 2, 1, 0]),
        ({"since_ns": START_NS + 1, "until_ns": START_NS + 1}, [3, 2]),
        ({"text": "\x00"}, []),
        ({"agent": "\ud800"}, []),
        ({"since_ns": 2**80}, []),
    ],
    ids=str,
)
async def test_a_filter_finds_what_it_names(store: PostgresStore, where: dict[str, Any], expected: list[int]):
    assert await numbers(store, **where) == expected


async def test_a_run_that_is_projected_again_is_found_by_what_it_is_now(store: PostgresStore):
    await write(store, made(1, session="s-2", agents=("new",)))
    assert await numbers(store, session="s-1") == [2]
    assert await numbers(store, session="s-2", agent="new") == [1]


async def test_texts_and_numbers_that_postgres_cannot_take_are_made_so_that_it_can(store: PostgresStore):
    odd = HandedProcess("\x00\ud800", -(2**70), 2**70, 2**70, 2**70)
    many = {"attempt": 2**70, "started_ns": 2**70, "fork_at": -(2**70), "processes": (odd,), "traces": ("\x00",)}
    await write(store, made(1, name="a\x00b\ud800", tags=("\x00",), **many))
    found = await store.runs.get(P, run_number(1))
    assert found is not None
    assert found.traces == ("\ufffd",)
    assert found.processes == (HandedProcess("\ufffd?", 1 - 2**63, 2**63 - 1, 2**31 - 1, 2**31 - 1),)
    assert (found.name, found.tags) == ("a\ufffdb?", ("\ufffd",))
    assert (found.attempt, found.started_ns) == (2**31 - 1, 2**63 - 1)


async def test_another_project_has_its_own_runs(store: PostgresStore):
    assert await store.runs.page(2, RunFilter(), limit=10) == []
    assert await store.runs.get(2, RUNS[0].run) is None


async def test_counts_say_what_is_stored(store: PostgresStore):
    counts = await store.storage.counts()
    assert {"run", "event_page", "span_page", "content"} <= set(counts["tables"])
    assert counts["tables"]["run"]["rows"] >= 0
    assert 0 < counts["content_bytes"] < counts["database_bytes"]
