"""[analysis]: what the compressions of a run saved, and what the calls that wrote their summaries cost. Pure.

What was saved is the difference of the calls around a compression, where the provider counted both; else what the
program declared.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from playhead.model import event as ev
from playhead.wire.operations.tokens import CompressionTokens, CompressionTotals
from playhead_collector.analysis.tokens.measured_call import MeasuredCall
from playhead_collector.analysis.tokens.measures import known_sum

_STEP = "compress"  # a managed context writes its summaries in a step of this name
_COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class MeasuredCompression:
    """A compression. `before` and `after`: tokens; None: not known. `writers`: the calls that wrote its summary."""

    event: ev.ContextCompressed
    before: int | None
    after: int | None
    writers: Sequence[MeasuredCall]

    @property
    def saved(self) -> int | None:
        """By how many tokens the context became smaller; negative: larger. None: not known."""
        return None if self.before is None or self.after is None else self.before - self.after

    @property
    def usage(self) -> Sequence[tuple[MeasuredCall, ev.TokenUsage]]:
        """The calls that wrote the summary, each with the tokens that this took."""
        found = [(call, _usage_of_summary(call, self.event)) for call in self.writers]
        return [(call, usage) for call, usage in found if usage is not None]


def measured_compressions(
    events: Iterable[ev.RunEvent], metered: Sequence[MeasuredCall]
) -> Mapping[int, MeasuredCompression]:
    """Returns the compressions of a run by their seqs. `metered`: its model calls, in order."""
    written = [*_with_writers(events, metered)]
    writers = {id(call) for _, calls in written for call in calls}
    by_actor: defaultdict[str | None, list[MeasuredCall]] = defaultdict(list)
    for call in metered:
        if id(call) not in writers:
            by_actor[call.turn.begin.actor].append(call)
    return {
        event.seq: MeasuredCompression(event, *_around(event, by_actor[event.actor]), calls) for event, calls in written
    }


def _with_writers(
    events: Iterable[ev.RunEvent], metered: Iterable[MeasuredCall]
) -> Iterator[tuple[ev.ContextCompressed, list[MeasuredCall]]]:
    """Yields the compressions, each with the calls that wrote its summary: the one that its event names, and those in
    the step of a managed context before it."""
    by_span = {call.turn.begin.span: call for call in metered}
    inside: defaultdict[str | None, list[MeasuredCall]] = defaultdict(list)
    for call in by_span.values():
        inside[call.turn.begin.parent].append(call)
    step: str | None = None
    for event in events:
        if isinstance(event, ev.StepStarted) and event.name == _STEP:
            step = event.span
        elif isinstance(event, ev.ContextCompressed):
            calls = inside[step] if step is not None and event.origin == "declared" else []
            named = by_span.get(event.summariser) if event.summariser is not None else None
            yield event, [*calls, named] if named is not None and named not in calls else [*calls]
            step = None


def _around(event: ev.ContextCompressed, calls: Sequence[MeasuredCall]) -> tuple[int | None, int | None]:
    """Tokens of the same agent's calls before and after, as the provider counted them; else as declared."""
    place = bisect_left(calls, event.seq, key=lambda call: call.turn.begin.seq)
    before = calls[place - 1].usage.input_tokens if place else None
    after = calls[place].usage.input_tokens if place < len(calls) else None
    if event.origin == "declared":
        return (event.tokens_before, event.tokens_after) if None in (before, after) else (before, after)
    return (
        before if event.tokens_before is None else event.tokens_before,
        after if event.tokens_after is None else event.tokens_after,
    )


def _usage_of_summary(call: MeasuredCall, event: ev.ContextCompressed) -> ev.TokenUsage | None:
    """The tokens of the summary in a call that wrote it; None if they are not known: the provider may write one on the
    way to an answer, and count both together."""
    if event.origin != "provider" or event.span != call.turn.begin.span or call.turn.begin.operation == _COMPACT:
        return call.usage
    usage = call.usage
    if usage.compaction_input_tokens is None:
        return None
    return ev.TokenUsage(usage.compaction_input_tokens, usage.compaction_output_tokens)


# --- answers ---------------------------------------------------------------------------------------------------------


def compression_tokens(compression: MeasuredCompression) -> CompressionTokens:
    """Returns a compression as an answer."""
    event, used = compression.event, compression.usage
    return {
        "origin": event.origin,
        "strategy": event.strategy,
        "trigger": event.trigger,
        "note": event.note,
        "fallback": event.fallback,
        "policy": event.policy,
        "before": compression.before,
        "after": compression.after,
        "saved": compression.saved,
        "summary_calls": [call.turn.begin.seq for call in compression.writers],
        "summary_input_tokens": known_sum([usage.input_tokens for _, usage in used]),
        "summary_output_tokens": known_sum([usage.output_tokens for _, usage in used]),
        "summary_cost": _cost(used),
    }


def compression_totals(compressions: Iterable[MeasuredCompression]) -> CompressionTotals:
    """Returns the sums over the compressions of a run."""
    every = [*compressions]
    saved = [compression.saved for compression in every]
    used = [each for compression in every for each in compression.usage]
    return {
        "compressions": len(every),
        "declared": sum(compression.event.origin == "declared" for compression in every),
        "saved": known_sum(saved),
        "unknown": saved.count(None),
        "summary_calls": len({call.turn.begin.seq for compression in every for call in compression.writers}),
        "summary_input_tokens": known_sum([usage.input_tokens for _, usage in used]),
        "summary_output_tokens": known_sum([usage.output_tokens for _, usage in used]),
        "summary_cost": _cost(used),
    }


def _cost(used: Iterable[tuple[MeasuredCall, ev.TokenUsage]]) -> float | None:
    costs = [call.price.cost(usage) for call, usage in used if call.price is not None]
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 10) if known else None
