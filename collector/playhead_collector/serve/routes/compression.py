"""The questions about change, as HTTP asks them: what differs between moments and runs, what compressions dropped."""

from typing import Annotated

from fastapi import Path, Query, Request, Response

from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import Asking
from playhead_collector.serve.routes import params as p

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

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def diff(
        self, request: Request, run: p.RunId, before: From = None, after: To = None, hydrate: p.Hydrate = True
    ) -> Response:
        """What is different at `to`, compared to `from`: the state, and what the model saw.  `to` may be the earlier.

        Applied to the state and the messages at `from`, it gives those at `to`.
        """
        return await self._asking.answer(request, "diff", run, before=before, after=after, hydrate=hydrate)

    async def compare(
        self,
        request: Request,
        a: p.RunId,
        b: Annotated[str, Path(description="The other run: 32 hex digits.")],
        limit: p.Limit = 100,
        cursor: p.Cursor = None,
    ) -> Response:
        """How two runs differ: what they have in common, where they part, which calls stand for which, what came of it.

        `items` are the pairs behind the common part; ids of tool calls make no difference.
        """
        return await self._asking.answer(request, "compare", a, b, limit=limit, after=read_seq(cursor))

    async def compressions(
        self, request: Request, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None
    ) -> Response:
        """Where contexts lost messages, declared or not: how many were kept, summarised and dropped, and tokens."""
        return await self._asking.answer(request, "compressions", run, limit=limit, after=read_seq(cursor))

    async def compression(
        self,
        request: Request,
        run: p.RunId,
        seq: Annotated[str, Path(max_length=300, description="A seq or an event id.")],
    ) -> Response:
        """What became of every message, which facts were lost, and which of these were needed later."""
        return await self._asking.answer(request, "compression", run, at=seq)
