"""[read]: computes the factors for estimates of tokens, from the numbers that providers reported for the same model."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import islice

from playhead.model import event as ev
from playhead_collector.read.context.token_estimates import (
    PROJECT,
    RUN,
    Sample,
    Scale,
    calibrate,
    estimate_all,
)
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import fetch_thread
from playhead_collector.store.ports import RunFilter

TokenCount = tuple[int | None, str | None]
"""A number of tokens and its basis (`reported`, `calibrated`, `estimated`); None if unknown."""
# The latest runs show how a model counts today. One call of each is enough, since tokens and bytes are proportional.
_OTHER_RUNS = 8
_MOST_READ = 2_000


async def read_scales(record: RunRecord, models: Iterable[str | None]) -> dict[str | None, Scale]:
    """Returns a scale for each model: from the run's last call of the model, else from the last calls of other runs."""
    wanted = dict.fromkeys(models)
    own_samples = await _last_reported(record, set(wanted))
    scales: dict[str | None, Scale] = {}
    for model in wanted:
        scale = calibrate([own_samples[model]], RUN) if model in own_samples else Scale()
        if not scale.calls and model is not None:
            scale = calibrate([sample async for sample in _others(record, model)], PROJECT)
        scales[model] = scale
    return scales


async def _others(record: RunRecord, model: str) -> AsyncIterator[Sample]:
    rows = await record.store.runs(record.project_id, RunFilter(model=model), limit=_OTHER_RUNS + 1)
    for row in islice((row for row in rows if row.run != record.run and row.events), _OTHER_RUNS):
        samples = await _last_reported(RunRecord(record.store, record.project_id, row), {model})
        if model in samples:
            yield samples[model]


async def _last_reported(record: RunRecord, models: set[str | None]) -> dict[str | None, Sample]:
    """Returns for each model the last call that reported its input and whose whole context is stored.

    Contexts grow, so the last call has most of the messages of the earlier ones.
    """
    samples: dict[str | None, Sample] = {}
    reported: dict[str | None, int] = {}
    read = 0
    async for block in record.backwards(record.last):
        for event in reversed(block):
            if isinstance(event, ev.LlmCompleted) and event.usage.input_tokens is not None:
                reported[event.span] = event.usage.input_tokens
            elif isinstance(event, ev.LlmCalled) and event.span in reported and event.model in models - samples.keys():
                sample = await _sample(record, event, reported[event.span])
                samples |= {} if sample is None else {event.model: sample}
        read += len(block)
        if samples.keys() >= models or read >= _MOST_READ:
            break
    return samples


async def _sample(record: RunRecord, begin: ev.LlmCalled, tokens: int) -> Sample | None:
    others = (begin.system, begin.tools, begin.input)
    messages, shelf = await fetch_thread(record.store, record.project_id, begin.thread, *others)
    estimate = await asyncio.to_thread(
        lambda: estimate_all(map(shelf.parsed_message, messages), *map(shelf.parsed, others))
    )
    return None if shelf.missing or not estimate else Sample(tokens, estimate)


def answer_token_count(usage: ev.TokenUsage) -> int | None:
    """Returns the tokens of a call's only answer without reasoning, which does not stay in the context; None if not
    reported."""
    return None if usage.output_tokens is None else max(0, usage.output_tokens - (usage.reasoning_tokens or 0))
