"""Analysis questions on behalf of a client: the runs are projected here, and the rest is done by [workers].

A client that goes away gives its question up.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from playhead_collector.read.record import RunProjector, RunRecord, open_record
from playhead_collector.serve.errors import client_gone
from playhead_collector.serve.read_limiter import ReadLimiter
from playhead_collector.serve.responses import finished_answer
from playhead_collector.store.ports import Store
from playhead_collector.workers.ports import Analysis
from playhead_collector.workers.questions import AnalysisQuestion


@dataclass(frozen=True, slots=True)
class LimitedAnalysis:
    """Analysis in this process, whose questions are limited with those that only read."""

    analysis: Analysis
    reads: ReadLimiter

    async def ask(self, question: AnalysisQuestion) -> bytes:
        async with self.reads.turn():
            return await self.analysis.ask(question)


@dataclass(frozen=True, slots=True)
class AnalysisHandlers:
    """What the handlers of analysis questions have in common."""

    store: Store
    runner: RunProjector
    project: int
    analysis: Analysis
    reads: ReadLimiter

    async def record(self, run: str) -> RunRecord:
        """The run with all that has arrived for it projected.  Raises Refused: 404."""
        async with self.reads.turn():
            return await open_record(self.store, self.runner, self.project, run)

    async def answer(self, request: Request, name: str, *runs: str, **options: Any) -> Response:
        """The answer to a question about runs.  Raises Refused and what else the question does."""
        ids = [(await self.record(run)).run for run in runs]
        return finished_answer(await self.answered(request, AnalysisQuestion(name, tuple(ids), options)))

    async def answered(self, request: Request, question: AnalysisQuestion) -> bytes:
        """The answer's JSON.  Raises Refused and what else the question does."""
        return await _until_disconnected(request, self.analysis.ask(question))


async def _until_disconnected(request: Request, work: Coroutine[Any, Any, bytes]) -> bytes:
    """What `work` returns; it is cancelled when the client goes away."""
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
