"""[analysis]: statements that a summary may lose, by rules: goals, instructions, preferences and errors. Pure.

A statement is a sentence as it stands in a passage. A summary says it in other words, so it counts as still there where
most of its telling words are (`FactIndex.has`).
"""

import re
from collections.abc import Iterator

from playhead_collector.analysis.compression.facts import ERROR, GOAL, INSTRUCTION, PREFERENCE, Fact
from playhead_collector.analysis.texts.passages import RESULT, SYSTEM, USER, Passage
from playhead_collector.analysis.texts.words import words_in

# Behind these, a full stop ends no sentence.
_TITLES = r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)(?<!\bProf)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)"
_SENTENCE = re.compile(rf"[^\n]+?(?:(?:[!?]|{_TITLES}\.)(?=\s)|$)", re.MULTILINE)
_LONGEST, _FEWEST_WORDS = 300, 3
_PREFERENCE = re.compile(
    r"\b(?:i|we)(?:'d| would)? (?:always |usually )?(?:prefer|rather|hate|dislike)\b|\bpreferably\b|\bmy favou?rite\b",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"\b(?:always|never|must(?: not)?|do not|don't|make sure|be sure|remember to|under no circumstances)\b",
    re.IGNORECASE,
)
_GOAL = re.compile(
    r"\b(?:i|we)(?:'d| would)? (?:want|need|like|have) to\b|\b(?:i|we) (?:want|need)\b"
    r"|\b(?:my|our) (?:goal|task|aim) is\b|\bi'?m (?:trying|looking) (?:to|for)\b|\bhelp me\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\b\w{0,60}(?:error|exception)\b|\b(?:failed|failure|denied|timed out|not found|traceback)\b", re.IGNORECASE
)


def statements_in(passage: Passage) -> Iterator[Fact]:
    """Yields the statements of a passage: errors from results of tools, and the others from what users and the system
    say."""
    if passage.source not in (RESULT, USER, SYSTEM):
        return
    for match in _SENTENCE.finditer(passage.text):
        sentence = match[0].strip()
        if len(sentence) > _LONGEST or len(sentence.split()) < _FEWEST_WORDS:
            continue
        kind = _kind_of(sentence, passage.source)
        if kind is not None:
            start = match.start() + match[0].index(sentence)
            norm = " ".join(word for word, _, _ in words_in(sentence))
            yield Fact(kind, sentence, norm, start, start + len(sentence))


def _kind_of(sentence: str, source: str) -> str | None:
    if source == RESULT:
        return ERROR if _ERROR.search(sentence) else None
    if _PREFERENCE.search(sentence):
        return PREFERENCE
    if _INSTRUCTION.search(sentence):
        return INSTRUCTION
    return GOAL if source == USER and _GOAL.search(sentence) else None
