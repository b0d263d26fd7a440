"""The questions about why, as HTTP asks them: decisions, attributions, causes."""

from typing import Annotated, Literal

from fastapi import Path, Query, Request, Response

from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import Asking
from playhead_collector.serve.routes import params as p

Event = Annotated[str, Path(max_length=300, description="A seq or an event id.")]
Direction = Annotated[
    Literal["back", "forward", "both"],
    Query(description="`back`: what it rests on; `forward`: what rested on it."),
]


class WhyRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def decisions(
        self, request: Request, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None
    ) -> Response:
        """Where the agent chose: tools, their arguments, answers, handoffs, approvals, branches, to stop."""
        return await self._asking.answer(request, "decisions", run, limit=limit, after=read_seq(cursor))

    async def decision(self, request: Request, run: p.RunId, seq: Event) -> Response:
        """A decision with the context before it, what else was open, and why.

        `elsewhere` lists what other model calls with exactly this context answered.  An event that is no decision means
        the one made in the call that it is part of.
        """
        return await self._asking.answer(request, "decision", run, at=seq)

    async def attributions(
        self, request: Request, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None
    ) -> Response:
        """Why each tool was called, and where every value in its arguments is from."""
        return await self._asking.answer(request, "attributions", run, limit=limit, after=read_seq(cursor))

    async def attribution(self, request: Request, run: p.RunId, seq: Event) -> Response:
        """Why the tool was called that the event is part of, and where every value in its arguments is from."""
        return await self._asking.answer(request, "attribution", run, at=seq)

    async def causes(self, request: Request, run: p.RunId, seq: Event, direction: Direction = "both") -> Response:
        """What the event rests on, back to the user's words, and what rested on it: nodes and edges of a graph."""
        return await self._asking.answer(request, "causes", run, at=seq, direction=direction)
