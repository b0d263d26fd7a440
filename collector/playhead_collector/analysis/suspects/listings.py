"""[analysis]: answers that leave out the cheapest entry of a listing, or offer an unavailable entry.  Pure."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, cast

from playhead.wire.operations.reasoning import Quoted
from playhead.wire.operations.suspects import ComparedValue
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.findings import Finding, RunSteps, Step, StepText, recorded, said
from playhead_collector.analysis.suspects.wording import sentences
from playhead_collector.analysis.texts.passages import RESULT
from playhead_collector.analysis.texts.words import name_words, numbers_in, plain_number
from playhead_collector.analysis.transcript.arguments import is_identifier, scalars

_CHEAPEST = re.compile(
    r"\b(?:cheapest|lowest[ -](?:price|cost|fare)\w*|least expensive|most affordable)\b", re.IGNORECASE
)
_AVAILABLE = frozenset(("available", "availability", "seats", "stock", "remaining", "left", "quantity", "inventory"))
_PRICED = frozenset(("price", "prices", "cost", "costs", "fare", "fares", "amount", "rate", "rates", "fee", "total"))
_MAX_ENTRIES, _MAX_NUMBERS, _MAX_LENGTH = 400, 64, 256 * 1024
_MAX_SPANS, _NEAR = 8, 240
_MAX_COMPARED = 20
_NEXT_ITEM = re.compile(r"[\s,]{0,64}+")
_NUMBER_AFTER_KEY = re.compile(r"\s{0,16}:\s{0,16}(-?\d{1,30}(?:\.\d{1,30})?)(?![\d.eE])")
_OFFERS = re.compile(r"[$€£]\s?\d|\b(?:offer|available|option|book|proceed|choose)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """One entry of a listing. `names`: its identifiers; `parts`: numbers by path, for each of its parts."""

    names: frozenset[str]
    parts: Sequence[Mapping[str, Decimal]]
    start: int = 0
    end: int = 0
    """Where it stands in the text of the listing."""

    def total(self, path: str) -> Decimal | None:
        """Sum of the numbers at this path over all parts; None if a part has none."""
        values = [part[path] for part in self.parts if path in part]
        return sum(values, Decimal(0)) if values and len(values) == len(self.parts) else None

    def gone(self) -> Iterator[tuple[str, Decimal, str]]:
        """Yields prices whose count is 0: path of the price, the price, and path of the count."""
        for part in self.parts:
            for other in (path for path, number in part.items() if number == 0):
                yield from ((path, price, other) for path, price in part.items() if _counts_of(path, other))


def find_in_listings(steps: RunSteps) -> Iterator[Finding]:
    """Yields answers that wrongly call something the cheapest, and offers of unavailable entries."""
    for of_agent in steps.agents:
        yield from _in_listings(of_agent)


def _in_listings(of_agent: Sequence[Step]) -> Iterator[Finding]:
    listings: list[tuple[StepText, list[ListedEntry]]] = []
    for step in of_agent:
        for result in step.of(RESULT):
            if len(entries := entries_of(result.passage.text)) > 0:
                listings.append((result, entries))
                del listings[:-3]
        for answer in step.answers:
            if not step.calls:
                yield from _not_the_least(step, answer, listings)
                yield from _unavailable(step, answer, listings)


def entries_of(text: str) -> list[ListedEntry]:
    """The entries of a JSON list of objects, or of lists of objects; [] for any other text."""
    if text.lstrip()[:1] != "[" or len(text) > _MAX_LENGTH:
        return []
    entries: list[ListedEntry] = []
    for start, end, item in islice(_items(text), _MAX_ENTRIES):
        parts = cast(list[Any], item) if isinstance(item, list) else [item]
        if not parts or not all(isinstance(part, dict) for part in parts):
            return []
        texts = (
            content for part in parts for _, content in islice(scalars(part), _MAX_NUMBERS) if isinstance(content, str)
        )
        names = frozenset(content for content in texts if is_identifier(content) and ":" not in content)
        entries.append(ListedEntry(names, [_numbers(part) for part in parts], start, end))
    return entries


def _items(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yields start, end and value of each item of a JSON list; nothing if the text is no whole list."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    decoder = json.JSONDecoder()
    position = _NEXT_ITEM.match(text, text.index("[") + 1).end()  # pyright: ignore[reportOptionalMemberAccess]
    while text[position] != "]":
        item: Any
        item, end = decoder.raw_decode(text, position)
        yield position, end, item
        position = _NEXT_ITEM.match(text, end).end()  # pyright: ignore[reportOptionalMemberAccess]


def _number_quotes(result: StepText, entry: ListedEntry, path: str) -> Iterator[Quoted]:
    """Quotes the number at this path of each part of an entry, where it stands in the listing."""
    text, position = result.passage.text, entry.start
    key = f'"{path.rpartition(".")[2]}"'
    for part in entry.parts:
        found = _value_at(text, key, part.get(path), position, entry.end)
        if found is not None:
            position = found[1]
            yield result.quote(*found)


def _value_at(text: str, key: str, number: Decimal | None, start: int, end: int) -> tuple[int, int] | None:
    """Range of a number that follows this key, or None."""
    while (place := text.find(key, start, end)) >= 0:
        start = place + len(key)
        value = _NUMBER_AFTER_KEY.match(text, start, end)
        if value is not None and number is not None and Decimal(value[1]) == number:
            return value.span(1)
    return None


def _numbers(part: Any) -> dict[str, Decimal]:
    numbers: dict[str, Decimal] = {}
    for path, value in scalars(part):
        if len(numbers) == _MAX_NUMBERS:
            break
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and (plain := plain_number(value)) is not None
        ):
            numbers[path] = Decimal(plain)
    return numbers


def _not_the_least(
    step: Step, answer: StepText, listings: Sequence[tuple[StepText, list[ListedEntry]]]
) -> Iterator[Finding]:
    text = answer.passage.text
    claim = next((span for span in sentences(text) if _CHEAPEST.search(text[slice(*span)])), None)
    if claim is None:
        return
    stated = {Decimal(plain) for plain, _, _ in numbers_in(text)}
    for result, entries in reversed(listings):
        path = _priced_path(entries, stated)
        if path is None:
            continue
        there = [entry for entry in entries if all(price != path for price, _, _ in entry.gone())]
        totals = [(total, entry) for entry in there if (total := entry.total(path)) is not None]
        named = [total for total, _ in totals if total in stated]
        least, cheapest = min(totals, key=lambda pair: pair[0], default=(Decimal(0), None))
        if cheapest is not None and named and least not in stated and min(named) > least:
            reason = f"an entry of the listing costs {least} ({path}); the answer has {min(named)} as the least"
            quotes = (answer.quote(*claim), *_number_quotes(result, cheapest, path))
            values = tuple(_compared(answer, result, totals, path, stated))
            yield Finding(step.number, rules.NOT_THE_LEAST, reason, quotes, values)
        return


def _compared(
    answer: StepText,
    result: StepText,
    totals: Sequence[tuple[Decimal, ListedEntry]],
    path: str,
    stated: set[Decimal],
) -> Iterator[ComparedValue]:
    """Yields the entries of a listing with their numbers, the least first: at most 20, and those that are said."""
    ordered = sorted(totals, key=lambda pair: pair[0])
    shown = [pair for place, pair in enumerate(ordered) if place < _MAX_COMPARED or pair[0] in stated]
    places = {Decimal(plain): (start, end) for plain, start, end in reversed(list(numbers_in(answer.passage.text)))}
    for total, entry in shown[:_MAX_COMPARED]:
        quotes = list(_number_quotes(result, entry, path))
        if total in stated:
            quotes.append(answer.quote(*places[total]))
        least = total == ordered[0][0]
        yield {
            "entry": _label(result.passage.text, entry),
            "path": path,
            "value": str(total),
            "mark": "least" if least else "said" if total in stated else "other",
            "quotes": quotes,
        }


def _label(text: str, entry: ListedEntry) -> str | None:
    """The identifiers of an entry, in the order in which they stand in the listing; None if it has none."""
    places = {name: text.find(name, entry.start, entry.end) for name in entry.names}
    return ", ".join(sorted(places, key=lambda name: (places[name], name))) or None


def _priced_path(entries: Sequence[ListedEntry], stated: set[Decimal]) -> str | None:
    """Path of the price that the answer mentions: the one with most totals among its numbers; None if there is none."""
    matches: defaultdict[str, int] = defaultdict(int)
    for entry in entries:
        for path in entry.parts[0]:
            if _PRICED & set(_path_words(path)) and entry.total(path) in stated:
                matches[path] += 1
    return max(matches, key=lambda path: matches[path]) if matches and len(entries) > 1 else None


def _unavailable(
    step: Step, answer: StepText, listings: Sequence[tuple[StepText, list[ListedEntry]]]
) -> Iterator[Finding]:
    """Yields an offer of an entry that has the count 0 in the listing."""
    text = answer.passage.text
    if not _OFFERS.search(text):
        return
    prices: defaultdict[Decimal, list[tuple[int, int]]] = defaultdict(list)
    for plain, start, end in numbers_in(text):
        prices[Decimal(plain)].append((start, end))
    for result, entries in reversed(listings):
        for entry in entries:
            for path, price, count in entry.gone():
                if (span := _offered_at(text, entry, prices.get(price, ()))) is not None:
                    reason = f"the answer offers what costs {price} ({path}), of which {count} is 0"
                    offered, left = answer.quote(*span), list(_number_quotes(result, entry, count))
                    label = _label(result.passage.text, entry)
                    prices_there = list(_number_quotes(result, entry, path))
                    values: tuple[ComparedValue, ...] = (
                        {**said(str(price), *prices_there, offered, path=path), "entry": label},
                        {**recorded("0", *left, path=count), "entry": label},
                    )
                    yield Finding(step.number, rules.UNAVAILABLE, reason, (offered, *left), values)
                    return


def _offered_at(text: str, entry: ListedEntry, spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Range of the first of these prices that follows shortly after a name of the entry, or None."""
    for start, end in spans[:_MAX_SPANS]:
        before = text[max(0, start - _NEAR) : start]
        if any(name in before for name in entry.names):
            return start, end
    return None


def _counts_of(price: str, other: str) -> bool:
    """Whether `other` is the path of the count for a price: `seats.economy` for `prices.economy`."""
    same = price.rpartition(".")[2] == other.rpartition(".")[2] and "." in price
    return same and bool(_PRICED & set(_path_words(price))) and bool(_AVAILABLE & set(_path_words(other)))


def _path_words(path: str) -> list[str]:
    return [word for step in path.split(".") for word in name_words(step)]
