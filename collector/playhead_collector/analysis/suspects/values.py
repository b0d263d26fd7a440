"""[analysis]: values in tool calls that occur nowhere in the context, or only with another subject.  Pure."""

from collections.abc import Iterator

from playhead.wire.operations.reasoning import Quoted
from playhead_collector.analysis.provenance import rules as origins
from playhead_collector.analysis.provenance.attribution import attributions, entered_at
from playhead_collector.analysis.provenance.attributions import is_suspect
from playhead_collector.analysis.provenance.value_search import Origin
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps
from playhead_collector.analysis.suspects.wording import acts
from playhead_collector.analysis.texts.passages import SYSTEM
from playhead_collector.analysis.texts.quotes import quoted
from playhead_collector.analysis.texts.words import written
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript

_SMALL = frozenset((origins.SMALL_BESIDE, origins.SMALL_BY_CHANCE, origins.SMALL_NOWHERE))


def find_values(steps: RunSteps) -> Iterator[Finding]:
    """Yields values of another subject, from nowhere, or unasked, in calls that change something."""
    step_of = {id(call): step for step in steps.steps for call in step.calls if acts(call.begin.name)}
    calls = [call for call in steps.transcript.tools if id(call) in step_of]
    for attribution in attributions(steps.transcript, calls):
        step = step_of[id(attribution.tool)]
        for origin in attribution.origins:
            rule, reason = _suspicion(origin)
            if rule is not None:
                value = written(origin.value) if isinstance(origin.value, str | int | float) else None
                quotes = (
                    steps.call_quote(step, attribution.tool, value),
                    *_cited(steps.transcript, origin, attribution.tool),
                )
                yield Finding(step.number, rule, f"{attribution.tool.begin.name}: {origin.path} {reason}", quotes)


def _suspicion(origin: Origin) -> tuple[StrengthRule | None, str]:
    """Returns the rule by which a value is suspected, and the reason; (None, "") if it is not."""
    if origin.subject_mismatch is not None:
        return rules.OTHER_SUBJECT, f"{origin.value!r:.80} {origin.subject_mismatch.note}"
    if is_suspect(origin):
        facts = ", ".join(origin.unfounded[:3]) or f"{origin.value!r:.80}"
        return rules.VALUE_FROM_NOWHERE, f"has {facts}, which stands nowhere in the context"
    if _is_unasked(origin):
        return rules.VALUE_UNASKED, f"is {origin.value}, of which no user and no result spoke"
    return None, ""


def _is_unasked(origin: Origin) -> bool:
    """Whether the value is a small number, not 0, that occurs only in system messages."""
    number = isinstance(origin.value, int | float) and not isinstance(origin.value, bool) and origin.value != 0
    return number and origin.source == SYSTEM and origin.rule in _SMALL


def _cited(transcript: Transcript, origin: Origin, call: ToolRun) -> list[Quoted]:
    """Quotes up to three occurrences of a value that belongs to another subject; [] for any other value."""
    cited: list[Quoted] = []
    for hit in origin.evidence[:3] if origin.subject_mismatch is not None else ():
        seq = entered_at(transcript, hit.passage.content, call.begin.seq)
        cited.append(quoted(seq, hit.passage, hit.start, hit.end))
    return cited
