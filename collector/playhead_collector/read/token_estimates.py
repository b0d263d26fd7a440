"""Estimates how many tokens a text has if no provider reported it.

The plain estimate is proportional to the length in bytes. It is multiplied by a factor from recorded calls of the same
model: the number that the provider reported, divided by the plain estimate of the same input.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from playhead.model import event as ev
from playhead.model.token_estimates import estimate_all
from playhead_collector.read.record import RunRecord
from playhead_collector.read.values import fetch_thread
from playhead_collector.store.ports.runs import RunFilter

REPORTED, CALIBRATED, ESTIMATED = "reported", "calibrated", "estimated"
RUN, PROJECT = "run", "project"


@dataclass(frozen=True, slots=True)
class Sample:
    """The reported input tokens of a call, and the plain estimate of the same input."""

    reported: int
    estimate: float


@dataclass(frozen=True, slots=True)
class Scale:
    """The factor for plain estimates. Without samples it is 1, and its basis is `estimated`."""

    factor: float = 1.0
    calls: int = 0
    scope: str = PROJECT

    @property
    def basis(self) -> str:
        """The basis of scaled numbers: `calibrated`, or `estimated` without samples."""
        return CALIBRATED if self.calls else ESTIMATED

    def tokens(self, estimate: float) -> int:
        """Scales a plain estimate to a number of tokens."""
        return round(self.factor * estimate)


def calibrate(samples: Sequence[Sample], scope: str) -> Scale:
    """Returns the factor that fits all samples together."""
    usable = [sample for sample in samples if sample.reported > 0 and sample.estimate > 0]
    if not usable:
        return Scale()
    factor = sum(sample.reported for sample in usable) / sum(sample.estimate for sample in usable)
    return Scale(round(factor, 4), len(usable), scope)


# --- scales, from recorded calls -------------------------------------------------------------------------------------

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
            scale = calibrate([sample async for sample in _samples_of_other_runs(record, model)], PROJECT)
        scales[model] = scale
    return scales


async def _samples_of_other_runs(record: RunRecord, model: str) -> AsyncIterator[Sample]:
    rows = await record.store.runs.page(record.project_id, RunFilter(model=model), limit=_OTHER_RUNS + 1)
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
                sample = await _read_sample(record, event, reported[event.span])
                samples |= {} if sample is None else {event.model: sample}
        read += len(block)
        if samples.keys() >= models or read >= _MOST_READ:
            break
    return samples


async def _read_sample(record: RunRecord, begin: ev.LlmCalled, tokens: int) -> Sample | None:
    others = (begin.system, begin.tools, begin.input)
    messages, cache = await fetch_thread(record.store, record.project_id, begin.thread, *others)
    estimate = await asyncio.to_thread(
        lambda: estimate_all(map(cache.parsed_message, messages), *map(cache.parsed, others))
    )
    return None if cache.missing or not estimate else Sample(tokens, estimate)


def answer_token_count(usage: ev.TokenUsage) -> int | None:
    """Returns the tokens of a call's only answer without reasoning, which does not stay in the context; None if not
    reported."""
    return None if usage.output_tokens is None else max(0, usage.output_tokens - (usage.reasoning_tokens or 0))
