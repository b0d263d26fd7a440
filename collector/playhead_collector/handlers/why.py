"""Handlers of decisions, reasons of tool calls, origins of their arguments, and causes of events."""

from typing import Literal

from playhead.wire.operations.page import Page
from playhead.wire.operations.why import (
    Attribution,
    CausalGraph,
    Decision,
    DecisionDetail,
    DecisionTree,
    WhyOperations,
)
from playhead_collector.analysis.causes import answer_causes
from playhead_collector.analysis.decisions import answer_decision, list_decisions
from playhead_collector.analysis.provenance.attributions import answer_attribution, list_attributions
from playhead_collector.analysis.tree import answer_tree
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.paging import read_seq


@handles(WhyOperations.decisions)
async def decisions(asking: Asking, run: str, *, limit: int | None = None) -> Page[Decision]:
    return await list_decisions(await asking.record(run), limit=asking.page(limit), after=read_seq(asking.cursor))


@handles(WhyOperations.decision)
async def decision(asking: Asking, run: str, at: int | str) -> DecisionDetail:
    return await answer_decision(await asking.record(run), str(at))


@handles(WhyOperations.tree)
async def tree(asking: Asking, run: str, *, limit: int = 100, cursor: str | None = None) -> DecisionTree:
    return await answer_tree(await asking.record(run), limit=limit, after=read_seq(cursor))


@handles(WhyOperations.attributions)
async def attributions(asking: Asking, run: str, *, limit: int | None = None) -> Page[Attribution]:
    return await list_attributions(await asking.record(run), limit=asking.page(limit), after=read_seq(asking.cursor))


@handles(WhyOperations.why)
async def why(asking: Asking, run: str, at: int | str) -> Attribution:
    return await answer_attribution(await asking.record(run), str(at))


@handles(WhyOperations.causes)
async def causes(
    asking: Asking, run: str, at: int | str, *, direction: Literal["back", "forward", "both"] = "both"
) -> CausalGraph:
    return await answer_causes(await asking.record(run), str(at), direction)
