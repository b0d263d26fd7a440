"""serve, workers → [workers]: asks a scorer about a run: its rule, its function, or the model that judges.

Runs are read, and rules checked, in a process for analysis; functions run in one of their own. A judge's calls are
stored as a run that names the judged one.
"""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from playhead.model.scored_run import GivenScore, ScoredRun, scored_run_from
from playhead.model.usage import ModelUsage
from playhead_collector.analysis.ask_again import ChatModels
from playhead_collector.analysis.scoring.judge import (
    JudgedTokens,
    NoVerdict,
    answer_text,
    judge_body,
    judge_messages,
    read_verdict,
    tokens_of,
)
from playhead_collector.analysis.scoring.judge_run import JudgeRun
from playhead_collector.errors import Refused
from playhead_collector.projection import Pricing
from playhead_collector.store.ports.scorers import ScorerRow
from playhead_collector.store.ports.spans import Batch
from playhead_collector.workers.ports import Analysis
from playhead_collector.workers.questions import AnalysisQuestion
from playhead_collector.workers.scorer_functions import ScorerFunctions
from playhead_collector.workers.spare_time import ask_when_free

ANSWERED_AN_ERROR: Final = "explainer_failed"
"""Code of the refusal when a model's API answered with an error, or with nothing that is an answer."""


@dataclass(frozen=True, slots=True)
class RunScores:
    """What a scorer said about a run with so many `events`. `cost` is in US dollars; None: no price is known."""

    scores: Sequence[GivenScore]
    events: int
    tokens: int = 0
    cost: float | None = None


class JudgeFailed(Exception):
    """The judge gave no verdict. Has what its calls took."""

    def __init__(self, why: str, tokens: int, cost: float | None) -> None:
        super().__init__(why)
        self.tokens = tokens
        self.cost = cost


class StoreBatch(Protocol):
    """Stores a batch of spans of a project. Raises StoreUnavailable."""

    def __call__(self, project_id: int, batch: Batch, /) -> Awaitable[object]: ...


@dataclass(frozen=True, slots=True)
class RunScorer:
    """Asks scorers about runs that are projected. `models` None: there is no judge. `wall_ns`: ns since 1970."""

    analysis: Analysis
    functions: ScorerFunctions
    models: ChatModels | None
    prices: Pricing
    store_batch: StoreBatch
    wall_ns: Callable[[], int]

    @property
    def function_names(self) -> Sequence[str]:
        """The functions that scorers may name."""
        return sorted(self.functions.functions)

    @property
    def model_names(self) -> Sequence[str]:
        """The models that may judge; the first is the default."""
        return [] if self.models is None else self.models.names

    def has_price(self, model: str | None) -> bool:
        """Whether it is known what a judge costs. `model` None: the default."""
        asked = model or next(iter(self.model_names), None)
        return asked is not None and self.prices.cost_of([ModelUsage(None, asked, 1_000_000, 1_000_000)]) is not None

    async def scores(self, scorer: ScorerRow, run: str) -> RunScores:
        """Returns what a scorer says about a run. Raises Refused, JudgeFailed, StoreUnavailable."""
        definition = scorer.definition
        rule = definition.rule if definition.kind == "rule" else None
        options = {"rule": None if rule is None else dict(rule)}
        answer: dict[str, Any] = await ask_when_free(
            self.analysis, AnalysisQuestion("scored_run", scorer.project_id, (run,), options)
        )
        if definition.kind == "rule":
            return RunScores([GivenScore(**answer["score"])], answer["events"])
        read = scored_run_from(answer["run"])
        if definition.kind == "function":
            return RunScores(await self.functions.call(definition.function or "", read), answer["events"])
        return await self._judged(scorer, read, answer["events"])

    async def try_on(self, scorer: ScorerRow, run: str) -> Sequence[GivenScore]:
        """Returns the scores that a scorer would give. Raises Refused, StoreUnavailable."""
        try:
            return (await self.scores(scorer, run)).scores
        except JudgeFailed as error:
            raise Refused(502, "judge_failed", str(error)) from error

    async def _judged(self, scorer: ScorerRow, run: ScoredRun, events: int) -> RunScores:
        models, definition = self.models, scorer.definition
        if models is None:
            raise Refused(409, "no_model", "no model can judge: set PLAYHEAD_EXPLAIN_URL and PLAYHEAD_EXPLAIN_MODEL")
        model = definition.judge_model or models.names[0]
        if model not in models.names:
            raise Refused(409, "unknown_model", f"the model {model[:100]!r} is not configured: see PLAYHEAD_ASK_MODELS")
        if missing := [line for line in run.cut if line.startswith("output is not stored")]:
            raise Refused(409, "not_known", f"nothing of the run can be judged: {missing[0]}")
        calls = _JudgeCalls(
            models, JudgeRun(uuid.uuid4().hex, scorer.name, run.run, run.user, self.wall_ns()), self.wall_ns
        )
        try:
            verdict = await calls.verdict(judge_body(model, judge_messages(definition.prompt, run)))
        except (NoVerdict, Refused) as error:
            await self.store_batch(scorer.project_id, calls.run.batch(self.wall_ns()))
            raise JudgeFailed(str(error), calls.count, self._cost(model, calls)) from error
        await self.store_batch(scorer.project_id, calls.run.batch(self.wall_ns()))
        reason = f"{verdict.comment} (judged in run {calls.run.run})".strip()
        return RunScores([GivenScore(verdict.value, reason)], events, calls.count, self._cost(model, calls))

    def _cost(self, model: str, calls: "_JudgeCalls") -> float | None:
        usage = ModelUsage(calls.answered_by, model, calls.tokens.input_tokens, calls.tokens.output_tokens)
        return self.prices.cost_of([usage])


@dataclass(slots=True)
class _JudgeCalls:
    """The calls of a judge about one run."""

    models: ChatModels
    run: JudgeRun
    wall_ns: Callable[[], int]
    tokens: JudgedTokens = JudgedTokens()
    answered_by: str | None = None

    @property
    def count(self) -> int:
        """All tokens."""
        return self.tokens.input_tokens + self.tokens.output_tokens

    async def verdict(self, body: dict[str, Any]) -> GivenScore:
        """Asks the judge, and once more if it answers nonsense or refuses. Raises NoVerdict, Refused."""
        try:
            return read_verdict(await self._answer(body))
        except NoVerdict:
            return read_verdict(await self._answer(body))
        except Refused as error:
            if error.code != ANSWERED_AN_ERROR:
                raise
            # Not all such APIs know schemas of answers; the words of the prompt ask for the same.
            plain = {name: value for name, value in body.items() if name != "response_format"}
            return read_verdict(await self._answer(plain))

    async def _answer(self, body: dict[str, Any]) -> str:
        began = self.wall_ns()
        try:
            completion = await self.models.complete(body)
            text, tokens = answer_text(completion), tokens_of(completion)
        except (NoVerdict, Refused) as error:
            self.run.add_call(body, None, JudgedTokens(), (began, self.wall_ns()), str(error))
            raise
        model = completion.get("model")
        self.answered_by = model if isinstance(model, str) else None
        self.tokens += tokens
        self.run.add_call(body, text, tokens, (began, self.wall_ns()))
        return text
