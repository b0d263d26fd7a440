"""[analysis]: steps that break a rule of the system prompt: confirmation first, one call at a time, a limit, a price, a
restriction.  Pure.

A restriction in words ("X cannot be changed") is not understood: a step gets a weak finding if it shares most of the
words of the restriction.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from math import log
from typing import Any, cast

from playhead.model.canonical import text_of
from playhead.wire.operations.reasoning import Quoted
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step, StepText
from playhead_collector.analysis.suspects.wording import CONFIRMATION, acts, sentences
from playhead_collector.analysis.texts.passages import USER
from playhead_collector.analysis.texts.words import SMALL, fold, is_same_word, name_words, plain_number, words_in
from playhead_collector.analysis.transcript.arguments import scalars
from playhead_collector.analysis.transcript.transcript import ToolRun

_CONFIRM_FIRST = re.compile(
    r"\bbefore\b[^\n]{0,400}\b(?:confirm\w*|approv\w*|consent)\b|\b(?:confirm\w*|approv\w*|consent)\b[^\n]{0,80}\bbefore\b",
    re.IGNORECASE,
)
_ONE_AT_A_TIME = re.compile(
    r"\bone (?:tool|function) call at a time\b|\bonly (?:make|call) one (?:tool|function)\b", re.IGNORECASE
)
_AT_MOST = re.compile(
    r"\b(?:at most|no more than|a maximum of|maximum of|up to|not exceed|only)\s+"
    r"(?P<number>\d{1,4}|one|two|three|four|five|six|seven|eight|nine|ten|twelve)\s+(?P<what>[a-z][a-z ]{2,40})",
    re.IGNORECASE,
)
_RESTRICTS = re.compile(
    r"\b(?:cannot|can['\u2019]t|can not|must not|not (?:allowed|possible|permitted)|never|only if|do not|strict|deny|"
    r"must be the same)\b",
    re.IGNORECASE,
)
_NUMBERS = {word: int(number) for number, words in SMALL.items() for word in words if len(word) > 2}
_MONEY = re.compile(
    r"[$€£]\s?(\d[\d,]{0,12}(?:\.\d{1,4})?)|\b(\d[\d,]{0,12}(?:\.\d{1,4})?) (?:dollars?|euros?|pounds?|usd|eur)\b",
    re.IGNORECASE,
)
_OF_MONEY = frozenset(
    ("dollar", "euro", "pound", "each", "cost", "price", "amount", "total", "fee", "charge", "refund")
)
_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|\n")
# Characters on each side of an amount in which the priced thing is named.
_BESIDE, _MAX_PRICES = 48, 200
_LINE = re.compile(r"[^\n]+")
# Least length of a compared word; words that a restriction must have; share of their weight that a step must have.
_SHORTEST_WORD, _FEWEST_WORDS, _ENOUGH = 4, 3, 0.5
_MAX_RESTRICTIONS, _MAX_SENTENCES, _MAX_LIMITS = 60, 5_000, 60
_MAX_ITEMS, _MAX_TEXTS, _MAX_TEXT_LENGTH = 1_000, 32, 200


@dataclass(frozen=True, slots=True)
class _Restriction:
    quote: Quoted
    weights: dict[str, float]


def find_broken_rules(steps: RunSteps) -> Iterator[Finding]:
    """Yields steps that break a rule of the system prompt."""
    confirm = _line_with(steps, _CONFIRM_FIRST)
    single = _line_with(steps, _ONE_AT_A_TIME)
    limits = list(_limits(steps))
    restrictions = _restrictions(steps)
    prices = [price for text in steps.system for price in _prices(text) if price.amount]
    for step in steps.steps:
        changing = [call for call in step.calls if acts(call.begin.name)]
        if confirm is not None and changing and step.of(USER) and not _is_confirmed(step):
            reason = f"{changing[0].begin.name} was called, and the user had not confirmed it"
            quotes = (confirm, step.of(USER)[-1].beginning(), steps.call_quote(step, changing[0]))
            yield Finding(step.number, rules.ORDER_BROKEN, reason, quotes)
        if single is not None and len(step.calls) > 1:
            quotes = (single, *(steps.call_quote(step, call) for call in step.calls[:2]))
            yield Finding(step.number, rules.LIMIT_BROKEN, f"{len(step.calls)} tool calls at a time", quotes)
        for call in changing:
            yield from _wrong_amounts(steps, step, call, prices)
        for call in step.calls:
            yield from (finding for limit in limits for finding in _beyond(steps, step, call, limit))
        yield from _restricted(step, restrictions)


def _is_confirmed(step: Step) -> bool:
    """Whether the user's new words sound like a confirmation of something that was offered in words."""
    offered = step.before is not None and bool(step.before.turn.answer_text)
    return offered and CONFIRMATION.search(step.user_text) is not None


def _line_with(steps: RunSteps, pattern: re.Pattern[str]) -> Quoted | None:
    """The first line of the system prompt in which the pattern occurs."""
    for text in steps.system:
        for line in _LINE.finditer(text.passage.text):
            if pattern.search(text.passage.text, line.start(), line.end()) is not None:
                return text.quote(line.start(), line.end())
    return None


# --- limits -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Limit:
    most: int
    words: Sequence[str]
    quote: Quoted


def _limits(steps: RunSteps) -> Iterator[_Limit]:
    for text in steps.system:
        for match in islice(_AT_MOST.finditer(text.passage.text), _MAX_LIMITS):
            most = int(match["number"]) if match["number"].isdigit() else _NUMBERS[fold(match["number"])]
            words = [word for word, _, _ in words_in(match["what"]) if len(word) >= _SHORTEST_WORD][:2]
            if words:
                yield _Limit(most, words, text.quote(match.start(), match.end()))


def _beyond(steps: RunSteps, step: Step, call: ToolRun, limit: _Limit) -> Iterator[Finding]:
    """Yields lists of a call that exceed the limit, by their length or by the entries that have all its words."""
    for key, items in _lists(call.arguments):
        named = any(is_same_word(part, limit.words[-1]) for part in name_words(key))
        many = len(items) if named else sum(all(word in _squashed(item) for word in limit.words) for item in items)
        if many > limit.most:
            reason = f"{call.begin.name}: {key} has {many} of {' '.join(limit.words)}, at most {limit.most} are allowed"
            yield Finding(step.number, rules.LIMIT_BROKEN, reason, (limit.quote, steps.call_quote(step, call)))


def _squashed(item: Any) -> str:
    """The texts of a list entry, joined."""
    texts = (value for _, value in islice(scalars(item), _MAX_TEXTS) if isinstance(value, str))
    return " ".join(fold(value[:_MAX_TEXT_LENGTH]) for value in texts)


def _lists(value: Any) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            if isinstance(item, list):
                yield str(key), cast(list[Any], item)[:_MAX_ITEMS]


# --- amounts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _StatedPrice:
    amount: Decimal
    words: set[str]
    """Words beside the amount."""
    quote: Quoted


def _prices(text: StepText) -> Iterator[_StatedPrice]:
    """Yields amounts of money, each with the words around it in its sentence."""
    whole = text.passage.text
    for match in islice(_MONEY.finditer(whole), _MAX_PRICES):
        before = _SENTENCE_END.split(whole[max(0, match.start() - _BESIDE) : match.start()])[-1]
        after = _SENTENCE_END.split(whole[match.end() : match.end() + _BESIDE])[0]
        amount = Decimal((match[1] or match[2]).replace(",", ""))
        quote = text.quote(match.start() - len(before), match.end() + len(after))
        yield _StatedPrice(amount, _words(f"{before} {after}") - _OF_MONEY, quote)


def _wrong_amounts(steps: RunSteps, step: Step, call: ToolRun, prices: Sequence[_StatedPrice]) -> Iterator[Finding]:
    """Yields outermost amounts of a call that are no multiple of any price that the prompt has for its subject."""
    subject = name_words(call.begin.name)[-1:]
    priced = [price for price in prices if any(is_same_word(word, part) for word in price.words for part in subject)]
    for path, value in islice(scalars(call.arguments), _MAX_ITEMS) if priced else ():
        plain = plain_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        if plain is not None and path.lower() in _OF_MONEY and all(Decimal(plain) % price.amount for price in priced):
            reason = f"{call.begin.name}: {path} {plain} is no multiple of the {priced[0].amount} that the prompt names"
            yield Finding(step.number, rules.AMOUNT_BROKEN, reason, (priced[0].quote, steps.call_quote(step, call)))


# --- restrictions -----------------------------------------------------------------------------------------------------


def _restrictions(steps: RunSteps) -> list[_Restriction]:
    """Sentences of the system prompt that forbid something, with the weights of their words: rare words weigh more."""
    quotes: list[Quoted] = []
    everywhere = Counter[str]()
    total = 0
    for text in steps.system:
        for start, end in islice(sentences(text.passage.text), _MAX_SENTENCES):
            words = _words(text.passage.text[start:end])
            everywhere.update(words)
            total += 1
            if _RESTRICTS.search(text.passage.text, start, end) is not None and len(words) >= _FEWEST_WORDS:
                quotes.append(text.quote(start, end))
    return [
        _Restriction(quote, {word: log(1 + total / max(1, everywhere[word])) for word in _words(quote["text"])})
        for quote in quotes[:_MAX_RESTRICTIONS]
    ]


def _restricted(step: Step, restrictions: Sequence[_Restriction]) -> Iterator[Finding]:
    """Yields the restriction of whose word weight the step has the largest share, if that is half or more."""
    changing = [call for call in step.calls if acts(call.begin.name)]
    words = _words(" ".join([step.turn.answer_text, *(f"{c.begin.name} {text_of(c.arguments)}" for c in changing)]))
    best, most = None, 0.0
    for restriction in restrictions:
        whole = sum(restriction.weights.values())
        share = sum(weight for word, weight in restriction.weights.items() if word in words) / whole if whole else 0.0
        if share > most:
            best, most = restriction, share
    if best is not None and most >= _ENOUGH:
        reason = "it touches what the system prompt restricts"
        quotes = (best.quote, *(answer.beginning() for answer in step.answers[:1]))
        yield Finding(step.number, rules.AGAINST_RESTRICTION, reason, quotes)


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word, _, _ in words_in(text.replace("_", " ")) if len(word) >= _SHORTEST_WORD}
