"""[analysis]: what came of a run: its error and the way that it took, what it waits for, what is under way, and the
last answer.

The events of the whole run are read, without content; then the few contents that are shown.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from playhead.model import event as ev
from playhead.model.canonical import text_of
from playhead.model.json_value import JsonValue
from playhead.model.ref import ContentRef
from playhead.model.state import CANCELLED, COMPLETED, RUNNING
from playhead.wire.operations.verdict import AgentNow, CallStatus, OutcomeOfRun, RunError, RunVerdict, TaskRuns
from playhead_collector.analysis.across.same_task import read_task
from playhead_collector.analysis.transcript.shown_calls import call_line, shown_arguments
from playhead_collector.analysis.turns.error_answers import error_answer, failed_spans, read_exceptions
from playhead_collector.analysis.turns.errors import error_chains, error_of
from playhead_collector.analysis.turns.loading import read_outline
from playhead_collector.analysis.turns.outline import (
    FAILED,
    OPEN,
    MadeCall,
    ModelCall,
    Outline,
    StepCall,
    has_raised,
    is_agent,
    status_of,
)
from playhead_collector.analysis.turns.rows import begun_ns, said_in
from playhead_collector.read.events import cut
from playhead_collector.read.promises import promise_answer
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import ContentCache, fetch
from playhead_collector.store.ports.outcomes import CONDITION, SUCCESS_FROM, deciding_score, outcome_word
from playhead_collector.store.ports.scores import ScoreFilter, StoredScore

MAX_AGENTS = 50
_MAX_SAID, _MAX_ANSWER = 300, 2_000
_MOST_SCORES = 100
_MOST_ASKED_FOR_SCORES = 5
# Answers that are read to find the last one with a text.
_LAST_ANSWERS = 16


async def answer_verdict(record: RunRecord) -> RunVerdict:
    """Returns what came of a run."""
    outline = await read_outline(record)
    score = await _deciding(record, record.run)
    promises = await record.store.promises.open_of(record.project_id, record.run)
    error, other_errors = await _errors(record, outline)
    agents = _chosen_agents(outline, record)
    cache = await fetch(record.store, record.project_id, _shown_contents(outline, agents))
    shown = _Shown(outline, cache, await begun_ns(record))
    answer, answer_seq = shown.answer()
    verdict: RunVerdict = {
        "run": record.run,
        "outcome": _outcome(record.row.status, score, is_waiting=bool(promises) or record.row.facts.waiting),
        "condition": CONDITION if score is None else f"{score.name}>={SUCCESS_FROM}",
        "error": error,
        "other_errors": other_errors,
        "waits_for": [promise_answer(promise) for promise in promises],
        "agents": [shown.agent(agent) for agent in agents],
        "answer": answer,
        "answer_seq": answer_seq,
        "task": await _task(record, None if score is None else score.name),
        "turns": record.row.llm_calls,
        "first_error": error["turn"] if error is not None else None,
        "last": record.row.llm_calls or None,
    }
    if cache.missing:
        verdict["missing"] = cache.missing
    return verdict


def _outcome(status: str, score: StoredScore | None, *, is_waiting: bool) -> OutcomeOfRun:
    """What came of the run, by the rule of the list of runs."""
    number = None if score is None or isinstance(score.value, str) else float(score.value)
    word = outcome_word(status, number, waiting=is_waiting)
    if word in ("succeeded", "failed") and score is not None:
        return {"word": word, "because": f"{score.name}>={SUCCESS_FROM}", "value": score.value}
    return {"word": word, "because": status, "value": None}


async def _task(record: RunRecord, score: str | None) -> TaskRuns | None:
    """Returns how many runs of the task there are, and how many succeeded; None if the run has no task. A run without
    a score is counted with the score that decides about another run of the task."""
    facts = await read_task(record, score)
    if facts is None:
        return None
    for other in facts.runs[:_MOST_ASKED_FOR_SCORES] if score is None else ():
        decides = await _deciding(record, other.row.run)
        if decides is not None:
            facts = await read_task(record, decides.name) or facts
            break
    numbers = [fact.score_number for fact in facts.runs if fact.score_number is not None]
    succeeded = sum(number >= SUCCESS_FROM for number in numbers)
    return {"task": facts.task, "runs": len(facts.runs), "scored": len(numbers), "succeeded": succeeded}


async def _deciding(record: RunRecord, run: str) -> StoredScore | None:
    where = ScoreFilter(run=run, latest=True)
    return deciding_score(await record.store.scores.page(record.project_id, where, limit=_MOST_SCORES))


# --- errors ----------------------------------------------------------------------------------------------------------


async def _errors(record: RunRecord, outline: Outline) -> tuple[RunError | None, int]:
    """Returns the error that came out of the run, and the number of those that did not."""
    calls = (*outline.models, *outline.tools, *outline.steps)
    if outline.run_end is None or isinstance(outline.run_end, ev.RunCompleted):
        if not any(has_raised(call.end) for call in calls):
            return None, 0
        return None, len(error_chains(outline, {}))
    recorded = await read_exceptions(record, failed_spans(outline))
    chains = await asyncio.to_thread(error_chains, outline, recorded)
    out = next((chain for chain in chains if chain.run_end is not None), None)
    if out is None:
        return None, len(chains)
    return await error_answer(record, outline, recorded, out), len(chains) - 1


# --- agents and the last answer --------------------------------------------------------------------------------------


@dataclass(slots=True)
class ChosenAgent:
    """An agent, or the run itself (`step` None): its model calls, and its last call that is under way."""

    name: str | None
    step: StepCall | None
    status: CallStatus
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    under_way: ModelCall | MadeCall | None = None

    @property
    def order(self) -> tuple[int, int]:
        """Those under way first, then those that raised, then the others; in each the latest first."""
        kinds = {OPEN: 0, FAILED: 1}
        begun = self.step.begin.seq if self.step is not None else 0
        return kinds.get(self.status, 2), -begun


def _chosen_agents(outline: Outline, record: RunRecord) -> list[ChosenAgent]:
    agents = {
        step.begin.span: ChosenAgent(step.begin.name, step, status_of(step.end), step.calls)
        for step in outline.steps
        if is_agent(step.begin)
    }
    of_the_run = [model for model in outline.models if outline.group_above(model.begin) is None]
    if of_the_run or not agents:
        words: dict[str, CallStatus] = {RUNNING: OPEN, COMPLETED: "completed", CANCELLED: "cancelled"}
        status = words.get(record.row.status, FAILED)
        agents[None] = ChosenAgent(record.row.name, None, status, of_the_run)
    for call in (*outline.models, *outline.tools):
        agent = agents.get(outline.group_above(call.begin))
        if agent is not None and call.end is None and agent.status == OPEN:
            later = agent.under_way is None or call.begin.seq > agent.under_way.begin.seq
            agent.under_way = call if later else agent.under_way
    return sorted(agents.values(), key=lambda agent: agent.order)[:MAX_AGENTS]


def _shown_contents(outline: Outline, agents: Iterable[ChosenAgent]) -> Iterator[ContentRef | None]:
    for agent in agents:
        if isinstance(agent.under_way, MadeCall):
            yield agent.under_way.begin.arguments
        for model in agent.calls[-1:]:
            yield from _answers_of(model)
        if agent.step is not None and agent.step.end is not None:
            yield agent.step.end.output
    for model in _last_of_the_run(outline):
        yield from _answers_of(model)
    if isinstance(outline.run_end, ev.RunCompleted):
        yield outline.run_end.output


def _answers_of(model: ModelCall) -> Iterator[ContentRef | None]:
    yield from (output.message for output in model.outputs)
    if isinstance(model.end, ev.LlmCompleted) and not model.outputs:
        yield model.end.output


def _last_of_the_run(outline: Outline) -> list[ModelCall]:
    """The last model calls that may have answered the user, newest first: of the outermost agent, else of any."""
    outermost = [model for model in outline.models if outline.group_above(model.begin) is None]
    return (outermost or outline.models)[: -_LAST_ANSWERS - 1 : -1]


@dataclass(slots=True)
class _Shown:
    """What is shown of the contents that were read."""

    outline: Outline
    cache: ContentCache
    begun_ns: int

    def answer(self) -> tuple[str | None, int | None]:
        """The last answer to the user, and its event: what the run returned as text, else the last answer of a model
        without tool calls."""
        answers = [
            (text, model.end.seq)
            for model in _last_of_the_run(self.outline)
            if model.end is not None
            and model.begin.span not in self.outline.summarisers
            and not any(self._calls_tools(output) for output in model.outputs)
            and (text := self._said(model).strip())
        ]
        end = self.outline.run_end
        output: JsonValue = self.cache.parsed(end.output) if isinstance(end, ev.RunCompleted) else None
        if end is not None and isinstance(output, str) and output.strip():
            same = next((seq for text, seq in answers if text == output.strip()), end.seq)
            return cut(output.strip(), _MAX_ANSWER), same
        return (cut(answers[0][0], _MAX_ANSWER), answers[0][1]) if answers else (None, None)

    def agent(self, agent: ChosenAgent) -> AgentNow:
        """The last state of an agent."""
        step, last = agent.step, agent.calls[-1] if agent.calls else None
        begin = step.begin if step is not None else None
        text, seq, since = self._state(agent, last)
        elapsed = step.end.elapsed_ms if step is not None and step.end is not None else None
        if step is None and self.outline.run_end is not None:
            elapsed = self.outline.run_end.elapsed_ms
        return {
            "group": begin.span if begin is not None else None,
            "name": agent.name,
            "status": agent.status,
            "seq": seq,
            "turn": last.number if last is not None else None,
            "text": None if text is None else cut(" ".join(text.split()), _MAX_SAID) or None,
            "since_ms": max(0.0, (since - self.begun_ns) / 1e6),
            "elapsed_ms": elapsed,
        }

    def _state(self, agent: ChosenAgent, last: ModelCall | None) -> tuple[str | None, int, int]:
        """What an agent does, answered or raised: the text, its event, and since when."""
        step, call = agent.step, agent.under_way
        if call is not None:
            return self._line(call), call.begin.seq, call.begin.time_ns
        began = step.begin.time_ns if step is not None else self.begun_ns
        end = step.end if step is not None else None
        if step is not None and end is not None and has_raised(end):
            error = error_of(step)
            return f"{error['type']}: {error['message']}", end.seq, began
        run_end = self.outline.run_end
        if step is None and isinstance(run_end, ev.RunFailed):
            return f"{run_end.error_type}: {run_end.message}", run_end.seq, began
        said = self._said(last) if last is not None else ""
        if last is not None and last.end is not None and (said or end is None):
            return said, last.end.seq, began
        if end is not None:  # an agent that asked no model, or whose program made the answer
            returned: JsonValue = self.cache.parsed(end.output)
            return None if returned is None else text_of(returned), end.seq, began
        at = last.begin.seq if last is not None else step.begin.seq if step is not None else 1
        return None, at, began

    def _line(self, call: ModelCall | MadeCall) -> str:
        if isinstance(call, ModelCall):
            return call.begin.model or ""
        return call_line(call.begin.name, shown_arguments(self.cache.parsed(call.begin.arguments), None))

    def _said(self, model: ModelCall) -> str:
        if not model.outputs and isinstance(model.end, ev.LlmCompleted) and model.end.output is not None:
            value: JsonValue = self.cache.parsed(model.end.output)
            return "" if value is None else text_of(value)
        return "\n".join(
            filter(None, (said_in(self.cache.parsed_message(out.message)) for out in model.outputs if out.message))
        )

    def _calls_tools(self, output: ev.MessageAdded) -> bool:
        message = self.cache.parsed_message(output.message) if output.message else None
        return any(part.get("type") == "tool_call" for part in (message["parts"] if message else ()))
