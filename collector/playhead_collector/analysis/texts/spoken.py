"""[analysis]: an index of what texts say in the forms of people: quantities, shares, times of day, dates. Pure.

Values that stand in a context as they are need none of it, and the libraries behind it take a part of a second to load:
`passages.ContextIndex` builds it when it is asked for.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice

from playhead_collector.analysis.texts.spoken_dates import RelativeDate, months_in, relative_dates_in, spoken_dates_in
from playhead_collector.analysis.texts.spoken_numbers import OF_CLOCKS, NumberMention, numbers_said_in
from playhead_collector.analysis.texts.spoken_times import Clock, times_in
from playhead_collector.analysis.texts.units import COUNT, SHARE, Conversion, converted, units_of
from playhead_collector.analysis.texts.words import DateMention

# Of a longer text, only the beginning is read in these forms.
_MAX_LENGTH = 64 * 1024
# Times, dates and shares that are read of one text; places that are kept of each number.
_MAX_OF_TEXT, _MAX_PLACES = 256, 32
_NOON, _LAST_HOUR = 12, 23
_AS_IT_IS = Conversion("", Decimal(1))
_IN_CENTS = Conversion("cents", Decimal(100))
_SIGNS_OF_MONEY = frozenset("$€£")
_MONEY = frozenset(("euro", "euros", "eur", "dollar", "dollars", "usd", "pound", "pounds", "gbp", "franken", "chf"))


@dataclass(frozen=True, slots=True)
class SaidNumber:
    """A place where a number was said in another form.

    `text`: number of the text in the index. `unit`: what it was converted to, SHARE if a percentage or fraction was
    said; "": the same number in another form.
    """

    text: int
    start: int
    end: int
    unit: str


@dataclass(frozen=True, slots=True)
class SaidShare:
    """A place where a share was said: `15 %` is 0.15, `half` is 0.5."""

    text: int
    start: int
    end: int
    share: Decimal


@dataclass(slots=True)
class SpokenIndex:
    """What the texts say that were added: `numbers` by plain form, `times` and names of `months` with the numbers of
    their texts, `dates` by day of the month, `relative` dates and `shares` in the order of the texts.
    """

    numbers: defaultdict[str, list[SaidNumber]] = field(
        default_factory=lambda: defaultdict[str, list[SaidNumber]](list)
    )
    times: defaultdict[Clock, list[tuple[int, int, int]]] = field(
        default_factory=lambda: defaultdict[Clock, list[tuple[int, int, int]]](list)
    )
    dates: defaultdict[int, list[tuple[int, DateMention]]] = field(
        default_factory=lambda: defaultdict[int, list[tuple[int, DateMention]]](list)
    )
    months: defaultdict[int, list[tuple[int, int, int]]] = field(
        default_factory=lambda: defaultdict[int, list[tuple[int, int, int]]](list)
    )
    relative: list[tuple[int, RelativeDate]] = field(default_factory=list[tuple[int, RelativeDate]])
    shares: list[SaidShare] = field(default_factory=list[SaidShare])
    texts: int = 0
    """How many texts were added."""

    def add(self, text: str, *, with_words: bool) -> None:
        """Adds a text. `with_words`: also its numbers in words."""
        number, text = self.texts, text[:_MAX_LENGTH]
        self.texts += 1
        for mention in numbers_said_in(text, with_words=with_words):
            self._add_number(number, mention)
            if _is_money(text, mention):
                self._add_converted(number, mention, mention.number, _IN_CENTS)
        for said in islice(times_in(text), _MAX_OF_TEXT):
            for clock in said.times:
                self.times[clock].append((number, said.start, said.end))
        for date in islice(spoken_dates_in(text), _MAX_OF_TEXT):
            self.dates[date.day].append((number, date))
        for start, end, month in islice(months_in(text), _MAX_OF_TEXT):
            self.months[month].append((number, start, end))
        self.relative += [(number, words) for words in islice(relative_dates_in(text), _MAX_OF_TEXT)]

    def _add_number(self, text: int, mention: NumberMention) -> None:
        if mention.word.lower() in OF_CLOCKS and 0 <= mention.number <= _LAST_HOUR and not mention.number % 1:
            for hour in {int(mention.number), (int(mention.number) + 12) % 24 if mention.number < _NOON else 0} - {0}:
                self.times[hour, 0].append((text, mention.start, mention.end))
        units = units_of(mention.word)
        for unit in units:
            for conversion in unit.conversions:
                if unit.kind == SHARE:
                    self._add_share(text, mention, mention.number * conversion.factor)
                else:
                    self._add_converted(text, mention, mention.number, conversion)
            if unit.kind == COUNT:  # `2 million bytes`
                scaled = mention.number * unit.conversions[0].factor
                for conversion in (each for second in units_of(mention.second) for each in second.conversions):
                    self._add_converted(text, mention, scaled, conversion)
        if mention.is_part and not units:
            self._add_share(text, mention, mention.number)
        else:
            self._add_converted(text, mention, mention.number, _AS_IT_IS)

    def _add_share(self, text: int, mention: NumberMention, share: Decimal) -> None:
        if share > 0:
            self.shares.append(SaidShare(text, mention.start, mention.end, share))
            self._add_converted(text, mention, share, Conversion(SHARE, Decimal(1)))

    def _add_converted(self, text: int, mention: NumberMention, number: Decimal, conversion: Conversion) -> None:
        for plain in converted(number, conversion):
            places = self.numbers[plain]
            places.append(SaidNumber(text, mention.start, mention.end, conversion.unit))
            del places[_MAX_PLACES // 2 : -_MAX_PLACES // 2]


def _is_money(text: str, mention: NumberMention) -> bool:
    """Whether a number has a currency beside it."""
    around = (text[max(0, mention.start - 2) : mention.start] + text[mention.end : mention.end + 2]).strip()
    following = text[mention.end : mention.end + 10].split(maxsplit=1)[:1]
    return not _SIGNS_OF_MONEY.isdisjoint(around) or any(word.strip(".,;").lower() in _MONEY for word in following)
