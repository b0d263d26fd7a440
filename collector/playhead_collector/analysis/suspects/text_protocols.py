"""[analysis]: recognises runs whose model asks for actions in its texts, instead of in tool calls. Pure."""

import re

from playhead_collector.analysis.suspects.findings import RunSteps

_PROTOCOLS = {
    "`Action:` lines": re.compile(r"^[ \t*#]{0,8}Action(?: \d{1,4})?[*]{0,2}:", re.MULTILINE),
    "`<action>` elements": re.compile(r"<(?:action|tool_call|function_call|tool|invoke|function)\b[^<>\n]{0,200}>"),
    "blocks of code": re.compile(r"^[ \t]{0,8}```(?:python|py|bash|sh|tool_code|json)\b", re.MULTILINE),
}
# A single answer with code may be what the user asked for.
_LEAST_ANSWERS = 2


def text_protocol(steps: RunSteps) -> str | None:
    """The form in which a run's model asks for actions in its texts; None if it has tool calls, or no such form.

    Half of the answers, and at least two, must have it.
    """
    if any(step.calls or step.turn.requests or steps.transcript.definitions(step.turn) for step in steps.steps):
        return None
    answers = [step.turn.answer_text for step in steps.steps if step.turn.answer_text]
    for form, pattern in _PROTOCOLS.items():
        having = sum(pattern.search(answer) is not None for answer in answers)
        if having * 2 >= len(answers) and len(answers) >= _LEAST_ANSWERS and having:
            return form
    return None
