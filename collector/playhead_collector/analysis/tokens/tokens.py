"""The timeline of a run's context sizes, against the limits of its models, and its cost.

The size of a call's context is the provider's number, else an estimate. The messages before the call are subtracted
from it, its answers are added to it. So each size is relative to the call to which the message belongs.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations import ModelTokens, TokenPoint, TokenTimeline, TokenTotals
from playhead.wire.operations.tokens import TokenSplit
from playhead_collector.analysis.tokens.compressed import (
    MeasuredCompression,
    compression_tokens,
    compression_totals,
    measured_compressions,
)
from playhead_collector.analysis.tokens.measured_call import NO_COUNT, MeasuredCall, ratio_of
from playhead_collector.analysis.tokens.measures import TokenCounts, known_sum, model_of, usage_of
from playhead_collector.analysis.tokens.split import ContextSplits, summed
from playhead_collector.analysis.transcript.loading import read_threads, read_transcript_outline
from playhead_collector.analysis.transcript.transcript import Transcript, Turn
from playhead_collector.read.prices import Prices
from playhead_collector.read.record import RunRecord
from playhead_collector.read.token_estimates import REPORTED, TokenCount, read_scales
from playhead_collector.read.values import fetch

WARN_AT = 0.8
OK, WARNING = "ok", "warning"
_CALL_EVENTS = (ev.LlmCalled, ev.LlmFailed, ev.LlmCompleted, ev.ContextCompressed)
_TOKEN_EVENTS = (ev.MessageAdded, ev.LlmCalled, ev.LlmFailed, ev.LlmCompleted, ev.ContextCompressed)


@dataclass(frozen=True, slots=True)
class TokenQuestion:
    """The points after seq `after`, at most `limit`. `split`: also what the contexts consist of. `calls`: only points
    of model calls and compressions, and splits of the page's calls only."""

    limit: int
    after: int
    split: bool = False
    calls: bool = False

    @property
    def kinds(self) -> tuple[type[ev.RunEvent], ...]:
        """The kinds of events that have a point."""
        return _CALL_EVENTS if self.calls else _TOKEN_EVENTS

    def page_of(self, events: Iterable[ev.RunEvent]) -> list[ev.RunEvent]:
        """The events of the points, and one more if there are more."""
        later = (event for event in events if event.seq > self.after and isinstance(event, self.kinds))
        return list(islice(later, self.limit + 1))


async def answer_tokens(
    record: RunRecord, prices: Prices, limit: int, after: int, *, split: bool = False, calls: bool = False
) -> TokenTimeline:
    """The points that are asked for (see `TokenQuestion`), and totals of the whole run."""
    question = TokenQuestion(limit, after, split, calls)
    transcript = await read_transcript_outline(record)
    scales = await read_scales(record, (model_of(turn) for turn in transcript.turns))
    page = question.page_of(transcript.events)
    spans = {event.span for event in page[:limit]}
    to_split = [turn for turn in transcript.turns if split and (not calls or turn.begin.span in spans)]
    await _read_measured(record, transcript, page[:limit], to_split)
    counts = TokenCounts(transcript, scales)
    answer = await asyncio.to_thread(timeline, transcript, counts, prices, page, limit)
    if split:
        splits = await asyncio.to_thread(_add_splits, answer, transcript, counts, to_split)
        if not calls:
            answer["totals"]["split"] = summed(splits)
    return answer


def _add_splits(
    answer: TokenTimeline, transcript: Transcript, counts: TokenCounts, turns: Iterable[Turn]
) -> list[TokenSplit | None]:
    """Adds the splits of these calls to the points where they begin. Returns all of them."""
    splits = ContextSplits(transcript, counts)
    by_seq = {turn.begin.seq: splits.of(turn) for turn in turns}
    for point in answer["items"]:
        if point["kind"] == ev.LlmCalled.kind:
            point["split"] = by_seq.get(point["seq"])
    return list(by_seq.values())


async def _read_measured(
    record: RunRecord, transcript: Transcript, page: Sequence[ev.RunEvent], to_split: Sequence[Turn]
) -> None:
    """Reads the contents that are needed for estimates: the messages of the page's calls, and the contexts of calls
    without reported tokens and of those that are split."""
    spans = {event.span for event in page}
    split_seqs = {turn.begin.seq for turn in to_split}
    whole = [turn for turn in transcript.turns if turn.begin.seq in split_seqs or usage_of(turn).input_tokens is None]
    transcript.nodes |= await read_threads(record, (turn.begin.thread for turn in reversed(whole)))
    refs: list[ContentRef | None] = [node.message for node in transcript.nodes.values()]
    for turn in whole:
        refs += (turn.begin.system, turn.begin.tools, turn.begin.input)
        refs += [event.message for event in turn.outputs] if turn.begin.seq in split_seqs else []
    if any(isinstance(event, ev.MessageAdded) for event in page):  # only these say how much a message added
        for turn in (turn for turn in transcript.turns if turn.begin.span in spans):
            refs += [event.message for event in (*turn.new_messages, *turn.outputs)]
    for event in page:
        if isinstance(event, ev.MessageAdded):
            refs.append(event.message)
        elif isinstance(event, ev.ContextCompressed):
            refs += (*event.summarised, *event.dropped)
    transcript.cache = await fetch(record.store, record.project_id, refs)


def timeline(
    transcript: Transcript, measures: TokenCounts, prices: Prices, events: Sequence[ev.RunEvent], limit: int
) -> TokenTimeline:
    """Builds the answer from fetched data. `events`: those of the points, and one more if there are more. Pure."""
    metered = [MeasuredCall(turn, measures, prices) for turn in transcript.turns]
    compressions = measured_compressions(transcript.events, metered)
    page = list(_points(events[:limit], metered, measures, compressions))
    return {
        "run": transcript.run,
        "warn_at": WARN_AT,
        "prices": {"date": prices.date, "source": prices.source, "currency": prices.currency},
        "models": _models(metered, measures),
        "totals": _totals(transcript, metered, compressions),
        "items": page,
        "next_cursor": str(page[-1]["seq"]) if len(events) > limit else None,
    }


# --- points ----------------------------------------------------------------------------------------------------------


def _points(
    events: Iterable[ev.RunEvent],
    metered: Sequence[MeasuredCall],
    measures: TokenCounts,
    compressions: Mapping[int, MeasuredCompression],
) -> Iterator[TokenPoint]:
    by_span = {measured.turn.begin.span: measured for measured in metered}
    for event in events:
        call = by_span.get(event.span)
        match event:
            case ev.MessageAdded():
                added = call.tokens.get(event.seq, NO_COUNT) if call else measures.message(event, None)
                yield _point(event, call, added, call.after(event.seq) if call else NO_COUNT)
            case ev.LlmCalled() | ev.LlmFailed():
                yield _point(event, call, NO_COUNT, call.context if call else NO_COUNT)
            case ev.LlmCompleted():
                yield _ended(event, call)
            case ev.ContextCompressed():
                added = _compressed(event, call, measures)
                context = call.after(event.seq) if call else (event.tokens_after, _basis_of(event.tokens_after))
                point = _point(event, call, added, context)
                yield {**point, "compression": compression_tokens(compressions[event.seq])}
            case _:
                pass


def _point(event: ev.RunEvent, call: MeasuredCall | None, added: TokenCount, context: TokenCount) -> TokenPoint:
    limit = call.limit if call else None
    ratio = ratio_of(context[0], limit)
    return {
        "seq": event.seq,
        "event": event.id,
        "time": rfc3339(event.time_ns),
        "kind": event.kind,
        "actor": event.actor,
        "call": call.turn.begin.seq if call else None,
        "model": model_of(call.turn) if call else None,
        "role": event.role if isinstance(event, ev.MessageAdded) else None,
        "added": added[0],
        "added_basis": added[1],
        "context": context[0],
        "context_basis": context[1],
        "limit": limit,
        "ratio": ratio,
        "level": _level(ratio),
        "usage": {},
        "cache_hit_share": None,
        "cost": None,
    }


def _ended(event: ev.LlmCompleted, call: MeasuredCall | None) -> TokenPoint:
    point = _point(event, call, NO_COUNT, call.context if call else NO_COUNT)
    return {
        **point,
        "usage": ev.usage_to_json(event.usage),
        "cache_hit_share": _share([event.usage]),
        "cost": call.cost if call else None,
    }


def _compressed(event: ev.ContextCompressed, call: MeasuredCall | None, measures: TokenCounts) -> TokenCount:
    """Tokens that a compression removed (negative), without its summary if that is a message of its own."""
    if event.origin == "declared" and event.tokens_before is not None and event.tokens_after is not None:
        return event.tokens_after - event.tokens_before, REPORTED
    gone, basis = measures.refs((*event.summarised, *event.dropped), measures.scale(call.turn if call else None))
    return (None, None) if gone is None else (-gone, basis)


def _basis_of(tokens: int | None) -> str | None:
    return None if tokens is None else REPORTED


def _level(ratio: float | None) -> str | None:
    return None if ratio is None else WARNING if ratio >= WARN_AT else OK


# --- sums ------------------------------------------------------------------------------------------------------------


def _totals(
    transcript: Transcript, metered: Sequence[MeasuredCall], compressions: Mapping[int, MeasuredCompression]
) -> TokenTotals:
    usages = [call.usage for call in metered]
    ratios = [call.ratio for call in metered if call.ratio is not None]
    sizes = [(call.context[0], -call.turn.begin.seq) for call in metered if call.context[0] is not None]
    peak, peak_call = max(sizes, default=(None, 0))
    return {
        "calls": len(metered),
        "unreported_calls": sum(call.usage.input_tokens is None for call in _completed(metered)),
        "input_tokens": _input_tokens(usages),
        "output_tokens": _output_tokens(usages),
        "cache_read_tokens": known_sum([usage.cache_read_tokens for usage in usages]),
        "cache_write_tokens": known_sum([usage.cache_write_tokens for usage in usages]),
        "reasoning_tokens": known_sum([usage.reasoning_tokens for usage in usages]),
        "cache_hit_share": _share(usages),
        "cost": _cost(metered),
        "unpriced_calls": _unpriced(metered),
        "context_peak": peak,
        "peak_call": None if peak is None else -peak_call,
        "peak_ratio": max(ratios, default=None),
        "warnings": sum(ratio >= WARN_AT for ratio in ratios),
        "compressions": [event.seq for event in transcript.events if isinstance(event, ev.ContextCompressed)],
        "compressed": compression_totals(compressions.values()),
    }


def _models(metered: Sequence[MeasuredCall], measures: TokenCounts) -> list[ModelTokens]:
    by_model: dict[str | None, list[MeasuredCall]] = {}
    for call in metered:
        by_model.setdefault(model_of(call.turn), []).append(call)
    return [_model(model, calls, measures) for model, calls in by_model.items()]


def _model(model: str | None, calls: Sequence[MeasuredCall], measures: TokenCounts) -> ModelTokens:
    usages = [call.usage for call in calls]
    scale = measures.scale(calls[0].turn)
    price = next((call.price for call in reversed(calls) if call.price), None)
    return {
        "model": model,
        "calls": len(calls),
        "limit": next((call.limit for call in reversed(calls) if call.limit), None),
        "price": {
            "matched": price.name,
            "input": price.input,
            "output": price.output,
            "cache_read": price.cache_read,
            "cache_write": price.cache_write,
            "source": price.source,
        }
        if price and price.input is not None and price.output is not None
        else None,
        "calibration": {"factor": scale.factor, "calls": scale.calls, "scope": scale.scope} if scale.calls else None,
        "input_tokens": _input_tokens(usages),
        "output_tokens": _output_tokens(usages),
        "cache_read_tokens": known_sum([usage.cache_read_tokens for usage in usages]),
        "cache_hit_share": _share(usages),
        "cost": _cost(calls),
        "unpriced_calls": _unpriced(calls),
    }


def _input_tokens(usages: Iterable[ev.TokenUsage]) -> int:
    """Input tokens, with those of a provider's own summaries, which it counts apart."""
    return sum((usage.input_tokens or 0) + (usage.compaction_input_tokens or 0) for usage in usages)


def _output_tokens(usages: Iterable[ev.TokenUsage]) -> int:
    return sum((usage.output_tokens or 0) + (usage.compaction_output_tokens or 0) for usage in usages)


def _completed(metered: Iterable[MeasuredCall]) -> list[MeasuredCall]:
    return [call for call in metered if isinstance(call.turn.end, ev.LlmCompleted)]


def _cost(metered: Iterable[MeasuredCall]) -> float | None:
    costs = [call.cost for call in metered if call.cost is not None]
    return round(sum(costs), 10) if costs else None


def _unpriced(metered: Iterable[MeasuredCall]) -> int:
    return sum(call.cost is None for call in _completed(metered))


def _share(usages: Iterable[ev.TokenUsage]) -> float | None:
    """Share (0 to 1) of the input tokens that came from a cache, of calls that report it; None if none does."""
    reported = [
        (usage.cache_read_tokens, usage.input_tokens) for usage in usages if usage.cache_read_tokens is not None
    ]
    read, total = sum(read or 0 for read, _ in reported), sum(total or 0 for _, total in reported)
    return round(read / total, 4) if total else None
