"""[analysis]: finds where a text says that something is missing, and arguments that only hold a place. Pure."""

import re
from collections.abc import Iterator
from itertools import islice

from playhead_collector.analysis.compression.facts import label_words
from playhead_collector.analysis.texts.words import fold

_LACKS = re.compile(
    r"\b(?:missing|required|unknown|undefined|unspecified|no longer|not (?:\w{1,12} ){0,2}"
    r"(?:provided|given|specified|found|known|available|recorded|stated|mentioned)"
    r"|(?:do|does|did|could|can)(?: not|n['\u2019]t) (?:\w{1,12} ){0,2}"
    r"(?:have|know|recall|remember|find|see|access|exist)"
    r"|cannot (?:\w{1,12} )?(?:recall|remember|find|see|access|determine)|does not exist"
    r"|no (?:such|record of|\w{1,20} (?:number|id|code|name|date|address|reference))\b"
    r"|keyerror|nameerror|attributeerror)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:provide|tell|share|give|send|enter|state)(?: (?:me|us|again|with)){0,2} (?:your|the|his|her|their|what)\b"
    r"|\bwhat (?:is|was|are|were) (?:your|the|his|her|their)\b|\bi(?:'ll| will)? need (?:your|the)\b"
    r"|\bremind me (?:of|what)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]{1,600}[.!?]?")
_WORD = re.compile(r"[^\W\d_]{2,40}")
# A text with more sentences is a document, and nobody's words.
_MAX_SENTENCES = 400
_MIN_LABEL = 3
# Characters beside such words in which the name of what is missing stands.
_NEAR = 36
_DIGIT = re.compile(r"\d")
_ARGUMENT = re.compile(r'"(\w{1,64})"\s{0,4}:\s{0,4}"([^"\\]{1,64})"')
_PLACEHOLDER = re.compile(
    r"<[^<>]{1,60}>|\[[^\[\]]{1,60}\]|\{{1,2}[^{}]{1,60}\}{1,2}|unknown|n/?a|none|null|tbd|todo|x{3,}|\?+|0{4,}"
    r"|placeholder|your[_ -]?\w{1,40}|not[_ -](?:provided|known|given|available|specified)|1?2345\d{0,6}|123\d{0,9}",
    re.IGNORECASE,
)


def says_missing(text: str, *, asks: bool) -> Iterator[tuple[int, int, frozenset[str]]]:
    """Yields the sentences that say that something is missing: start, end, and the words near it. `asks`: sentences
    that ask for something count, too."""
    patterns = [(_LACKS, _NEAR)] + ([(_ASKS, 0)] if asks else [])
    if not any(pattern.search(text) for pattern, _ in patterns):
        return
    for sentence in islice(_SENTENCE.finditer(text), _MAX_SENTENCES):
        said = sentence[0]
        near = [
            said[max(0, found.start() - before) : found.end() + _NEAR]
            for pattern, before in patterns
            for found in pattern.finditer(said)
        ]
        if near:
            words = frozenset(fold(word) for part in near for word in _WORD.findall(part) if len(word) >= _MIN_LABEL)
            yield sentence.start() + len(said) - len(said.lstrip()), sentence.end(), words


def asks_for_something(sentence: str) -> bool:
    """Whether a sentence asks for something."""
    return _ASKS.search(sentence) is not None


def placeholders(arguments: str) -> Iterator[tuple[int, int, set[str]]]:
    """Yields the values in a tool call's JSON arguments that only hold a place (`<order_id>`, `unknown`): start, end,
    and the words of the argument's name."""
    for match in _ARGUMENT.finditer(arguments):
        if _PLACEHOLDER.fullmatch(match[2].strip()):
            yield match.start(2), match.end(2), label_words(match[1])


def form_of(identifier: str) -> str:
    """The form of an identifier: its letters and signs, with a 9 for each digit."""
    return _DIGIT.sub("9", identifier)
