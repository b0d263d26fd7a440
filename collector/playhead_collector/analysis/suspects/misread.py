"""[analysis]: answers that contradict results (fields, counts, signs, ages), and false comparisons.  Pure."""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, cast

from playhead.wire.operations.reasoning import Quoted
from playhead.wire.operations.suspects import ComparedValue
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step, StepText, recorded, said
from playhead_collector.analysis.suspects.wording import acts, sentences
from playhead_collector.analysis.texts.json_records import JsonRecord, json_records
from playhead_collector.analysis.texts.passages import RESULT
from playhead_collector.analysis.texts.units import names_of, units_of
from playhead_collector.analysis.texts.words import (
    SMALL,
    dates_in,
    is_same_word,
    name_words,
    numbers_in,
    plain_number,
    read_date,
    words_in,
)
from playhead_collector.analysis.transcript.arguments import is_identifier

_LABEL = re.compile(r"(?m)^[ \t>*\-\d.)]{0,12}\*{0,2}([A-Za-z][A-Za-z _]{1,40})\*{0,2}:\*{0,2}[ \t]+([^\n]{1,120})$")
_OBJECT = re.compile(r"\{")
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{4,40}")
_WITHIN = re.compile(
    r"\b(?:within|less than|in) (?:the )?(?:last |past )?(\d{1,3})[ -](minute|hour|day|week)s?\b", re.IGNORECASE
)
_CLAIMED = re.compile(
    r"\b(?:since|was|were|has been|is within|it['\u2019]s within|made|created|booked)\b", re.IGNORECASE
)
_NOT_CLAIMED = re.compile(
    r"\b(?:if|unless|only|not|n['\u2019]t|must|can be|could be|beyond|more than|whether|within which)\b", re.IGNORECASE
)
_INSTANT = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d))?")
_BEGAN = re.compile(r"creat|book|order|plac|purchas|issu|open|made|start|bought", re.IGNORECASE)
_NOW = re.compile(r"(?:current|now|today)[^\n]{0,40}?(?=\d{4}-\d\d-\d\d[T ]\d\d:\d\d)", re.IGNORECASE)
_UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}
_EXTRA = re.compile(r"\b(?:additional|extra|more|charge[sd]?|owe|pay|higher|surcharge|due)\b", re.IGNORECASE)
_BACK = re.compile(
    r"\b(?:refund\w*|sav\w+|lower|less|credit(?:ed)? back|return(?:ed)?|cheaper|reduc\w+)\b", re.IGNORECASE
)
_QUANTITY = r"(?P<currency{0}>[$€£][ ]?)?(?P<number{0}>\d[\d,]{{0,12}}(?:\.\d{{1,4}})?)(?![\d%]|[.,]\d| ?(?:%|percent))"
_COMPARED = re.compile(
    rf"(?<![\w.,$€£-]){_QUANTITY.format(1)}(?P<between>[^\n.;:!?\d$€£]{{0,240}}?)\b(?:is|are|was|were)"
    r"(?P<not>n['\u2019]t| not)? (?P<how>more|greater|higher|over|above|less|lower|below|under|fewer|within)(?: than)? "
    rf"(?:the |your |a )?[^\n.\d$€£]{{0,24}}?{_QUANTITY.format(2)}(?:[ -](?P<unit>[A-Za-z]{{1,16}}))?",
    re.IGNORECASE,
)
# What is in parentheses is beside the comparison. Spaces take its place, so that positions stay.
_PARENTHESES = re.compile(r"\([^()\n]{0,200}\)")
# Words that begin another clause, in which the first number is not what is compared.
_OTHER_CLAUSE = re.compile(r"\b(?:and|but|while|so|or|because|since|until|then|if)\b", re.IGNORECASE)
# In the same clause, without a comma before the first number: `if the $50 are less than $40`.
_CONDITION = re.compile(r"\b(?:if|unless|whether|when|in case|until|as long as)\b[^,]{0,200}\Z", re.IGNORECASE)
# Before the first number, or behind the second: it is a part of what is compared (`$30 plus $25`, `3 nights at $30`,
# `$10 more than last year`).
_ADDED_BEFORE = re.compile(r"(?:[\d)] ?[+\u00d7x*/]|\b(?:plus|minus|times|at|by|and|or|to|not)) ?\Z", re.IGNORECASE)
_ADDED_BEHIND = re.compile(
    r" ?(?:[+\u00d7*/]|(?:plus|minus|times|more|less|higher|lower|cheaper|fewer|off)\b)", re.IGNORECASE
)
_BEFORE = 12  # characters that may hold what `_ADDED_BEFORE` finds
_MAGNITUDE = re.compile(r" ?(?:thousand|million|billion)\b", re.IGNORECASE)
_MAGNITUDE_OF_MONEY = re.compile(r" ?(?:k|m|mn|b|bn|thousand|million|billion)\b", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_MAYBE_GROUPED = re.compile(r"[1-9]\d{0,2}\.\d{3}")  # `1.234`: in other languages the point separates thousands
_FOR_EACH = re.compile(r"\b(?:per|each|apiece|every)\b", re.IGNORECASE)
_GREATER = {"more", "greater", "higher", "over", "above"}
_NUMBERS = {word: int(number) for number, words in SMALL.items() for word in words if len(word) > 2}
_COUNTED = re.compile(
    r"\b(?:you have|there (?:are|is)|includes?|contains?|lists?|shows?) (?:only |just |a total of )?"
    r"(?P<number>\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|twelve) (?P<what>[a-z]{3,20})"
    r"(?=\s*[.,;:!\n]|\Z)",
    re.IGNORECASE,
)
_SENTENCE = 200  # characters before a comparison that may make it a condition
# Last words of keys that identify a record; `15-inch` under `screen` identifies none.
_IDENTIFYING = tuple([word] for word in ("id", "uuid", "number", "no", "code", "key", "ref", "reference", "sku"))
_ONLY_NUMBER = re.compile(r"(?:[$\u20ac\u00a3] ?)?(?P<number>\d[\d,]{0,14}(?:\.\d{1,4})?)(?: ?[$\u20ac\u00a3])?")
# Words of which one excludes the others, in small letters.
_EXCLUSIVE = tuple(
    frozenset(group.split())
    for group in (
        "pending shipped delivered cancelled returned", "confirmed cancelled", "approved rejected pending",
        "succeeded failed", "active inactive", "enabled disabled", "open closed", "paid unpaid", "valid invalid",
        "available unavailable", "economy business first",
    )
)  # fmt: skip
_SPELLINGS = {"canceled": "cancelled"}
_LONGEST_LINE = 2_000
_MAX_LABELS, _MAX_RECORDS, _MAX_OBJECT_LENGTH = 60, 400, 64 * 1024


def find_misreadings(steps: RunSteps) -> Iterator[Finding]:
    """Yields statements of answers that contradict the results that the agent had, and false comparisons."""
    now = _current_time(steps)
    for of_agent in steps.agents:
        yield from _misreadings(steps, of_agent, now)


def _misreadings(steps: RunSteps, of_agent: Sequence[Step], now: datetime | None) -> Iterator[Finding]:
    records = _KnownRecords()
    lists: dict[str, tuple[int, StepText]] = {}
    computed: list[tuple[StepText, str]] = []
    instants: list[tuple[datetime, Quoted]] = []
    asked = set[str]()
    for step in of_agent:
        asked.update(word for word, _, _ in words_in(step.user_text))
        for result in step.of(RESULT):
            records.add(result)
            lists |= _lists_in(result)
            computed += _negative(result)
            instants += _instants(result)
        for answer in step.answers:
            yield from _false_comparisons(step, answer)
            yield from records.contradicted(step, answer, asked)
            yield from _wrong_counts(step, answer, lists)
            yield from _wrong_signs(step, answer, computed[-3:])
            if now is not None:
                yield from _wrong_ages(step, answer, instants[-3:], now)
        if not step.calls:
            computed.clear()
        if any(acts(call.begin.name) and steps.failure_of(call) is None for call in step.calls):
            records.forget()


def _false_comparisons(step: Step, answer: StepText) -> Iterator[Finding]:
    text = _PARENTHESES.sub(lambda match: " " * len(match[0]), answer.passage.text)
    for match in _COMPARED.finditer(text):
        sides = None if _is_part(match) else _compared(match)
        if sides is None or _CONDITION.search(text, _sentence_start(text, match.start()), match.start()) is not None:
            continue
        left, right = sides
        how = match["how"].lower()
        holds = left > right if how in _GREATER else left <= right if how == "within" else left < right
        if holds == bool(match["not"]) and left != right:
            claim = " ".join(match[0].split())
            quote = answer.quote(match.start(), match.end())
            values = (_side(answer, match, 1), _side(answer, match, 2))
            yield Finding(step.number, rules.COMPARISON_FALSE, f"{claim!r} is false", (quote,), values)


def _side(answer: StepText, match: re.Match[str], side: int) -> ComparedValue:
    """A number of a comparison, without the comma behind it."""
    number, start = match[f"number{side}"].rstrip(","), match.start(f"number{side}")
    return said(number, answer.quote(start, start + len(number)))


def _is_part(match: re.Match[str]) -> bool:
    """Whether a number of a comparison may mean another quantity than it says by itself: a part of a sum or a product,
    a number with a magnitude behind it, or one in the notation of another language."""
    text, start = match.string, match.start()
    if _ADDED_BEFORE.search(text, max(0, start - _BEFORE), start) or _ADDED_BEHIND.match(text, match.end("number2")):
        return True
    numbers = [match[f"number{side}"].rstrip(",") for side in (1, 2)]
    magnitude = _MAGNITUDE_OF_MONEY if match["currency1"] or match["currency2"] else _MAGNITUDE
    return (
        any(magnitude.match(text, match.end(f"number{side}")) is not None for side in (1, 2))
        or not all(map(_GROUPED.fullmatch, numbers))
        or len([number for number in numbers if _MAYBE_GROUPED.fullmatch(number)]) == 1
    )


def _compared(match: re.Match[str]) -> tuple[Decimal, Decimal] | None:
    """The two quantities of a comparison in one unit; None if they are not of one kind, or not both compared."""
    left, right = (Decimal(match[f"number{side}"].replace(",", "")) for side in (1, 2))
    if _OTHER_CLAUSE.search(match["between"]) is not None:
        return None
    if match["currency1"] or match["currency2"]:
        same = (match["currency1"] or "").strip() == (match["currency2"] or "").strip()
        each, other = (_FOR_EACH.search(words) is not None for words in (match["between"], match["unit"] or ""))
        return (left, right) if same and each == other else None
    unit, other = match["between"].strip(" -").partition(" ")[0].rstrip(","), match["unit"] or ""
    targets = names_of(other)
    if not targets or not names_of(unit):
        return None
    if set(targets) & set(names_of(unit)):
        return left, right
    conversions = (each for kind in units_of(unit) for each in kind.conversions if each.unit in targets)
    return next(((left * each.factor + each.offset, right) for each in conversions), None)


def _sentence_start(text: str, position: int) -> int:
    low = max(0, position - _SENTENCE)
    return low + max(text[low:position].rfind(mark) + 1 for mark in (". ", "\n", "! ", "? "))


def _negative(result: StepText) -> Iterator[tuple[StepText, str]]:
    """Yields the result and its number if the result is a single negative number."""
    number = plain_number(result.passage.text.strip()) if len(result.passage.text) < 40 else None
    if number is not None and number.startswith("-"):
        yield result, number


def _wrong_signs(step: Step, answer: StepText, computed: Sequence[tuple[StepText, str]]) -> Iterator[Finding]:
    text = answer.passage.text
    for result, number in computed:
        for start, end in sentences(text):
            sentence = text[start:end]
            if not _EXTRA.search(sentence) or _BACK.search(sentence):
                continue
            for plain, first, last in numbers_in(sentence):
                if plain == number[1:]:
                    reason = f"the tool computed {number}, and the answer speaks of {plain} to be paid"
                    quotes = (result.beginning(), answer.quote(start + first, start + last))
                    values = (recorded(number, quotes[0]), said(plain, quotes[1]))
                    yield Finding(step.number, rules.SIGN_MISREAD, reason, quotes, values)


# --- counts ---------------------------------------------------------------------------------------------------------


def _lists_in(result: StepText) -> dict[str, tuple[int, StepText]]:
    """Returns the length of each list in the JSON object of a result, by its key, with the result."""
    text = result.passage.text
    if text.lstrip()[:1] != "{" or len(text) > _MAX_OBJECT_LENGTH:
        return {}
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    items = islice(cast(dict[str, Any], value).items(), _MAX_RECORDS) if isinstance(value, dict) else ()
    return {key: (len(cast(list[Any], item)), result) for key, item in items if isinstance(item, list)}


def _wrong_counts(step: Step, answer: StepText, lists: Mapping[str, tuple[int, StepText]]) -> Iterator[Finding]:
    """Yields stated counts that differ from the length of the last returned list of that name.

    Only counts at the end of a clause are compared: words that follow may be a condition.
    """
    for match in islice(_COUNTED.finditer(answer.passage.text), _MAX_LABELS):
        number = int(match["number"]) if match["number"].isdigit() else _NUMBERS[match["number"].lower()]
        named = [
            (key, *entry) for key, entry in lists.items() if name_words(key)[-1:] and _is_named(match["what"], key)
        ]
        if len(named) == 1 and named[0][1] != number:
            key, length, result = named[0]
            reason = f"the answer says {match[0].strip()!r}, the list that was returned has {length}"
            quotes = (answer.quote(match.start(), match.end()), _list_quote(result, key))
            stated = said(str(number), answer.quote(*match.span("number")), path=key)
            values = (stated, recorded(str(length), quotes[1], path=key))
            yield Finding(step.number, rules.COUNT_CONTRADICTED, reason, quotes, values)


def _list_quote(result: StepText, key: str) -> Quoted:
    """Quotes the beginning of the list under a key, with the key."""
    start = result.passage.text.find(f'"{key}"')
    return result.beginning() if start < 0 else result.quote(start, len(result.passage.text))


def _is_named(noun: str, key: str) -> bool:
    return is_same_word(noun.lower(), name_words(key)[-1])


# --- ages -------------------------------------------------------------------------------------------------------------


def _current_time(steps: RunSteps) -> datetime | None:
    """Returns the current time that a system message states, or None."""
    for text in steps.system:
        if (match := _NOW.search(text.passage.text)) is not None:
            return _instant(_INSTANT.match(text.passage.text, match.end()))
    return None


def _instant(match: re.Match[str] | None) -> datetime | None:
    try:
        return None if match is None else datetime(*(int(part or 0) for part in match.groups()), tzinfo=UTC)
    except ValueError:
        return None


def _instants(result: StepText) -> Iterator[tuple[datetime, Quoted]]:
    """Yields the times in a result under a key like `created_at`, with their quotes."""
    text = result.passage.text
    for match in _INSTANT.finditer(text):
        key = text[max(0, match.start() - 40) : match.start()].rpartition(",")[2]
        instant = _instant(match)
        if instant is not None and _BEGAN.search(key):
            yield instant, result.quote(match.start(), match.end())


def _wrong_ages(
    step: Step, answer: StepText, instants: Sequence[tuple[datetime, Quoted]], now: datetime
) -> Iterator[Finding]:
    """Yields claims that something is recent (`within the last 24 hours`) if the last returned time is longer ago."""
    text = answer.passage.text
    for start, end in sentences(text):
        sentence = text[start:end]
        match = _WITHIN.search(sentence)
        if match is None or not _CLAIMED.search(sentence) or _NOT_CLAIMED.search(sentence[: match.start()]):
            continue
        limit = int(match[1]) * _UNITS[match[2].lower()]
        if instants and now - instants[-1][0] > limit:
            instant, cited = instants[-1]
            reason = (
                f"{match[0]!r} is said of what was recorded at {instant:%Y-%m-%d %H:%M}; it was {now:%Y-%m-%d %H:%M}"
            )
            first, last = (start + place for place in match.span())
            values = (recorded(cited["text"], cited), said(match[0], answer.quote(first, last)))
            yield Finding(step.number, rules.AGE_CONTRADICTED, reason, (cited, answer.quote(start, end)), values)


# --- fields of records ------------------------------------------------------------------------------------------------


class _KnownRecords:
    """For each identifier in results, the latest record that it identifies."""

    def __init__(self) -> None:
        self._by_identifier: dict[str, tuple[JsonRecord, StepText] | None] = {}
        self._values: dict[tuple[str, ...], set[str]] = {}

    def add(self, result: StepText) -> None:
        """Adds the records of a result, at most 400. An identifier of several of them identifies none."""
        text = result.passage.text
        records = json_records(text)
        found: dict[str, tuple[JsonRecord, StepText] | None] = {}
        for match in islice(_OBJECT.finditer(text), _MAX_RECORDS):
            record = records.at(match.start())
            if record is None or record.start != match.start():
                continue
            for key, value in islice(record.members.items(), _MAX_LABELS):
                self._values.setdefault(tuple(name_words(key)), set()).add(value.strip().lower())
            for name in _identifiers(record):
                found[name] = None if name in found else (record, result)
        self._by_identifier |= found

    def forget(self) -> None:
        """Forgets all records: a call has changed something."""
        self._by_identifier.clear()

    def contradicted(self, step: Step, answer: StepText, asked: Set[str]) -> Iterator[Finding]:
        """Yields lines `Label: value` that differ from the record of the identifier above them.

        None if fields stand above the identifiers, if the line of the identifier has two of them, or if the value has
        only words of users (`asked`): it may be what they want it to be.
        """
        text = answer.passage.text
        labels = list(islice(_LABEL.finditer(text), _MAX_LABELS))
        named = list(self._named(text)) if labels else []
        if not named or self._is_above(labels[0], named[0]):
            return
        lines = Counter(line for line, _, _ in named)
        of_unknown = -1
        for label in labels:
            if name_words(label[1].strip().replace(" ", "_"))[-1:] in _IDENTIFYING:
                of_unknown = label.start()
                continue
            above = bisect_left(named, label.end(), key=lambda entry: entry[1])
            if above == 0 or named[above - 1][1] < of_unknown or lines[named[above - 1][0]] > 1:
                continue
            if {word for word, _, _ in words_in(label[2])} <= asked:
                continue
            known = self._by_identifier[named[above - 1][2]]
            others = self._values.get(tuple(word for word, _, _ in words_in(label[1])), set())
            if known is not None and (member := _other_value(known[0], label[1], label[2], others)) is not None:
                yield _contradiction(step, answer, label, known, member)

    def _named(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yields start of the line, position and name of each identifier in a text."""
        for match in _TOKEN.finditer(text):
            if match[0] in self._by_identifier:
                yield text.rfind("\n", max(0, match.start() - _LONGEST_LINE), match.start()), match.start(), match[0]

    def _is_above(self, label: re.Match[str], first: tuple[int, int, str]) -> bool:
        """Whether a field of the first record stands above its identifier."""
        known = self._by_identifier[first[2]]
        words = [word for word, _, _ in words_in(label[1])]
        above = label.end() < first[1] and known is not None
        return above and known is not None and any(name_words(key) == words for key in known[0].members)


def _identifiers(record: JsonRecord) -> Iterator[str]:
    """Yields what identifies a record: values under keys like `order_id`, and its own key among records."""
    for key, value in record.members.items():
        if is_identifier(value) and name_words(key)[-1:] in _IDENTIFYING:
            yield value.lstrip("#")
    if not record.in_list and is_identifier(record.key):
        yield record.key.lstrip("#")


def _contradiction(
    step: Step, answer: StepText, label: re.Match[str], known: tuple[JsonRecord, StepText], member: tuple[str, str]
) -> Finding:
    (record, result), (key, value) = known, member
    start = result.passage.text.find(value, record.start)
    quotes = (result.quote(start, start + len(value)),) if start >= 0 else ()
    reason = f"the answer has {label[1].strip()} {label[2].strip()[:60]!r}, the result has {key} {value[:60]!r}"
    stated = answer.quote(label.start(2), label.end(2))
    values = (recorded(value, *quotes, path=key), said(label[2].strip(), stated, path=label[1].strip()))
    return Finding(step.number, rules.FIELD_CONTRADICTED, reason, (*quotes, stated), values)


def _other_value(record: JsonRecord, label: str, written: str, others: Set[str]) -> tuple[str, str] | None:
    """Returns key and value of the record's member with this label if it differs from what is written, else None.
    `others`: what other records have under this label, in small letters."""
    words = [word for word, _, _ in words_in(label)]
    keys = [key for key in record.members if name_words(key) == words]
    if len(keys) != 1:
        return None
    recorded = record.members[keys[0]]
    stated = written.strip(" *_`.,;")
    if (date := read_date(recorded)) is not None:
        differs = _is_other_date((date.month, date.day), stated)
    elif (number := plain_number(recorded)) is not None:
        differs = _is_other_number(Decimal(number), stated)
    else:
        differs = _is_other_word(recorded.strip().lower(), stated.lower(), others)
    return (keys[0], recorded) if differs else None


def _is_other_date(recorded: tuple[int | None, int], stated: str) -> bool:
    """Whether all dates of a text are other days, also with day and month the other way round (`02/05`)."""
    dates = [(item.month, item.day) for item in dates_in(stated)]
    same = (recorded, recorded[::-1])
    return bool(dates) and all(date[0] is not None and date not in same for date in dates)


def _is_other_number(recorded: Decimal, stated: str) -> bool:
    """Whether a text is another number, with no more than a currency sign: words may say of what it is a part, and in
    which unit it is."""
    match = _ONLY_NUMBER.fullmatch(stated)
    if match is None or _MAYBE_GROUPED.fullmatch(match["number"]) or not _GROUPED.fullmatch(match["number"]):
        return False
    return Decimal(match["number"].replace(",", "")) != recorded


def _is_other_word(recorded: str, stated: str, others: Set[str]) -> bool:
    """Whether a text is what another record has, or a word that excludes the recorded one. Any other text may say the
    same in other words, or in another language."""
    mine, theirs = ({word for word, _, _ in words_in(text)} for text in (stated, recorded))
    if not mine or not theirs or mine & theirs or ":" in recorded or ":" in stated:
        return False
    one, other = (_SPELLINGS.get(text, text) for text in (recorded, stated))
    return stated in others or any(one in group and other in group for group in _EXCLUSIVE)
