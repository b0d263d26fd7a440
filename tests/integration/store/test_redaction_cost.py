"""A project without rules pays nothing for redaction: a batch runs the statements that it ran before."""

from dataclasses import replace
from typing import Any

import pytest

from playhead.wire.pack import Pack
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.ingest_pipeline import IngestPipeline
from playhead_collector.redaction.rules import RedactionRules
from playhead_collector.serve.maskers import Maskers
from playhead_collector.serve.project_directory import ProjectDirectory
from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.store import PostgresStore
from tests.integration.read.recorded import conversation


async def test_a_project_without_rules_runs_no_statement_more(store: PostgresStore, monkeypatch: pytest.MonkeyPatch):
    ran: list[str] = []
    for name in ("rows", "row", "value", "column", "run"):
        monkeypatch.setattr(statements, name, noting(getattr(statements, name), ran))
    directory = ProjectDirectory(store.projects, clock=lambda: 0.0)  # what it has read is never too old
    without = IngestPipeline(store, FIRST_PROJECT, 1_000, ())
    pipeline = replace(without, maskers=Maskers(directory).of)
    await directory.all()  # as the check of limits has done before each request

    async def statements_of(pipeline: IngestPipeline, run: str) -> list[str]:
        ran.clear()
        batch = conversation(run, 2, f"Where is {run}?").batch()
        await pipeline.put(Pack(tuple(batch.contents), tuple(batch.threads)))
        await pipeline.ingest(batch.spans, batch.logs)
        return list(ran)

    await statements_of(without, "0d" * 16)  # what is read once in a process has been read then
    expected = await statements_of(without, "0e" * 16)
    assert await statements_of(pipeline, "0f" * 16) == expected
    assert expected == [
        "epoch", "enter", "touch_contents", "find_packs", "insert_contents", "find_nodes", "find_packs", "insert_nodes",
        "enter", "insert_pages", "touch", "mark_news",
    ]  # fmt: skip
    # A project that has rules runs no more, either: they are in the cache.
    await store.projects.set_redaction(FIRST_PROJECT, RedactionRules(presets=("email",)))
    directory.forget()
    await directory.all()
    assert await statements_of(pipeline, "0a" * 16) == expected
    await store.projects.set_redaction(FIRST_PROJECT, RedactionRules())


def noting(function: Any, ran: list[str]) -> Any:
    def noted(conn: Any, name: str, /, **parameters: Any) -> Any:
        if name != "ready":  # the store's own probe, twice a second
            ran.append(name)
        return function(conn, name, **parameters)

    return noted
