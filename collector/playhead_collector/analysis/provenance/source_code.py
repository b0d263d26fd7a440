"""[analysis]: traces the literals and names in code and commands that a model wrote into an argument. Pure.

The text is read in one pass, without a parser of its language: strings, numbers, paths, addresses, dates and
identifiers look alike in all languages, and a parser would refuse code that was cut. A literal that occurs nowhere is
`unfounded` if it is data: a number from 1,000 on, a date, an identifier in quotes, a path, an address. Other texts and
names that occur nowhere (`None`, `PDF`, imports) are the model's own, and are left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice

from playhead_collector.analysis.provenance.code_words import is_code_word
from playhead_collector.analysis.provenance.composed_texts import facts_in, find_basis
from playhead_collector.analysis.texts.passages import ContextIndex, Hit
from playhead_collector.analysis.texts.words import listed, name_words, plain_number, read_date
from playhead_collector.analysis.transcript.arguments import TracedCall, is_distinctive, is_identifier

_CALLED = {"bash", "cmd", "code", "command", "commands", "program", "python", "script", "shell", "snippet", "sql"}
_LINE = re.compile(
    r"^[ \t]{0,64}+(?:import |from \w{1,64}+[\w.]{0,64}+ import |def |class |return |print\(|for \w{1,64}+ in |while |"
    r"const |let |var |function |#!|sudo |cd |pip |python3? |SELECT |INSERT |UPDATE |echo |cat |grep |\w{1,64}+ = )",
    re.MULTILINE,
)
# A string that is not closed ends with its line.
_LITERAL = re.compile(
    r'"(?P<double>(?:[^"\\\n]++|\\.)*+)(?:"|\\?(?=\n|\Z))|'
    r"'(?P<single>(?:[^'\\\n]++|\\.)*+)(?:'|\\?(?=\n|\Z))|(?P<name>(?<![\w./@-])[A-Za-z_]\w{3,64}+(?![\w/@]))"
)
_MAX_LENGTH, _MOST = 200, 1_000
_MIN_LINES = 2
# Smaller numbers (sizes, timeouts) are the model's own choice.
_MIN_NUMBER = 1_000
_USUAL_NUMBERS = frozenset(
    listed("1000 1024 2000 2048 3600 4096 5000 8000 8080 8192 8888 10000 16384 32768 65535 65536 86400 100000 1000000")
)
# Folders of every system.
_USUAL_PATHS = tuple(f"/{folder}/" for folder in listed("bin dev tmp usr proc"))


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal or name of the code, and its occurrence in the context. `hit` None: it occurs nowhere."""

    text: str
    hit: Hit | None

    @property
    def source(self) -> str:
        """Source of the occurrence; `invented` if there is none."""
        return "invented" if self.hit is None else self.hit.passage.source


def is_code(path: str, text: str) -> bool:
    """Whether a text is code or a command, by its argument's name or by how its lines begin."""
    words = name_words(path)
    if words and words[-1] in _CALLED and not text.isalnum():
        return any(not character.isalnum() and character not in "_-." for character in text.strip())
    return len(list(islice(_LINE.finditer(text), _MIN_LINES))) == _MIN_LINES


def literals_of(index: ContextIndex, traced: TracedCall, path: str, text: str) -> list[Literal]:
    """Returns the literals and names of the code that occur in the context, and data that occurs nowhere."""
    literals: list[Literal] = []
    data: dict[str, bool] = {}
    for literal, is_data in islice(_parts(text), _MOST):
        data[literal] = data.get(literal, False) or is_data
    for literal, is_data in data.items():
        hits = find_basis(index, traced, path, literal)
        if hits or is_data:
            literals.append(Literal(literal, hits[0] if hits else None))
    return literals


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yields each literal or name, and whether it is data."""
    rest: list[str] = []
    position = 0
    for match in _LITERAL.finditer(text):
        name, literal = match["name"], match["double"] or match["single"] or ""
        if name is not None:
            accepted = "_" in name or is_identifier(name)
            if accepted:
                yield name, False
        else:
            facts = list(islice(facts_in(literal), 2))
            accepted = is_distinctive(literal) and len(literal) <= _MAX_LENGTH and (not facts or facts == [literal])
            if accepted:
                yield literal, bool(facts) and not is_code_word(literal)
        if accepted:
            rest += (text[position : match.start()], " ; ")
            position = match.end()
    for fact in facts_in("".join((*rest, text[position:]))):
        yield fact, _is_data(fact)


def _is_data(fact: str) -> bool:
    """Whether a fact is a number from 1,000 on, a date, a path or an address."""
    plain = plain_number(fact.replace(",", ""))
    if plain is not None:
        return abs(Decimal(plain)) >= _MIN_NUMBER and plain not in _USUAL_NUMBERS
    if fact.startswith("/"):
        return not fact.startswith(_USUAL_PATHS)
    return "@" in fact or "://" in fact or read_date(fact) is not None
