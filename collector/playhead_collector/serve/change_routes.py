"""The questions about change, as HTTP asks them: what differs between moments and runs, what compressions dropped."""

import asyncio
from typing import Annotated

from fastapi import Path, Query, Response

from playhead_collector.query.compare import answer_compare
from playhead_collector.query.compressions import audit_compression, list_compressions
from playhead_collector.query.diff import answer_diff
from playhead_collector.query.paging import read_seq
from playhead_collector.query.record import Runner, RunRecord, open_record
from playhead_collector.serve import params as p
from playhead_collector.serve.answering import parsed_answer
from playhead_collector.store.ports import Store

_MOMENT = r"^[^\x00]*$"
From = Annotated[
    str | None,
    Query(alias="from", max_length=300, pattern=_MOMENT, description="A seq or an event id; default: the first."),
]
To = Annotated[
    str | None,
    Query(alias="to", max_length=300, pattern=_MOMENT, description="A seq or an event id; default: the last."),
]


class ChangeRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, store: Store, runner: Runner, project: int) -> None:
        self._store, self._runner, self._project = store, runner, project

    async def _open(self, run: str) -> RunRecord:
        return await open_record(self._store, self._runner, self._project, run)

    async def diff(self, run: p.RunId, before: From = None, after: To = None, hydrate: p.Hydrate = True) -> Response:
        """What is different at `to`, compared to `from`: the state, and what the model saw.  `to` may be the earlier.

        Applied to the state and the messages at `from`, it gives those at `to`.
        """
        answer = await answer_diff(await self._open(run), before, after, hydrate)
        return await asyncio.to_thread(parsed_answer, answer)  # as long as the contexts

    async def compare(
        self,
        a: p.RunId,
        b: Annotated[str, Path(description="The other run: 32 hex digits.")],
        limit: p.Limit = 100,
        cursor: p.Cursor = None,
    ) -> Response:
        """How two runs differ: what they have in common, where they part, which calls stand for which, what came of it.

        `items` are the pairs behind the common part; ids of tool calls make no difference.
        """
        one, other = await self._open(a), await self._open(b)
        return parsed_answer(await answer_compare(one, other, limit, read_seq(cursor)))

    async def compressions(self, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None) -> Response:
        """Where contexts lost messages, declared or not: how many were kept, summarised and dropped, and tokens."""
        return parsed_answer(await list_compressions(await self._open(run), limit, read_seq(cursor)))

    async def compression(
        self, run: p.RunId, seq: Annotated[str, Path(max_length=300, description="A seq or an event id.")]
    ) -> Response:
        """What became of every message, which facts were lost, and which of these were needed later."""
        return parsed_answer(await audit_compression(await self._open(run), seq))
