"""[analysis]: calls that no succeeded run of the same task made, and calls that all of them made and this run did not.

Calls are aligned as in a comparison of two runs (see `compare`).  Pure.
"""

from collections.abc import Iterator, Sequence

from playhead.model.canonical import canonical_json
from playhead_collector.analysis.compare.alignment import Facets, Pair, align
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step
from playhead_collector.analysis.suspects.offers import offer_of
from playhead_collector.analysis.suspects.wording import acts
from playhead_collector.analysis.transcript.arguments import scalars
from playhead_collector.analysis.transcript.transcript import ToolRun

_Call = tuple[Step, ToolRun]


def find_divergence(steps: RunSteps, siblings: Sequence[RunSteps]) -> Iterator[Finding]:
    """Yields calls that no sibling made, and the first missing call that every sibling made."""
    ours = _calls(steps)
    theirs = [_calls(sibling) for sibling in siblings]
    if not theirs:
        return
    pairs = [align(_facets(ours), _facets(calls)) for calls in theirs]
    yield from _diverged(steps, ours, theirs, pairs)
    yield from _missing(steps, ours, theirs, pairs)


def _calls(steps: RunSteps) -> list[_Call]:
    return [(step, call) for step in steps.steps for call in step.calls if steps.failure_of(call) is None]


def _facets(calls: Sequence[_Call]) -> list[Facets]:
    return [Facets(call.begin.name, (_arguments(call),), ()) for _, call in calls]


def _arguments(call: ToolRun) -> bytes:
    return canonical_json(call.arguments)


def _key(call: ToolRun) -> tuple[str, bytes]:
    return call.begin.name, _arguments(call)


def _diverged(
    steps: RunSteps, ours: Sequence[_Call], theirs: Sequence[Sequence[_Call]], pairs: Sequence[Sequence[Pair]]
) -> Iterator[Finding]:
    partners = [{i: j for i, j in aligned if i is not None and j is not None} for aligned in pairs]
    known_keys = {_key(call) for calls in theirs for _, call in calls}
    for number, (step, call) in enumerate(ours):
        if _key(call) in known_keys or not acts(call.begin.name):
            continue
        others = [calls[paired[number]][1] for calls, paired in zip(theirs, partners, strict=True) if number in paired]
        differing = _differing(call, others)
        detail = f" (differs in {', '.join(differing[:3])})" if differing else ""
        reason = f"no succeeded run of the task called {call.begin.name} like this{detail}"
        quotes = (steps.call_quote(step, call),)
        yield Finding((offer_of(steps, step) or step).number, rules.DIVERGED, reason, quotes)


def _differing(call: ToolRun, others: Sequence[ToolRun]) -> list[str]:
    """Paths of arguments whose value none of the other calls has; [] without other calls."""
    theirs = [dict(scalars(other.arguments)) for other in others]
    return [
        path
        for path, value in scalars(call.arguments)
        if theirs and all(arguments.get(path) != value for arguments in theirs)
    ]


def _missing(
    steps: RunSteps, ours: Sequence[_Call], theirs: Sequence[Sequence[_Call]], pairs: Sequence[Sequence[Pair]]
) -> Iterator[Finding]:
    """Yields the first call that every sibling made and this run did not, at the answer nearest to its place."""
    made = {_key(call) for _, call in ours}
    keys = [{_key(call) for _, call in calls} for calls in theirs]
    common = {key for key in keys[0] if all(key in others for others in keys)}
    answers = [step for step in steps.steps if not step.calls and step.answers]
    for number, (step, call) in enumerate(theirs[0]):
        if _key(call) in made or _key(call) not in common or not answers:
            continue
        before = [(i, j) for i, j in pairs[0] if i is not None and j is not None and j < number]
        moved = ours[before[-1][0]][0].number - theirs[0][before[-1][1]][0].number if before else 0
        place = min(answers, key=lambda answer: (abs(answer.number - step.number - moved), answer.number))
        reason = f"every succeeded run of the task called {call.begin.name} with the same arguments; this one never did"
        yield Finding(place.number, rules.CALL_MISSING, reason, (place.answers[0].beginning(),))
        return
