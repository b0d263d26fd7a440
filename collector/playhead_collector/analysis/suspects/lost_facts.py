"""[analysis]: steps that needed a fact which a compression had removed from the context.  Pure."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from playhead.wire.operations.compression import CompressionAudit
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps


def find_lost_facts(steps: RunSteps, audits: Sequence[CompressionAudit]) -> Iterator[Finding]:
    """Yields the steps that needed a fact that an audit reports as lost."""
    begins = [step.given[0].seq if step.given else step.turn.begin.seq for step in steps.steps]
    for audited in audits:
        for fact in audited["lost"]:
            for need in fact["needed"]:
                number = bisect_right(begins, need["seq"]) - 1
                if number >= 0:
                    reason = f"{fact['text'][:80]!r} had left the context at {audited['seq']}: {need['how']}"
                    quotes = (*fact["quotes"][:1], *need["quotes"][:1])
                    yield Finding(number, rules.FACT_LOST, reason, quotes)
