"""[analysis]: tool calls that failed, errors that the next answer ignores, and repeated calls.  Pure."""

import re
from collections.abc import Iterator

from playhead.model.canonical import canonical_json
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step
from playhead_collector.analysis.suspects.wording import INABILITY, acts
from playhead_collector.analysis.transcript.transcript import ToolRun

_TROUBLE = re.compile(
    r"\b(?:not|no longer|un(?:available|able|fortunately|successful)|error|fail\w*|issue|problem|sorry|discrepancy|"
    r"oversight)\b|n['\u2019]t\b",
    re.IGNORECASE,
)


def find_calls(steps: RunSteps) -> Iterator[Finding]:
    """Yields failed calls, ignored errors, and calls that are repeated with the same result."""
    made: dict[tuple[str, bytes], str] = {}
    for step in steps.steps:
        for call in step.calls:
            yield from _failed(steps, step, call)
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


def _failed(steps: RunSteps, step: Step, call: ToolRun) -> Iterator[Finding]:
    problem = steps.failure_of(call)
    if problem is None:
        return
    result = steps.result_of(call)
    quotes = (steps.call_quote(step, call), *(() if result is None else (result.beginning(),)))
    reason = f"{call.begin.name} failed: {problem[:160]}"
    yield Finding(step.number, rules.CALL_FAILED, reason, quotes)
    following = steps.steps[step.number + 1] if step.number + 1 < len(steps.steps) else None
    if following is None or following.calls or not following.answers:
        return
    answer = following.turn.answer_text
    if _TROUBLE.search(answer) is None and INABILITY.search(answer) is None:
        yield Finding(following.number, rules.ERROR_IGNORED, reason, (*quotes, following.answers[0].beginning()))
