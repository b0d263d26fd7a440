"""Handlers of the steps of a run that most likely went wrong."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from playhead.wire.operations.suspects import RerankedSuspects, SuspectOperations, Suspects
from playhead_collector.analysis.suspects.asked_order import RERANKED, ask_for_order
from playhead_collector.analysis.suspects.suspects import answer_suspects
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles
from playhead_collector.read.scores import read_outcome


@handles(SuspectOperations.suspects)
async def suspects(
    asking: Asking,
    run: str,
    *,
    siblings: Sequence[str] = (),
    task: str | None = None,
    outcome: str | None = None,
    find_siblings: bool = True,
    limit: int = 10,
) -> Suspects:
    find = _find_options(task, outcome) if find_siblings else None
    records = [await asking.record(name) for name in (run, *siblings)]
    return await answer_suspects(*records, limit=limit, find=find)


def _find_options(task: str | None, outcome: str | None) -> dict[str, Any]:
    """Returns the options of `read_succeeded_runs` as JSON values. Raises Refused."""
    condition = read_outcome(outcome)
    return {"task": task, "outcome": None if condition is None else dataclasses.asdict(condition)}


@handles(SuspectOperations.rerank_suspects, waits=True)
async def rerank_suspects(
    asking: Asking,
    run: str,
    *,
    siblings: Sequence[str] = (),
    task: str | None = None,
    outcome: str | None = None,
    find_siblings: bool = True,
) -> RerankedSuspects:
    computed = await asking.answer_of(
        SuspectOperations.suspects, run, siblings=siblings, task=task, outcome=outcome, find_siblings=find_siblings,
        limit=RERANKED,
    )  # fmt: skip
    return await ask_for_order(asking.explainer, computed, asking.services.clock())
