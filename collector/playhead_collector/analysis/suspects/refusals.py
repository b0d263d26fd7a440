"""[analysis]: answers that refuse without a tool call, demand again, or claim work that no call did.  Pure."""

import re
from collections.abc import Iterator

from playhead.wire.operations.reasoning import Quoted
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step, StepText
from playhead_collector.analysis.suspects.wording import (
    DEMAND,
    DONE,
    INABILITY,
    LOOKED,
    NOT_HAVING,
    acts,
    hands_over,
    sentences,
)
from playhead_collector.analysis.texts.passages import USER
from playhead_collector.analysis.texts.words import is_same_word, name_words, words_in

_SHORTEST_WORD = 4
_CLAUSE_END = re.compile(r", and |; |, but ")


def find_refusals(steps: RunSteps) -> Iterator[Finding]:
    """Yields refusals and demands without a tool call, and claims of work that no call did.

    Refusals are often repeated: of each rule for refusals and demands, only the first finding is yielded.
    """
    all_called = {call.begin.name for step in steps.steps for call in step.calls}
    called = False
    done: set[str] = set()
    reported: set[str] = set()
    for step in steps.steps:
        for finding in _declined(steps, step, all_called, called=called):
            if finding.rule.name not in reported:
                reported.add(finding.rule.name)
                yield finding
        if not step.calls:
            yield from _not_done(steps, step, done)
        called = called or bool(step.calls)
        done |= {call.begin.name for call in step.calls if steps.failure_of(call) is None}


def _declined(steps: RunSteps, step: Step, all_called: set[str], *, called: bool) -> Iterator[Finding]:
    if any(hands_over(call.begin.name) for call in step.calls):
        request = steps.latest_of_user(step)
        if request is not None:
            yield from _not_tried(steps, step, request.beginning(), all_called)
    if step.calls or not step.answers or not steps.transcript.definitions(step.turn):
        return
    answer = step.answers[0]
    refused = _sentence(answer, INABILITY)
    if refused is not None and not called:
        reason = "the answer says that it cannot, and no tool had been called"
        yield Finding(step.number, rules.REFUSED_WITHOUT_LOOKING, reason, (refused,))
    elif refused is not None:
        yield from _not_tried(steps, step, refused, all_called)
    missing = next((quote for text in step.of(USER) if (quote := _sentence(text, NOT_HAVING)) is not None), None)
    demanded = _sentence(answer, DEMAND)
    if missing is not None and demanded is not None and step.before is not None and _share_a_word(missing, demanded):
        reason = "the answer asks for what the user had just said not to have"
        yield Finding(step.number, rules.DEMANDED_AGAIN, reason, (missing, demanded))


def _not_tried(steps: RunSteps, step: Step, refusal: Quoted, all_called: set[str]) -> Iterator[Finding]:
    """Yields a tool that changes something and is never called, but is named by the user's words or the refusal."""
    request = steps.latest_of_user(step)
    wanted = f"{request.passage.text if request else ''} {refusal['text']}"
    best = _tools_named_in(wanted, [name for name in steps.transcript.definitions(step.turn) if acts(name)])
    untried = [name for name in best if name not in all_called]
    if untried:
        reason = f"it declines or hands over, and {untried[0]}, which was offered, is never called"
        yield Finding(step.number, rules.TOOL_NOT_TRIED, reason, (refusal,))


def _not_done(steps: RunSteps, step: Step, done: set[str]) -> Iterator[Finding]:
    """Yields clauses that claim work of a tool that they name, if no such tool is in `done` (successful calls)."""
    tools = [name for name in steps.transcript.definitions(step.turn) if acts(name)]
    for answer in step.answers if tools else ():
        text = answer.passage.text
        for start, end in _clauses(text):
            claim = DONE.search(text, start, end)
            if claim is None or LOOKED.search(claim[0]) is not None:
                continue
            best = _tools_named_in(text[start:end], tools)
            if best and not done & set(best):
                reason = f"the answer says that it was done, and {best[0]} was not called, or failed"
                yield Finding(step.number, rules.NOT_DONE, reason, (answer.quote(start, end),))


def _tools_named_in(text: str, tools: list[str]) -> list[str]:
    """The tools whose names share most words with a text; [] if no word is shared."""
    words = {word for word, _, _ in words_in(text) if len(word) >= _SHORTEST_WORD}
    shared = {tool: sum(_occurs(part, words) for part in name_words(tool)) for tool in tools}
    most = max(shared.values(), default=0)
    return [tool for tool, number in shared.items() if number == most] if most else []


def _occurs(part: str, words: set[str]) -> bool:
    return len(part) >= _SHORTEST_WORD and any(is_same_word(part, word) for word in words)


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    for start, end in sentences(text):
        position = start
        for mark in _CLAUSE_END.finditer(text, start, end):
            yield position, mark.start()
            position = mark.end()
        if position < end:
            yield position, end


def _share_a_word(left: Quoted, right: Quoted) -> bool:
    """Whether two sentences share a word of more than 4 letters."""
    ours, theirs = ({word for word, _, _ in words_in(q["text"]) if len(word) > _SHORTEST_WORD} for q in (left, right))
    return bool(ours & theirs)


def _sentence(text: StepText, pattern: re.Pattern[str]) -> Quoted | None:
    """Quotes the first sentence in which the pattern occurs; None if it occurs in none."""
    sentence = next((span for span in sentences(text.passage.text) if pattern.search(text.passage.text, *span)), None)
    return None if sentence is None else text.quote(*sentence)
