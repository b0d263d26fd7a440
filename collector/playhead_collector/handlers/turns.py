"""Handlers of a run turn by turn."""

from playhead.wire.operations.page import Page
from playhead.wire.operations.turns import RunHits, RunTurn, TurnOperations, TurnRow
from playhead_collector.analysis.turns.one_turn import answer_turn
from playhead_collector.analysis.turns.rows import list_turns
from playhead_collector.analysis.turns.run_search import find_in_run
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.paging import read_seq


@handles(TurnOperations.turns)
async def turns(asking: Asking, run: str, *, after: int = 0, limit: int | None = None) -> Page[TurnRow]:
    start = read_seq(asking.cursor) if asking.cursor else after
    return await list_turns(await asking.record(run), asking.prices, asking.page(limit), start)


@handles(TurnOperations.turn)
async def turn(asking: Asking, run: str, turn: int, *, why: bool = False) -> RunTurn:
    return await answer_turn(await asking.record(run), asking.prices, turn, why=why)


@handles(TurnOperations.search_run)
async def search_run(asking: Asking, run: str, text: str, *, limit: int | None = None) -> RunHits:
    return await find_in_run(await asking.record(run), text, asking.page(limit), asking.cursor)
