"""[analysis]: a model call with its tokens, limit and cost. Pure."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from playhead.model import event as ev
from playhead.model.models import ModelFacts
from playhead_collector.analysis.tokens.measures import TokenCounts, usage_of
from playhead_collector.analysis.transcript.transcript import Turn
from playhead_collector.read.prices import Prices
from playhead_collector.read.token_estimates import CALIBRATED, ESTIMATED, REPORTED, TokenCount

NO_COUNT: TokenCount = (None, None)


@dataclass
class MeasuredCall:
    """A model call with its tokens, limit and cost. The tokens of its messages are computed when needed."""

    turn: Turn
    measures: TokenCounts
    prices: Prices
    context: TokenCount = NO_COUNT
    usage: ev.TokenUsage = ev.TokenUsage()
    price: ModelFacts | None = None
    limit: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        turn = self.turn
        self.context, self.usage = self.measures.context(turn), usage_of(turn)
        answered_by = turn.end.model if turn.end else None
        self.price = self.prices.of(answered_by) or self.prices.of(turn.begin.model)
        self.limit = self.prices.limit_of(answered_by) or self.prices.limit_of(turn.begin.model)
        self.cost = self.price.cost(self.usage) if self.price else None

    @cached_property
    def tokens(self) -> dict[int, TokenCount]:
        """Tokens of the call's messages, by the seq with which they were added."""
        turn = self.turn
        return {event.seq: self.measures.message(event, turn) for event in (*turn.new_messages, *turn.outputs)}

    @cached_property
    def _rising(self) -> list[tuple[int, TokenCount]]:
        return list(self._rise())

    def _rise(self) -> Iterator[tuple[int, TokenCount]]:
        """Yields seqs in order, each with the size of the context from there on."""
        begin, falling, rising = self.turn.begin.seq, self.context, self.context
        before = sorted((seq for seq in self.tokens if seq < begin), reverse=True)
        steps = [(begin, self.context)]
        for seq in before:
            steps.append((seq, falling))
            falling = _moved(falling, self.tokens[seq], -1)
        yield (0, falling)
        yield from reversed(steps)
        for seq in sorted(seq for seq in self.tokens if seq > begin):
            rising = _moved(rising, self.tokens[seq], 1)
            yield (seq, rising)

    @property
    def ratio(self) -> float | None:
        """The context's share of the limit; None if either is not known."""
        return ratio_of(self.context[0], self.limit)

    def after(self, seq: int) -> TokenCount:
        """Size of the context right after this event of the call."""
        return self._rising[bisect_right(self._rising, seq, key=itemgetter(0)) - 1][1]


def _moved(context: TokenCount, by: TokenCount, sign: int) -> TokenCount:
    """Adds tokens to a context (`sign` 1) or subtracts them (-1); the weaker basis of the two applies."""
    if context[0] is None or by[0] is None:
        return NO_COUNT
    return max(0, context[0] + sign * by[0]), max(context[1], by[1], key=_weakness)


def _weakness(basis: str | None) -> int:
    return (REPORTED, CALIBRATED, ESTIMATED).index(basis or ESTIMATED)


def ratio_of(context: int | None, limit: int | None) -> float | None:
    """Returns a context's share of the limit; None if either is not known."""
    return None if context is None or not limit else round(context / limit, 4)
