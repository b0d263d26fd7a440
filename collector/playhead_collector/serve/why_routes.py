"""The questions about why, as HTTP asks them: decisions, attributions, causes."""

from typing import Annotated, Literal

from fastapi import Path, Query, Response

from playhead_collector.query.causal import answer_causes
from playhead_collector.query.decisions import answer_decision, list_decisions
from playhead_collector.query.paging import read_seq
from playhead_collector.query.record import Runner, RunRecord, open_record
from playhead_collector.query.why import answer_attribution, list_attributions
from playhead_collector.serve import params as p
from playhead_collector.serve.answering import parsed_answer
from playhead_collector.store.ports import Store

Event = Annotated[str, Path(max_length=300, description="A seq or an event id.")]
Direction = Annotated[
    Literal["back", "forward", "both"],
    Query(description="`back`: what it rests on; `forward`: what rested on it."),
]


class WhyRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, store: Store, runner: Runner, project: int) -> None:
        self._store, self._runner, self._project = store, runner, project

    async def _open(self, run: str) -> RunRecord:
        return await open_record(self._store, self._runner, self._project, run)

    async def decisions(self, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None) -> Response:
        """Where the agent chose: tools, their arguments, answers, handoffs, approvals, branches, to stop."""
        return parsed_answer(await list_decisions(await self._open(run), limit, read_seq(cursor)))

    async def decision(self, run: p.RunId, seq: Event) -> Response:
        """A decision with the context before it, what else was open, and why.

        `elsewhere` lists what other model calls with exactly this context answered.  An event that is no decision means
        the one made in the call that it is part of.
        """
        return parsed_answer(await answer_decision(await self._open(run), seq))

    async def attributions(self, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None) -> Response:
        """Why each tool was called, and where every value in its arguments is from."""
        return parsed_answer(await list_attributions(await self._open(run), limit, read_seq(cursor)))

    async def attribution(self, run: p.RunId, seq: Event) -> Response:
        """Why the tool was called that the event is part of, and where every value in its arguments is from."""
        return parsed_answer(await answer_attribution(await self._open(run), seq))

    async def causes(self, run: p.RunId, seq: Event, direction: Direction = "both") -> Response:
        """What the event rests on, back to the user's words, and what rested on it: nodes and edges of a graph."""
        return parsed_answer(await answer_causes(await self._open(run), seq, direction))
