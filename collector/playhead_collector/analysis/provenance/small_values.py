"""[analysis]: small values (numbers under 13, yes and no, true and false), and values that a tool's definition lists.

They occur everywhere, so an occurrence alone proves nothing. It counts only near a word like the argument's own name
(`baggages`: "three checked bags"). Otherwise the value may be one that the definition allows, or its default. Pure.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from playhead_collector.analysis.provenance import rules
from playhead_collector.analysis.provenance.derived_values import Derivation
from playhead_collector.analysis.texts.passages import ASSISTANT, RESULT, SYSTEM, USER, ContextIndex, Hit, in_order
from playhead_collector.analysis.texts.words import (
    SMALL,
    fold,
    is_same_word,
    name_words,
    plain_number,
    read_number,
    words_in,
    written,
)
from playhead_collector.analysis.transcript.arguments import Scalar, TracedCall, is_distinctive

_LARGEST = 12
_NEAR = 48
# Words in arguments' names that do not say what the value is about.
_VAGUE = {"total", "number", "num", "count", "amount", "value", "type", "name", "has", "max", "min", "new", "size"}
_EMPTY: tuple[Any, ...] = (None, "", 0, False)
_POLAR = {
    True: {"yes", "yeah", "sure", "please", "with", "add", "want", "include"},
    False: {"no", "not", "don", "without", "nothing", "none", "never", "decline", "skip"},
}


def is_trivial_value(value: Scalar) -> bool:
    """Whether the value is so common that an occurrence proves nothing."""
    if isinstance(value, str):
        plain = read_number(value)
        return not value.isdigit() and not is_distinctive(value) if plain is None else _is_trivial_number(plain)
    return value is None or isinstance(value, bool) or _is_trivial_number(plain_number(value))


def trace_trivial_value(
    index: ContextIndex, traced: TracedCall, path: str, value: Scalar
) -> tuple[str, Derivation] | None:
    """Returns the source of the value and how it was found; None if it occurs nowhere."""
    names = [word for word in name_words(path) if len(word) > 2]
    names = [word for word in names if word not in _VAGUE] or names
    plain = _plain(value)
    near = _beside(index, traced, names, _forms(value, plain), (USER, RESULT))
    if near and near[0].passage.source == USER:
        return USER, Derivation(
            "normalised" if near[0].text != written(value) else "exact", "", (near[0],), rules.SMALL_USER_SAID
        )
    polar = _polar(index, traced, names, value)
    if polar is not None:
        return USER, polar
    under = [hit for hit in near if traced.relatedness(hit, path)]
    if under:
        return RESULT, Derivation("exact", "", (under[-1],), rules.SMALL_IN_RESULT)
    counted = _count(traced, path, value)
    listed = counted or allowed_by_definition(traced, path, value)
    if listed is not None:
        return "derived", listed
    return _anywhere(index, traced, names, value, plain)


def allowed_by_definition(traced: TracedCall, path: str, value: Scalar) -> Derivation | None:
    """Derives the value as the default in the tool's definition, or as one of the values that it allows."""
    schema = traced.schema(path)
    if "default" in schema and schema["default"] == value:
        return Derivation("default", "the default of the tool's definition", (), rules.DEFINITION_DEFAULT)
    if value in alternatives(traced, path) or (isinstance(value, bool) and schema.get("type") == "boolean"):
        note = "one of the values that the tool's definition allows"
        return Derivation("enum", note, (), rules.DEFINITION_ALLOWS)
    return None


def alternatives(traced: TracedCall, path: str) -> list[str]:
    """The values that the definition lists for this argument; empty if it lists none."""
    listed = traced.schema(path).get("enum")
    return [value for value in cast(list[Any], listed) if isinstance(value, str)] if isinstance(listed, list) else []


def _is_trivial_number(plain: str | None) -> bool:
    return plain is not None and plain.lstrip("-").isdigit() and len(plain) < 4 and abs(int(plain)) <= _LARGEST


def _plain(value: Scalar) -> str | None:
    if isinstance(value, str):
        return read_number(value)
    return None if isinstance(value, bool | None) else plain_number(value)


def _forms(value: Scalar, plain: str | None) -> list[str]:
    """Words and digits by which the value may be written."""
    if plain is not None:
        return [plain, *SMALL.get(plain, ())]
    return [fold(value)] if isinstance(value, str) and value.strip() else []


def _beside(
    index: ContextIndex, traced: TracedCall, names: Sequence[str], forms: Sequence[str], sources: Sequence[str]
) -> list[Hit]:
    """Occurrences of these forms near a word like the argument's name: in the order of `sources`, the latest first."""
    hits: list[Hit] = []
    for hit in index.words_matching(
        ("alike", *names), lambda word: any(is_same_word(word, name) for name in names), traced.visible
    ):
        low, high = hit.around(_NEAR)
        text = hit.passage.text
        for word, start, end in words_in(text[low:high]) if hit.passage.source in sources else ():
            if word in forms and not _parted(text, hit, low + start, low + end):
                hits.append(Hit(hit.passage, low + start, low + end))
    ordered = in_order(hits, traced.visible)
    return [hit for source in sources for hit in reversed(ordered) if hit.passage.source == source]


def _parted(text: str, hit: Hit, start: int, end: int) -> bool:
    """Whether a sentence, line or JSON value ends between the hit and the range."""
    between = text[min(end, hit.end) : max(start, hit.start)]
    return any(mark in between for mark in (". ", "? ", "! ", "\n", "}", "], "))


def _polar(index: ContextIndex, traced: TracedCall, names: Sequence[str], value: Scalar) -> Derivation | None:
    """Derives a yes or no (or 0) from a user's words about its subject, or from the answer to an agent's question."""
    meant = {"yes": True, "true": True, "no": False, "false": False, "none": False}.get(written(value).lower())
    nothing = _plain(value) == "0"
    if meant is None and not nothing:
        return None
    meant = bool(meant)
    spoken = index.words_matching(
        ("alike", *names), lambda word: any(is_same_word(word, name) for name in names), traced.visible
    )
    from_user = [hit for hit in spoken if hit.passage.source == USER]
    if from_user:
        clear = bool(_words_around(from_user[-1]) & _POLAR[meant])
        if nothing and not clear:
            return None
        rule = rules.IMPLIED_CLEARLY if clear else rules.IMPLIED
        return Derivation("implied", "the user spoke of it", (from_user[-1],), rule)
    asked_by_agent = [hit for hit in spoken if hit.passage.source == ASSISTANT and not nothing]
    answer = _answer(index, traced, asked_by_agent[-1]) if asked_by_agent else None
    if answer is None:
        return None
    places = (answer, asked_by_agent[-1])
    return Derivation("implied", "the user answered the agent who asked", places, rules.IMPLIED)


def _words_around(hit: Hit) -> set[str]:
    low, high = hit.around(_NEAR)
    return {word for word, _, _ in words_in(hit.passage.text[low:high])}


def _answer(index: ContextIndex, traced: TracedCall, question: Hit) -> Hit | None:
    """The yes or no with which a user begins the next message after a question, or None."""
    place = traced.visible[question.passage.content] + 1
    polar = _POLAR[True] | _POLAR[False]
    later = [
        hit
        for hit in (hit for word in sorted(polar) for hit in index.find([word], traced.visible))
        if hit.passage.source == USER and traced.visible[hit.passage.content] == place and hit.start < _NEAR
    ]
    return later[0] if later else None


def _count(traced: TracedCall, path: str, value: Scalar) -> Derivation | None:
    """Derives a number as the length of a list with a similar name in the same arguments."""
    plain, names = _plain(value), name_words(path)
    arguments = traced.arguments
    if plain is None or not isinstance(arguments, dict):
        return None
    for key, items in cast(dict[str, Any], arguments).items():
        if isinstance(items, list) and str(len(cast(list[Any], items))) == plain and _speaks_of(names, name_words(key)):
            return Derivation("computed", f"the number of {key}", (), rules.LIST_LENGTH)
    return None


def _speaks_of(names: Iterable[str], others: Sequence[str]) -> bool:
    return any(is_same_word(name, other) for name in names for other in others if len(name) > 2)


def _anywhere(
    index: ContextIndex, traced: TracedCall, names: Sequence[str], value: Scalar, plain: str | None
) -> tuple[str, Derivation] | None:
    """The weakest evidence: the value occurs somewhere, or is a usual placeholder for nothing."""
    if any(value is empty or (value == empty and type(value) is type(empty)) for empty in _EMPTY):
        return "derived", Derivation("default", "what is written when there is nothing", (), rules.EMPTY)
    near = _beside(index, traced, names, _forms(value, plain), (ASSISTANT, SYSTEM))
    if near:
        derivation = Derivation("exact", "beside what the argument is called", (near[0],), rules.SMALL_BESIDE)
        return near[0].passage.source, derivation
    everywhere = _everywhere(index, traced, value, plain)
    for source in (USER, RESULT, ASSISTANT, SYSTEM):
        matches = [hit for hit in everywhere if hit.passage.source == source]
        if matches:
            note = "a small value, which may stand there by chance"
            return source, Derivation("exact", note, (matches[-1],), rules.SMALL_BY_CHANCE)
    return None


def _everywhere(index: ContextIndex, traced: TracedCall, value: Scalar, plain: str | None) -> list[Hit]:
    if plain is not None:
        return index.number(plain, traced.visible)
    words = [word for word, _, _ in words_in(written(value))]
    return index.find(words, traced.visible) if isinstance(value, str) else []
