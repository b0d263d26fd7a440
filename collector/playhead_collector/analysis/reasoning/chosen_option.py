"""[analysis]: which option a model says that it takes, why, and why none of the others, in reasoning that it wrote in a
form (`playhead.REASONING_PROMPT`). All are ranges of the text that the form was read from. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from playhead_collector.analysis.reasoning.structured_text import ConsideredOption, StructuredText, TextRange

_BECAUSE = re.compile(r"[ \t,;.]{0,8}\b(?:because|since)\b[ \t:]{0,8}", re.IGNORECASE)
# Hyphen, en dash and em dash may stand before it.
_REJECTED = re.compile(
    "[ \t,;.(\u2013\u2014-]{0,8}\\b(?:rejected|ruled out|dismissed|not (?:taken|chosen|selected))\\b"
    "(?:[ \t:,]{0,8}(?:because(?: of)?|since|as|due to)\\b)?[ \t:,\u2013\u2014-]{0,8}",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w{1,100}+")
_ENDS = " \t\r\n.,;:()*_`\"'\u2013\u2014-"


@dataclass(frozen=True, slots=True)
class ChosenOption:
    """What a block says about its choice. `selected`: the name of the option, else what the decision names; None: it
    has no decision. `rejected`: name of each other option, with why it was not taken."""

    selected: TextRange | None = None
    rationale: Sequence[TextRange] = ()
    rejected: Sequence[tuple[TextRange, Sequence[TextRange]]] = field(default=())


def chosen_option(text: str, block: StructuredText) -> ChosenOption:
    """Finds the choice in a block.

    The reason is what the decision says behind "because", else the arguments for the option. Why another one was not
    taken is what it says behind "rejected because", else the arguments against it.
    """
    if not block.decision:
        return ChosenOption(rejected=_rejected(text, block.options, None))
    decision = block.decision[0]
    because = _BECAUSE.search(text, decision.start, decision.end)
    head = _trimmed(text, TextRange(decision.start, because.start() if because else decision.end))
    option = _named_in(text, head, block.options)
    selected = head if option is None else _name(text, option)
    said = [] if because is None else [TextRange(because.end(), decision.end)]
    rationale = [piece for piece in said if piece.start < piece.end] + block.decision[1:]
    if not rationale and option is not None:
        rationale = option.pros
    return ChosenOption(
        selected if selected.start < selected.end else None, rationale, _rejected(text, block.options, option)
    )


def _rejected(
    text: str, options: Sequence[ConsideredOption], chosen: ConsideredOption | None
) -> list[tuple[TextRange, Sequence[TextRange]]]:
    found: list[tuple[TextRange, Sequence[TextRange]]] = []
    for option in options:
        why = _why_rejected(text, option)
        # Without a decision, only what the model says to have rejected is.
        if option is not chosen and (why or (chosen is not None and option.cons)):
            found.append((_name(text, option), why or option.cons))
    return found


def _why_rejected(text: str, option: ConsideredOption) -> list[TextRange]:
    """Returns what an option says behind "rejected because"; if nothing stands there, what it says next."""
    pieces = [option.name, *option.about]
    for place, piece in enumerate(pieces):
        said = _REJECTED.search(text, piece.start, piece.end)
        if said is not None:
            return [TextRange(said.end(), piece.end)] if said.end() < piece.end else pieces[place + 1 :]
    return []


def _name(text: str, option: ConsideredOption) -> TextRange:
    """Returns the range of an option's name, without why it was rejected."""
    said = _REJECTED.search(text, option.name.start, option.name.end)
    end = said.start() if said is not None and said.start() > option.name.start else option.name.end
    return _trimmed(text, TextRange(option.name.start, end))


def _named_in(text: str, decision: TextRange, options: Sequence[ConsideredOption]) -> ConsideredOption | None:
    """Returns the option that the decision names: the one with the longest name in it, else the only one whose name has
    all words of the decision."""
    said = _words(text, decision)
    names = [(option, _words(text, _name(text, option))) for option in options]
    inside = [(len(name), option) for option, name in names if name and _has(said, name)]
    if inside:
        return max(inside, key=lambda pair: pair[0])[1]
    around = [option for option, name in names if said and _has(name, said)]
    return around[0] if len(around) == 1 else None


def _has(words: Sequence[str], inner: Sequence[str]) -> bool:
    """Whether the inner words stand in this order, one behind the other, among the words."""
    length = len(inner)
    return any([*words[place : place + length]] == [*inner] for place in range(len(words) - length + 1))


def _words(text: str, piece: TextRange) -> list[str]:
    return _WORD.findall(text[piece.start : piece.end].casefold())


def _trimmed(text: str, piece: TextRange) -> TextRange:
    start, end = piece.start, piece.end
    while start < end and text[start] in _ENDS:
        start += 1
    while end > start and text[end - 1] in _ENDS:
        end -= 1
    return TextRange(start, end)
