"""[query]: the tokens of a run's messages and contexts: as reported, else estimated, scaled by what was reported."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import islice

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead_collector.query.estimates import (
    PROJECT,
    REPORTED,
    RUN,
    Sample,
    Scale,
    calibrate,
    estimate_all,
    estimate_message,
    estimate_value,
)
from playhead_collector.query.record import RunRecord
from playhead_collector.query.turns import Turn, Turns
from playhead_collector.query.values import fetch_thread
from playhead_collector.store.ports import RunFilter

Measure = tuple[int | None, str | None]
"""A number of tokens, and what it rests on."""
# The latest runs tell how a model counts today; one call of each is enough, since tokens and bytes are proportional.
_OTHER_RUNS = 8
_MOST_READ = 2_000


class Measures:
    """Numbers of tokens in one run.  Pure."""

    def __init__(self, story: Turns, scales: Mapping[str | None, Scale]) -> None:
        self._story = story
        self._scales = scales
        self._estimates = Estimates(story)

    def scale(self, turn: Turn | None) -> Scale:
        """How estimates are scaled for the model of this call."""
        return self._scales.get(model_of(turn), Scale()) if turn else Scale()

    def message(self, event: ev.MessageAdded, turn: Turn | None) -> Measure:
        """What a message has."""
        if event.tokens is not None:
            return event.tokens, REPORTED
        if turn is not None and turn.outputs == [event]:
            said = said_tokens(usage_of(turn))
            if said is not None:
                return said, REPORTED
        return self.refs([event.message], self.scale(turn))

    def refs(self, refs: Iterable[ContentRef | None], scale: Scale) -> Measure:
        """What these messages have together; nothing is said when one of them is not stored."""
        found = [self._estimates.message(ref) for ref in refs]
        known = [each for each in found if each is not None]
        return (scale.tokens(sum(known)), scale.basis) if len(known) == len(found) else (None, None)

    def context(self, turn: Turn) -> Measure:
        """What the model was given at a call."""
        usage = usage_of(turn)
        if usage.input_tokens is not None:
            return usage.input_tokens, REPORTED
        estimate = self._estimates.context(turn)
        scale = self.scale(turn)
        return (None, None) if estimate is None else (scale.tokens(estimate), scale.basis)


class Estimates:
    """Plain estimates of a run's messages and contexts, each made once."""

    def __init__(self, story: Turns) -> None:
        self._story = story
        self._messages: dict[ContentRef, float | None] = {}
        self._threads: dict[ContentRef, float | None] = {}

    def message(self, ref: ContentRef | None) -> float | None:
        """Of one message; None when it is not stored."""
        if ref is None:
            return None
        if ref not in self._messages:
            message = self._story.message(ref)
            self._messages[ref] = None if message is None else estimate_message(message)
        return self._messages[ref]

    def context(self, turn: Turn) -> float | None:
        """Of everything that a call was given; None when a part of it is not stored."""
        begin, shelf = turn.begin, self._story.shelf
        others = sum(estimate_value(shelf.parsed(ref)) for ref in (begin.system, begin.tools, begin.input) if ref)
        if begin.thread is None:
            return others or None
        thread = self._thread(begin.thread)
        return None if thread is None else thread + others

    def _thread(self, ref: ContentRef) -> float | None:
        path: list[ContentRef] = []
        here: ContentRef | None = ref
        while here is not None and here not in self._threads and here in self._story.nodes:
            path.append(here)
            here = self._story.nodes[here].parent
        total = 0.0 if here is None else self._threads.get(here)
        for each in reversed(path):
            message = self.message(self._story.nodes[each].message)
            total = None if total is None or message is None else total + message
            self._threads[each] = total
        return self._threads.get(ref)


async def read_scales(record: RunRecord, models: Iterable[str | None]) -> dict[str | None, Scale]:
    """How estimates are scaled for these models: by the run's last call of each, else by those of other runs."""
    wanted = dict.fromkeys(models)
    own = await _last_reported(record, set(wanted))
    scales: dict[str | None, Scale] = {}
    for model in wanted:
        scale = calibrate([own[model]], RUN) if model in own else Scale()
        if not scale.calls and model is not None:
            scale = calibrate([sample async for sample in _others(record, model)], PROJECT)
        scales[model] = scale
    return scales


async def _others(record: RunRecord, model: str) -> AsyncIterator[Sample]:
    rows = await record.store.runs(record.project, RunFilter(model=model), limit=_OTHER_RUNS + 1)
    for row in islice((row for row in rows if row.run != record.run and row.events), _OTHER_RUNS):
        found = await _last_reported(RunRecord(record.store, record.project, row), {model})
        if model in found:
            yield found[model]


async def _last_reported(record: RunRecord, models: set[str | None]) -> dict[str | None, Sample]:
    """Of each model, the last call that reported its input and whose whole context is stored.

    Contexts grow, so the last call has most of what the ones before it had.
    """
    found: dict[str | None, Sample] = {}
    reported: dict[str | None, int] = {}
    read = 0
    async for block in record.backwards(record.last):
        for event in reversed(block):
            if isinstance(event, ev.LlmCompleted) and event.usage.input_tokens is not None:
                reported[event.span] = event.usage.input_tokens
            elif isinstance(event, ev.LlmCalled) and event.span in reported and event.model in models - found.keys():
                sample = await _sample(record, event, reported[event.span])
                found |= {} if sample is None else {event.model: sample}
        read += len(block)
        if found.keys() >= models or read >= _MOST_READ:
            break
    return found


async def _sample(record: RunRecord, begin: ev.LlmCalled, tokens: int) -> Sample | None:
    others = (begin.system, begin.tools, begin.input)
    messages, shelf = await fetch_thread(record.store, record.project, begin.thread, *others)
    estimate = await asyncio.to_thread(
        lambda: estimate_all(map(shelf.parsed_message, messages), *map(shelf.parsed, others))
    )
    return None if shelf.missing or not estimate else Sample(tokens, estimate)


def model_of(turn: Turn | None) -> str | None:
    """The model that was asked for, else the one that answered."""
    return None if turn is None else turn.begin.model or (turn.end.model if turn.end else None)


def usage_of(turn: Turn) -> ev.Usage:
    """What the provider reported."""
    return turn.end.usage if isinstance(turn.end, ev.LlmCompleted) else ev.Usage()


def known_sum(numbers: Sequence[int | None]) -> int | None:
    """The sum of those that are known; None when none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def said_tokens(usage: ev.Usage) -> int | None:
    """The tokens of a call's only answer: what was thought is not kept in the context."""
    return None if usage.output_tokens is None else max(0, usage.output_tokens - (usage.reasoning_tokens or 0))
