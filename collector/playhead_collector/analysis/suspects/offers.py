"""[analysis]: finds the step behind a change of a run: the answer that first offered it, else the call.  Pure."""

from collections.abc import Iterator

from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step
from playhead_collector.analysis.suspects.wording import CONFIRMATION, acts
from playhead_collector.analysis.texts.words import numbers_in
from playhead_collector.analysis.transcript.arguments import is_identifier

# Share of an offer's identifiers and numbers that an earlier answer must have to be the same offer.
_SAME_OFFER = 0.6
_MAX_BACK = 40
# Shorter numbers are often counts, which occur in most answers.
_SHORTEST_NUMBER = 3


def find_outcome(steps: RunSteps) -> Iterator[Finding]:
    """Yields, for each step that changed something, the answer that first offered the change, else the step."""
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
    """Returns the answer that first offered what this step's calls do; None if the user's words confirmed no offer.

    Goes back from confirmed answer to confirmed answer while the earlier one has most of the identifiers and numbers.
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
    """Returns the answer before the user's latest words if these confirm it, else None."""
    if step.question_step is None or CONFIRMATION.search(steps.steps[step.question_step].user_text) is None:
        return None
    answer = steps.steps[step.question_step].before
    return answer if answer is not None and answer.turn.answer_text and not answer.calls else None


def _details(text: str) -> set[str]:
    """The numbers and identifiers of a text."""
    words = (word.strip(".,:;()*\"'`") for word in text.split())
    numbers = {plain for plain, _, _ in numbers_in(text) if len(plain) >= _SHORTEST_NUMBER}
    return {word for word in words if is_identifier(word)} | numbers
