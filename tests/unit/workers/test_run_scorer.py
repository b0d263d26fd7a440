"""A judge is asked about a run: what is asked again, what it costs, and what is recorded of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

import pytest

from playhead.model import names
from playhead_collector.errors import Refused
from playhead_collector.json_bytes import json_bytes
from playhead_collector.read.prices import shipped
from playhead_collector.store.ports.scorers import ScorerDefinition, ScorerRow, ScorerSelection
from playhead_collector.store.ports.spans import Batch
from playhead_collector.workers.questions import AnalysisQuestion
from playhead_collector.workers.run_scorer import JudgeFailed, RunScorer
from playhead_collector.workers.scorer_functions import ScorerFunctions
from tests.unit.analysis.scoring.test_rules import RUN

GOOD = '{"reason": "it did", "value": true}'
REFUSED = Refused(502, "explainer_failed", "the model answered 400: response_format is not known")
GONE = Refused(502, "explainer_unreachable", "the model does not answer")


class Models:
    """Gives its answers one after the other."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.bodies: list[Mapping[str, Any]] = []
        self.names: Sequence[str] = ("gpt-4o", "unknown-model")

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        usage = {"prompt_tokens": 1_000, "completion_tokens": 10}
        return {"model": body["model"], "choices": [{"message": {"content": answer}}], "usage": usage}


class Runs:
    """Answers every question with the same run."""

    async def ask(self, question: AnalysisQuestion) -> bytes:
        assert (question.name, question.options) == ("scored_run", {"rule": None})
        return json_bytes({"events": 12, "run": asdict(RUN), "score": None})


async def nothing() -> None:
    return None


def scorer_of(models: Models | None, stored: list[Batch]) -> RunScorer:
    async def keep(project_id: int, batch: Batch) -> None:
        assert project_id == 7
        stored.append(batch)

    ticks = count(1_000)
    return RunScorer(Runs(), ScorerFunctions({}, Runs(), nothing), models, shipped(), keep, lambda: next(ticks))


def judging(model: str | None = None) -> ScorerRow:
    definition = ScorerDefinition(kind="judge", score="good", prompt="Good?", judge_model=model)
    return ScorerRow(
        number=3, project_id=7, name="judged", version=2, enabled=True, created_ns=0, definition=definition,
        selection=ScorerSelection(), backfill=None,
    )  # fmt: skip


async def test_a_verdict_costs_what_its_call_took_and_is_recorded():
    models, stored = Models(GOOD), list[Batch]()
    scores = await scorer_of(models, stored).scores(judging(), RUN.run)
    [batch] = stored
    run = batch.spans[0].attributes[names.RUN_ID]
    assert [(score.value, score.comment) for score in scores.scores] == [(True, f"it did (judged in run {run})")]
    assert (scores.events, scores.tokens) == (12, 1_010)
    # By the table's prices of gpt-4o: 2.50 and 10 dollars per million tokens.
    assert scores.cost == pytest.approx(0.0026)


async def test_nonsense_is_asked_for_again_and_both_calls_count():
    models, stored = Models("no idea", GOOD), list[Batch]()
    scores = await scorer_of(models, stored).scores(judging(), RUN.run)
    assert (scores.scores[0].value, scores.tokens, len(stored[0].spans)) == (True, 2_020, 3)
    models, stored = Models("no idea", "none"), list[Batch]()
    with pytest.raises(JudgeFailed, match="gave no value") as failed:
        await scorer_of(models, stored).scores(judging(), RUN.run)
    assert (failed.value.tokens, failed.value.cost is not None, len(stored[0].spans)) == (2_020, True, 3)


async def test_an_api_that_does_not_know_schemas_is_asked_without_one():
    models, stored = Models(REFUSED, GOOD), list[Batch]()
    assert (await scorer_of(models, stored).scores(judging(), RUN.run)).scores[0].value is True
    assert ["response_format" in body for body in models.bodies] == [True, False]
    assert models.bodies[0]["messages"] == models.bodies[1]["messages"]
    assert [span.status for span in stored[0].spans] == [0, 2, 0]


async def test_an_api_that_does_not_answer_is_not_asked_again_at_once():
    models, stored = Models(GONE), list[Batch]()
    with pytest.raises(JudgeFailed, match="does not answer"):
        await scorer_of(models, stored).scores(judging(), RUN.run)
    assert (len(models.bodies), len(stored)) == (1, 1)
    with pytest.raises(Refused, match="does not answer"):
        await scorer_of(Models(GONE), []).try_on(judging(), RUN.run)


async def test_a_model_that_is_not_configured_any_more_is_said():
    with pytest.raises(Refused, match="no model can judge"):
        await scorer_of(None, []).scores(judging(), RUN.run)
    with pytest.raises(Refused, match="'gone' is not configured"):
        await scorer_of(Models(), []).scores(judging("gone"), RUN.run)
    assert scorer_of(Models(), []).has_price(None)
    assert not scorer_of(Models(), []).has_price("unknown-model")
    assert not scorer_of(None, []).has_price(None)
