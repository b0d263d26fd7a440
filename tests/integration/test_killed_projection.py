"""A collector that is killed while it projects, seals and packs leaves every run readable, as if it had not been."""

import asyncio
import random
import shutil
import time
from collections.abc import Sequence

import asyncpg
import httpx

from playhead.client import Client
from playhead.export.shipment import announcement
from playhead.model.event import event_to_json
from playhead.model.span import Span
from playhead.outbound.otlp import logs_request, traces_request
from playhead.projection.inputs import RunInput
from playhead.projection.projector import ProjectSettings, project
from playhead_collector.process import CollectorProcess
from playhead_collector.store.postgres.store import connect
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed, send_content

KILLS, RUNS, STEPS = 3, 6, 18
ENV = {"PLAYHEAD_SEAL_AFTER_SECONDS": "0.05", "PLAYHEAD_ADMIN_KEY": "", "PLAYHEAD_LOG_LEVEL": "warning"}


def post(url: str, spans: Sequence[Span], announced: Sequence[Span] = ()) -> None:
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        if announced:
            logs = logs_request([announcement(span) for span in announced])
            post_packed(http, "/v1/logs", packed(logs), PROTOBUF)
        if spans:
            post_packed(http, "/v1/traces", packed(traces_request(spans)), PROTOBUF)


def portions(run: MadeUpRun, kills: int) -> list[Sequence[Span]]:
    """What arrives of a run between one kill and the next; its root ends last."""
    root, *spans = run.spans
    size = -(-len(spans) // kills)
    found: list[Sequence[Span]] = [spans[at : at + size] for at in range(0, len(spans), size)]
    return [*found[:-1], [*found[-1], root]]


def test_every_run_is_as_it_would_be_without_the_kills(database_url: str):
    chance = random.Random(1)
    live = [MadeUpRun(STEPS) for _ in range(RUNS)]
    short = [[MadeUpRun(3) for _ in range(RUNS)] for _ in range(KILLS)]
    for turn in range(KILLS):
        collector = CollectorProcess(database_url=database_url, env=ENV).start()
        try:
            if turn == 0:
                send_content(collector.url, [*live, *(run for some in short for run in some)])
                post(collector.url, [], [run.spans[0] for run in live])
            # Live runs grow in small steps, so that they are gone on with; others arrive whole, and are sealed at once.
            for run in live:
                part = portions(run, KILLS)[turn]
                for at in range(0, len(part), 5):
                    post(collector.url, part[at : at + 5], part[at : at + 5])
            post(collector.url, [span for run in short[turn] for span in run.spans])
            # Anywhere in what there is to do: projecting, going on, sealing.
            time.sleep(chance.uniform(0, 0.25))
        finally:
            collector.kill()
            shutil.rmtree(collector.data_dir, ignore_errors=True)
    with CollectorProcess(database_url=database_url, env=ENV) as collector, Client(collector.url) as client:
        everything = [*live, *(run for some in short for run in some)]
        deadline = time.monotonic() + 180
        while not all(client.run(run.run)["completeness"]["sealed"] for run in everything):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        asyncio.run(wait_packed(database_url, deadline))
        asyncio.run(check(database_url, everything))


async def wait_packed(database: str, deadline: float) -> None:
    connection = await asyncpg.connect(database)
    try:
        while await connection.fetchval("select count(*) from packing_due"):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        assert await connection.fetchval("select count(*) from content_pack") > 0
    finally:
        await connection.close()


async def check(database: str, runs: Sequence[MadeUpRun]) -> None:
    """What is stored, against a projection of all spans from nothing."""
    store = await connect(database)
    try:
        for run in runs:
            spans, logs = await store.spans.read(1, run.run), await store.spans.logs(1, run.run)
            assert {span.span_id for span in spans} == {span.span_id for span in run.spans}
            assert await store.contents.get_many(1, list(run.contents)) == run.contents
            async with store.projections.locked_runs(1, [run.run]) as works:
                given = RunInput(run.run, spans, logs, works[0].nodes, works[0].roles, None, 0)
            expected = project(given, 0, ProjectSettings()).events
            assert [event_to_json(each) for each in await store.events.read(1, run.run)] == [
                event_to_json(each) for each in expected
            ]
    finally:
        await store.close()
