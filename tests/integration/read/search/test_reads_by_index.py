"""Every question reads by an index: no table that grows with the runs is scanned, and lists read about as many rows as
they show, however many there are."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from itertools import islice
from typing import Any

import asyncpg
import httpx
import pytest

from playhead_collector.analysis.configuration import Configured
from playhead_collector.analysis.search.terms import DecisionConditions, query_terms
from playhead_collector.analysis.search.text_terms import text_terms
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.process import CollectorProcess
from playhead_collector.projection import ProjectionRunner
from playhead_collector.retain.packer import Packer
from playhead_collector.store.packing.content_packs import array_of, key_of
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import BIGINT, LAST_RUN, label
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.store import connect
from playhead_collector.workers.indexer import SearchIndexer
from playhead_collector.workers.ports import InProcessAnalysis
from tests.integration.store.making import Clock, P
from tests.support.many_runs.filling import fill_with_copies
from tests.support.many_runs.varied import VariedRun, code_of, varied_runs
from tests.support.sweep import PREFIX, RULES, Swept

TEMPLATES, RUNS = 8, 800
# Tables that do not grow with the runs, or are empty but for moments, or those of a sweep.
SMALL = {
    "project", "media_type", "dictionary", "api_key", "alembic_version", "run_lease", "forward_outbox", "packing_due",
    "pending_ref", "thread_orphan", "gc_sweep", "gc_mark", "gc_news", "gc_doomed", "run_tombstone",
    "redaction_job", "content_tombstone",
}  # fmt: skip
LOOKED, PAGE = 100, 20
# Rows of a page and of what is looked through; a few more for rows that were changed.
MOST_READ = 2 * (LOOKED + PAGE)
# A score that all runs have, and one that some have.
SCORES = """
    insert into score (scored_ns, number, project_id, is_boolean, run_id, score_id, name, source)
    select started_ns, 1, project_id, false, run_id, 'every', 'every', 'api' from run;
    insert into score (scored_ns, number, project_id, is_boolean, run_id, score_id, name, source)
    select started_ns, 1, project_id, false, run_id, 'some', 'resolved', 'api' from run limit 20;
    analyze score;
"""
SCANS = "select relname, seq_scan, seq_tup_read from pg_stat_user_tables where schemaname = 'public'"
READ = """
    select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::int from pg_stat_xact_user_tables
"""


async def filled(url: str) -> list[VariedRun]:
    """Runs through the store, sealed, packed and indexed, and copies of them."""
    clock = Clock()
    clock.now_ns = time.time_ns() - 100 * 10_000_000_000  # a stream begins with what was lately
    store = await connect(url, pool_size=4, clock=clock)
    made = varied_runs(TEMPLATES)
    for run in made:
        await store.contents.put(P, run.contents.values(), run.threads)
        await store.spans.ingest(P, Batch(run.spans))
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=1)
    for _ in range(3):
        await runner.run_once()
        clock.now_ns += 10_000_000_000
    packer = Packer(store.projections, clock=clock)
    while await store.projections.runs_to_pack(1):
        await packer.run_once()
        clock.now_ns += 10_000_000_000
    configured = Configured()
    assert configured.search is not None
    indexer = SearchIndexer(
        store.search, InProcessAnalysis(store, AnalysisSettings.of(configured), store.search), configured.search
    )
    while await store.search.unindexed_runs(1):
        await indexer.run_once()
    await store.close()
    await fill_with_copies(url, made, RUNS - TEMPLATES)
    connection = await asyncpg.connect(url)
    await connection.execute(SCORES)
    await connection.close()
    return made


@pytest.fixture(scope="module")
def made(module_database_url: str) -> list[VariedRun]:
    return asyncio.run(filled(module_database_url))


async def scans(url: str) -> Mapping[str, int]:
    """How often each table was scanned, as sessions that have ended told it."""
    connection = await asyncpg.connect(url)
    try:
        return {name: scanned for name, scanned, _ in await connection.fetch(SCANS)}
    finally:
        await connection.close()


def test_no_question_scans_a_table_that_grows_with_the_runs(module_database_url: str, made: list[VariedRun]):
    async def settle() -> None:
        connection = await asyncpg.connect(module_database_url)
        # So few rows are read faster without an index: a scan is left only where there is none.
        name = await connection.fetchval("select current_database()")
        await connection.execute(f"alter database {name} set enable_seqscan = off")
        # Those that filled the tables tell of their scans when they have ended, a moment after they were closed.
        others = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        deadline = time.monotonic() + 180
        while await connection.fetchval(f"{others} and backend_type = 'client backend'"):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        await connection.close()

    asyncio.run(settle())
    before = asyncio.run(scans(module_database_url))
    with (
        CollectorProcess(database_url=module_database_url) as collector,
        httpx.Client(base_url=collector.url, timeout=60, trust_env=False) as http,
    ):
        ask_everything(http, made[0].run)
        for params in (
            {"agent": "ops", "tool": "read_logs", "status": "failed"},
            {"text": code_of(500)[1:7]},
            {"id": made[0].run[-9:]},
            {"until": "2001-01-01", "tag": "visa"},
            {"score": "resolved>=0.5"},
        ):
            http.get(f"{PREFIX}/runs", params=params).raise_for_status()
        for params in ({"tool": "read_logs", "after": "error"}, {"value": made[1].code}, {"tool": "nobody"}):
            http.get(f"{PREFIX}/search/decisions", params=params).raise_for_status()
        for words in ("customer", made[1].code, '"is lost"', "nobody"):
            http.get(f"{PREFIX}/search/content", params={"q": words}).raise_for_status()
    scanned = dict[str, int]()
    deadline = time.monotonic() + 180
    while not scanned and time.monotonic() < deadline:  # sessions tell it when they end
        after = asyncio.run(scans(module_database_url))
        scanned = {name: after[name] - before.get(name, 0) for name in after if after[name] > before.get(name, 0)}
    assert scanned  # of small tables: what is counted here is counted
    assert scanned.keys() - SMALL == set()


def ask_everything(http: httpx.Client, run: str) -> None:
    """Two questions of each operation about a run."""
    lists = [http.get(f"{PREFIX}/runs/{run}/{what}").json()["items"] for what in ("events", "decisions")]
    about = Swept(run, [run], *lists)
    for operation, rule in RULES.items():
        if operation == "get /runs/stream":  # reads what happens from now on
            continue
        for question in islice(rule(about), 2):
            method = operation.partition(" ")[0].upper()
            answer = http.request(method, question.path, params=question.params, json=question.body)
            assert answer.status_code == question.status, answer.text


@pytest.fixture
async def conn(module_database_url: str, made: list[VariedRun]) -> AsyncIterator[Conn]:
    database = await Database.open(module_database_url, 1)
    async with database.transaction() as conn:
        yield conn
    await database.close()


BOUNDS = {"since": -BIGINT, "until": BIGINT}
BEFORE_RUN = {"before_started": BIGINT, "before_run": LAST_RUN, "how_many": PAGE}
RARE = {"labels": [label("session", f"conv-{code_of(700)}")], "search": "", "id_part": ""}
TERMS = query_terms(DecisionConditions(arguments=(("case", code_of(700)),)))
COMMON_TERMS = query_terms(DecisionConditions(kind="tool_call"))
IN_BLOCKS = {"since": -BIGINT, "before_since": BIGINT}
BEFORE_BLOCK = {"before_newest": BIGINT, "before_block": BIGINT, "how_many": PAGE}
WORDS = sorted(text_terms(code_of(700)))
COMMON_WORDS = sorted(text_terms("customer items"))
SCORED = {"labels": [], "search": "", "id_part": "", "score_low": 0.5, "score_high": None, "score_label": None}
LISTS: list[tuple[str, Mapping[str, Any], int]] = [
    ("run_ids", BOUNDS | BEFORE_RUN | {"search": "", "id_part": ""}, PAGE),
    ("newest_run_ids", BOUNDS | BEFORE_RUN | RARE | {"looked": LOOKED}, 0),
    ("run_ids_with", BOUNDS | BEFORE_RUN | RARE, 1),
    ("newest_indexed", BOUNDS | BEFORE_RUN | {"terms": COMMON_TERMS, "looked": LOOKED}, PAGE),
    ("newest_indexed", BOUNDS | BEFORE_RUN | {"terms": TERMS, "looked": LOOKED}, 0),
    ("indexed_with", BOUNDS | BEFORE_RUN | {"terms": TERMS}, 1),
    ("newest_blocks", IN_BLOCKS | {"wanted": COMMON_WORDS, "looked": PAGE}, PAGE),
    ("blocks_with", IN_BLOCKS | BEFORE_BLOCK | {"wanted": [array_of(WORDS)]}, 1),
    ("read_blocks", {"wanted": COMMON_WORDS, "blocks": list(range(1, 1 + PAGE))}, 1),
    ("blocks", {"blocks": [1]}, 1),
    ("small_block", {}, 0),
    ("runs_with_keys", {"keys": TERMS, "how_many": PAGE}, 1),
    ("unindexed_runs", {"how_many": PAGE}, 0),
    ("run_ids_scored", BOUNDS | BEFORE_RUN | SCORED | {"score_name": "resolved"}, PAGE),
]


@pytest.mark.parametrize(("name", "given", "shown"), LISTS)
async def test_a_page_reads_few_rows(conn: Conn, name: str, given: Mapping[str, Any], shown: int):
    rows = await statements.rows(conn, name, project_id=P, **given)
    assert len(rows) <= PAGE
    assert len(rows) >= min(shown, 6)
    assert await conn.fetchval(READ) <= MOST_READ


async def test_the_runs_that_saw_a_content_are_looked_up(conn: Conn, made: list[VariedRun]):
    ref = next(iter(made[0].contents))
    rows = await statements.rows(conn, "runs_that_saw", project_id=P, keys=[key_of(ref)], how_many=6)
    assert [row["run_id"].hex for row in rows] == [made[0].run]
    assert await conn.fetchval(READ) <= MOST_READ
