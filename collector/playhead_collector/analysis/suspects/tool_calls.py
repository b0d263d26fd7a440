"""[analysis]: findings about tool calls.  Pure.

Values that occur nowhere in the context, or only with another subject; calls that failed or were repeated, and errors
that the next answer ignores; facts that a step needed after a compression had removed them from the context.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from playhead.model.canonical import canonical_json
from playhead.wire.operations.compression import CompressionAudit, FactNeeded
from playhead.wire.operations.reasoning import Quoted
from playhead_collector.analysis.compression.needed_facts import ASKED, LOOKED_UP, MISSED, TOLD, USED, WRONG
from playhead_collector.analysis.provenance import rules as origin_rules
from playhead_collector.analysis.provenance.attribution import attributions, entered_at
from playhead_collector.analysis.provenance.attributions import is_suspect
from playhead_collector.analysis.provenance.value_search import Origin
from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step
from playhead_collector.analysis.suspects.wording import INABILITY, acts
from playhead_collector.analysis.texts.passages import SYSTEM, quoted
from playhead_collector.analysis.texts.words import is_same_word, words_in, written
from playhead_collector.analysis.transcript.transcript import ToolRun, Transcript

# --- values ----------------------------------------------------------------------------------------------------------

_SMALL_VALUE_RULES = frozenset((origin_rules.SMALL_BESIDE, origin_rules.SMALL_BY_CHANCE, origin_rules.SMALL_NOWHERE))


def find_values(steps: RunSteps) -> Iterator[Finding]:
    """Yields values of another subject, from nowhere, or unasked, in calls that change something."""
    step_of = {id(call): step for step in steps.steps for call in step.calls if acts(call.begin.name)}
    calls = [call for call in steps.transcript.tools if id(call) in step_of]
    for attribution in attributions(steps.transcript, calls):
        step = step_of[id(attribution.tool)]
        copied = _copied_records(attribution.origins)
        for origin in attribution.origins:
            if origin.subject_mismatch is not None and copied.intersection(origin.subject_mismatch.others):
                continue
            rule, reason = _suspicion(origin)
            if rule is not None:
                value = written(origin.value) if isinstance(origin.value, str | int | float) else None
                quotes = (
                    steps.call_quote(step, attribution.tool, value),
                    *_quotes_of_other_subject(steps.transcript, origin, attribution.tool),
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


def _copied_records(origins: Sequence[Origin]) -> set[str]:
    """Other subjects of which a call has two values or more: a record, such as an address, was copied on purpose."""
    mismatches = (origin.subject_mismatch for origin in origins)
    others = Counter(other for mismatch in mismatches if mismatch is not None for other in mismatch.others)
    return {other for other, count in others.items() if count > 1}


def _is_unasked(origin: Origin) -> bool:
    """Whether the value is a small number, not 0, that occurs only in system messages."""
    number = isinstance(origin.value, int | float) and not isinstance(origin.value, bool) and origin.value != 0
    return number and origin.source == SYSTEM and origin.rule in _SMALL_VALUE_RULES


def _quotes_of_other_subject(transcript: Transcript, origin: Origin, call: ToolRun) -> list[Quoted]:
    """Quotes up to three occurrences of a value that belongs to another subject; [] for any other value."""
    cited: list[Quoted] = []
    for hit in origin.evidence[:3] if origin.subject_mismatch is not None else ():
        seq = entered_at(transcript, hit.passage.content, call.begin.seq)
        cited.append(quoted(seq, hit.passage, hit.start, hit.end))
    return cited


# --- failed and repeated calls ---------------------------------------------------------------------------------------

_TROUBLE = re.compile(
    r"\b(?:not|no longer|un(?:available|able|fortunately|successful)|error|fail\w*|issue|problem|sorry|discrepancy|"
    r"oversight|invalid|missing|wrong|denied|declined|refused|rejected|exceed\w*|insufficient|"
    r"too (?:long|low|few|many)|time[ds]? ?out|retry|try(?:ing)? (?:it |this |that )?again|once more|only if|"
    r"there (?:is|are|was|were) no|no such|nothing|none|lack\w*|(?:is|are|be) (?:currently )?(?:down|offline)|"
    r"(?:come|check) back|again later|"
    r"(?:could|can|would|will) you (?:please )?(?:tell|give|send|provide|confirm|check|share|say)|"
    r"please (?:tell|give|send|provide|confirm|check|share))\b|n['\u2019]t\b",
    re.IGNORECASE,
)
# An answer of more than two words that has not two of these is in another language: what it says of an error is not
# known.
_ENGLISH = re.compile(
    r"\b(?:the|is|are|was|has|have|will|be|been|your|you|my|it|this|that|and|or|of|to|for|with|on|in|at|by|from|now|all|"
    r"well)\b",
    re.IGNORECASE,
)
_ENGLISH_WORDS = 2
# Letters of a word that counts, and words of an error that an answer has if it speaks of it.
_LONG, _SHARED = 5, 2


def find_calls(steps: RunSteps) -> Iterator[Finding]:
    """Yields failed calls, ignored errors, and calls that an agent repeats with the same result."""
    for of_agent in steps.agents:
        yield from _calls_of(steps, of_agent)


def _calls_of(steps: RunSteps, of_agent: Sequence[Step]) -> Iterator[Finding]:
    made: dict[tuple[str, bytes], str] = {}
    for step in of_agent:
        for call in step.calls:
            yield from _failure_findings(steps, step, call)
            key = (call.begin.name, canonical_json(call.arguments))
            text = steps.returned(call)
            if made.get(key) == text:
                quotes = (steps.call_quote(step, call),)
                yield Finding(
                    step.number, rules.CALL_REPEATED, f"{call.begin.name} again, with the same result", quotes
                )
            if acts(call.begin.name) and steps.failure_of(call) is None:
                made.clear()  # reads may have other results now
            made[key] = text


def _failure_findings(steps: RunSteps, step: Step, call: ToolRun) -> Iterator[Finding]:
    problem = steps.failure_of(call)
    if problem is None:
        return
    result = steps.result_of(call)
    quotes = (steps.call_quote(step, call), *(() if result is None else (result.beginning(),)))
    reason = f"{call.begin.name} failed: {problem[:160]}"
    yield Finding(step.number, rules.CALL_FAILED, reason, quotes)
    following = steps.reader_of(call)
    if following is None or following.calls or not following.answers:
        return
    answer = following.turn.answer_text
    if _is_english(answer) and not _speaks_of(answer, problem):
        yield Finding(following.number, rules.ERROR_IGNORED, reason, (*quotes, following.answers[0].beginning()))


def _is_english(answer: str) -> bool:
    words = {word.lower() for word in _ENGLISH.findall(answer)}
    return len(words) >= _ENGLISH_WORDS or (answer.isascii() and len(answer.split()) <= _ENGLISH_WORDS)


def _speaks_of(answer: str, problem: str) -> bool:
    """Whether an answer says that something went wrong, or repeats two words or more of the error."""
    if _TROUBLE.search(answer) is not None or INABILITY.search(answer) is not None:
        return True
    theirs = {word for word, _, _ in words_in(problem) if len(word) >= _LONG}
    ours = {word for word, _, _ in words_in(answer) if len(word) >= _LONG}
    return sum(any(is_same_word(word, other) for other in ours) for word in theirs) >= min(_SHARED, max(1, len(theirs)))


# --- lost facts ------------------------------------------------------------------------------------------------------


_NEEDS = {
    ASKED: "and the user was asked for it again",
    TOLD: "and the user said it again",
    LOOKED_UP: "and it was looked up again",
    MISSED: "and it was said to be missing",
    USED: "and it was used all the same",
}


def _need(need: FactNeeded) -> str:
    """What came of a lost fact, in words."""
    if need["how"] == WRONG:
        return f"and {need['value'][:80]!r} was used instead" if need["value"] else "and another value was used"
    return _NEEDS.get(need["how"], "and it was needed")


def find_lost_facts(steps: RunSteps, audits: Sequence[CompressionAudit]) -> Iterator[Finding]:
    """Yields the steps that needed a fact that an audit reports as lost."""
    begins = [step.new_texts[0].seq if step.new_texts else step.turn.begin.seq for step in steps.steps]
    for audited in audits:
        for fact in audited["lost"]:
            for need in fact["needed"]:
                number = bisect_right(begins, need["seq"]) - 1
                if number >= 0:
                    reason = f"{fact['text'][:80]!r} had left the context at event {audited['seq']}, {_need(need)}"
                    quotes = (*fact["quotes"][:1], *need["quotes"][:1])
                    rule = replace(rules.FACT_LOST, strength=need["strength"])
                    yield Finding(number, rule, reason, quotes)
