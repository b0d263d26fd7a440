"""[analysis]: what a change that a run made rests on: the call, or the answer that first offered it.  Pure."""

from collections.abc import Iterator

from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step
from playhead_collector.analysis.suspects.wording import CONFIRMATION, acts
from playhead_collector.analysis.texts.words import numbers_in
from playhead_collector.analysis.transcript.arguments import is_identifier

# Of the identifiers and numbers of an offer, how many an earlier one has that is the same offer.
_SAME_OFFER = 0.6
_MAX_BACK = 40
# Shorter numbers count things, and stand in most answers.
_SHORTEST_NUMBER = 3


def find_outcome(steps: RunSteps) -> Iterator[Finding]:
    """The calls that changed something, or the answers that offered these changes first."""
    for step in steps.steps:
        changing = [call for call in step.calls if acts(call.begin.name) and steps.failure_of(call) is None]
        if not changing:
            continue
        name = changing[-1].begin.name
        offer = offer_of(steps, step)
        if offer is None:
            reason = f"{name} changed something that no answer had offered"
            yield Finding(step.number, rules.OUTCOME_RESTS_ON, reason, (steps.call_quote(step, changing[-1]),))
        else:
            quotes = tuple(answer.beginning() for answer in offer.answers[:1])
            reason = f"it offers what {name} then did"
            yield Finding(offer.number, rules.OUTCOME_RESTS_ON, reason, (*quotes, steps.call_quote(step, changing[-1])))


def offer_of(steps: RunSteps, call: Step) -> Step | None:
    """The answer that first offered what this step's calls do; None where a user's words confirmed no offer.

    Later answers that a user confirmed and that repeat most of its identifiers and numbers ask for the same again.
    """
    offer = _confirmed_offer(steps, call)
    if offer is None:
        return None
    wanted = _details(offer.turn.answer_text)
    for _ in range(_MAX_BACK):
        before = _confirmed_offer(steps, offer)
        if before is None or len(_details(before.turn.answer_text) & wanted) < _SAME_OFFER * len(wanted):
            break
        offer = before
    return offer


def _confirmed_offer(steps: RunSteps, step: Step) -> Step | None:
    """The answer before the user's latest words, if these confirm it."""
    if not step.asked or CONFIRMATION.search(steps.steps[step.asked].user_text) is None:
        return None
    answer = steps.steps[step.asked - 1]
    return answer if answer.turn.answer_text and not answer.calls else None


def _details(text: str) -> set[str]:
    """The numbers and identifiers of a text."""
    words = (word.strip(".,:;()*\"'`") for word in text.split())
    numbers = {plain for plain, _, _ in numbers_in(text) if len(plain) >= _SHORTEST_NUMBER}
    return {word for word in words if is_identifier(word)} | numbers
