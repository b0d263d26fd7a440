"""Compresses all conversations by one method and adds up what came of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.compaction.conversations import CutConversation
from benchmarks.compaction.counting import Outcome, outcome
from benchmarks.compaction.method import CompressionFailed, Method
from benchmarks.compaction.summariser import RuleSummariser


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over all conversations. `changed`: conversations that are others afterwards; `hit`: those of which a lost
    fact was used later; `failed`: those that could not be compressed, which count as unchanged."""

    conversations: int
    changed: int
    facts: int
    lost: int
    used: int
    hit: int
    tokens_before: int
    tokens_after: int
    calls: int
    failed: int


def measure(method: Method, conversations: Sequence[CutConversation], summariser: RuleSummariser) -> Figures:
    """Compresses each conversation once."""
    calls = summariser.calls
    outcomes: list[Outcome] = []
    failed = 0
    for conversation in conversations:
        summariser.conversation = conversation.before
        try:
            after = method.compress(conversation)
        except CompressionFailed:
            failed += 1
            after = conversation.before
        outcomes.append(outcome(conversation, after))
    return summed(outcomes, summariser.calls - calls, failed)


def summed(outcomes: Iterable[Outcome], calls: int, failed: int) -> Figures:
    """Adds up the outcomes. `calls`: of the summariser."""
    each = list(outcomes)
    return Figures(
        conversations=len(each),
        changed=sum(one.is_changed for one in each),
        facts=sum(one.facts for one in each),
        lost=sum(one.lost for one in each),
        used=sum(one.used for one in each),
        hit=sum(one.used > 0 for one in each),
        tokens_before=sum(one.tokens_before for one in each),
        tokens_after=sum(one.tokens_after for one in each),
        calls=calls,
        failed=failed,
    )
