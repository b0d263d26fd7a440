"""Answers analysis questions of clients: projects the runs here, and passes the questions to [workers].

When the client disconnects, its question is cancelled.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request

from playhead_collector.read.record import RunProjector, RunRecord, open_record
from playhead_collector.serve.errors import client_gone
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.workers.ports import Analysis
from playhead_collector.workers.questions import AnalysisQuestion

if TYPE_CHECKING:  # the journal of a machine is read without Postgres' driver
    from playhead_collector.store.postgres.store import PostgresStore


@dataclass(frozen=True, slots=True)
class LimitedAnalysis:
    """Analysis in this process, limited by `reads` together with the other requests."""

    analysis: Analysis
    reads: ReadLimiter

    async def ask(self, question: AnalysisQuestion) -> bytes:
        async with self.reads.turn():
            return await self.analysis.ask(question)


@dataclass(frozen=True, slots=True)
class AnalysisHandlers:
    """Shared by the handlers of analysis questions."""

    store: "PostgresStore"
    runner: RunProjector
    analysis: Analysis
    reads: ReadLimiter

    async def record(self, project_id: int, run: str) -> RunRecord:
        """The run, after everything that arrived for it was projected. Raises Refused (404)."""
        async with self.reads.turn():
            return await open_record(self.store, self.runner, project_id, run)

    async def catch_up(self, project_id: int) -> None:
        """Projects runs of the project with recent news, for questions that look at other runs than those that are
        named."""
        async with self.reads.turn():
            await self.runner.catch_up(project_id)

    async def answered(self, request: Request, question: AnalysisQuestion) -> bytes:
        """The answer as JSON. Raises Refused, and the errors of the question."""
        return await _until_disconnected(request, self.analysis.ask(question))


async def _until_disconnected(request: Request, work: Coroutine[Any, Any, bytes]) -> bytes:
    """The result of `work`. When the client disconnects, cancels it and raises Refused."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise client_gone()
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait([working, leaving])


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
