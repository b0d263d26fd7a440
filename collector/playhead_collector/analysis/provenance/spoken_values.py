"""[analysis]: values that were said in another form: in words, in another unit, language or order, as a share. Pure.

These are the last rules before a value is called invented, so that they cost nothing where a value is known.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from playhead_collector.analysis.provenance import derived_dates, rules
from playhead_collector.analysis.provenance.computed_numbers import numbers_to_compute_with
from playhead_collector.analysis.provenance.derived_values import Derivation
from playhead_collector.analysis.texts.passages import ASSISTANT, RESULT, SYSTEM, USER, ContextIndex, Hit
from playhead_collector.analysis.texts.spoken_times import read_time
from playhead_collector.analysis.texts.units import SHARE, Conversion, converted, names_of, units_of
from playhead_collector.analysis.texts.words import DateMention, name_words, plain_number
from playhead_collector.analysis.transcript.arguments import TracedCall

_AS_IT_IS = Conversion("", Decimal(1))
_MONTHS_OF_YEAR = 12
# `90s`, `1.5 h`, `512Mi`
_QUANTITY = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,6})?)[ ]?(?P<unit>[^\W\d_]{1,12})")
# `PT1H30M` and `01:30:00`
_ISO_DURATION = re.compile(
    r"P(?:(?P<d>\d{1,5})D)?(?:T(?:(?P<h>\d{1,5})H)?(?:(?P<m>\d{1,5})M)?(?:(?P<s>\d{1,6}(?:\.\d{1,6})?)S)?)?",
    re.IGNORECASE,
)
_CLOCK_DURATION = re.compile(r"(?P<h>\d{1,3}):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d))?")
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_NAMES_OF_DURATIONS = frozenset(("duration", "length", "timeout", "interval", "elapsed", "ttl", "delay", "period"))
# How Kubernetes writes units of memory.
_SHORT_UNITS = {"Ki": "KiB", "Mi": "MiB", "Gi": "GiB", "Ti": "TiB"}
_PREFERENCE = {USER: 0, RESULT: 1, ASSISTANT: 2, SYSTEM: 3}


def derive_said_number(index: ContextIndex, traced: TracedCall, path: str, plain: str) -> Derivation | None:
    """Derives a number that was said in words, with a scale (`12k`) or in another unit, or as a share of a number."""
    said = index.said_numbers(plain, traced.visible)
    hit, number = min(said, key=lambda each: (each[1].unit != "", _rank(each[0])), default=(None, None))
    if hit is not None and number is not None:
        if not number.unit:
            return Derivation("number_words", "the same number in another form", (hit,), rules.NUMBER_OTHER_FORM)
        if number.unit == SHARE:
            return Derivation("computed", "the same share as a number", (hit,), rules.SHARE_AS_NUMBER)
        return Derivation("unit", f"the same quantity in {number.unit or 'another unit'}", (hit,), rules.UNIT_CONVERTED)
    return _of_a_share(index, traced, plain, numbers_to_compute_with(index, traced, path))


def derive_said_time(index: ContextIndex, traced: TracedCall, value: str) -> Derivation | None:
    """Derives a time of day that was said in another form: 15:30 of `3:30pm`."""
    clock = read_time(value)
    hits = index.said_times(clock, traced.visible) if clock is not None else []
    if not hits:
        return None
    return Derivation("time_format", "the same time in another form", (min(hits, key=_rank),), rules.TIME_OTHER_FORM)


def derive_said_quantity(index: ContextIndex, traced: TracedCall, path: str, value: str) -> Derivation | None:
    """Derives a quantity that is written with its unit, or a duration: `90s`, `PT1H30M` and `01:30:00`."""
    quantity = _read_quantity(path, value)
    if quantity is None:
        return None
    number, unit = quantity
    same = [(name, plain_number(number)) for name in names_of(unit)]
    others = [
        (conversion.unit, plain)
        for each in units_of(unit)
        for conversion in each.conversions
        for plain in converted(number, conversion)
    ]
    hits = [
        hit
        for name, plain in (*same, *others)
        if plain is not None and name
        for hit, said in index.said_numbers(plain, traced.visible)
        if said.unit == name
    ]
    if not hits:
        return None
    return Derivation("unit", "the same quantity in another form", (min(hits, key=_rank),), rules.UNIT_CONVERTED)


def derive_said_period(index: ContextIndex, traced: TracedCall, path: str, plain: str) -> Derivation | None:
    """Derives a year that was said relative to the current date, and the number of a month that was said by name."""
    names, number = {*name_words(path)} & {"year", "month"}, Decimal(plain)
    if not names:
        return None
    if "month" in names and 1 <= number <= _MONTHS_OF_YEAR and not number % 1:
        hits = index.said_months(int(number), traced.visible)
        if hits:
            return Derivation("date_format", "the number of that month", (min(hits, key=_rank),), rules.DATE_OTHER_FORM)
    today = derived_dates.today_in(index, traced)
    if today is None:
        return None
    for hit, words in index.said_relative_dates(traced.visible):
        if words.months is None:
            continue
        month = today.date.year * _MONTHS_OF_YEAR + today.date.month - 1 + words.months
        meant = month // _MONTHS_OF_YEAR if "year" in names else month % _MONTHS_OF_YEAR + 1
        if meant == number:
            return Derivation("date_format", "said relative to the current date", (hit, today.hit), rules.DATE_RELATIVE)
    return None


def _read_quantity(path: str, value: str) -> tuple[Decimal, str] | None:
    """The number and the unit of a text that is only a quantity; of a duration, its seconds."""
    text = value.strip()
    match = _QUANTITY.fullmatch(text)
    if match is not None:
        unit = _SHORT_UNITS.get(match["unit"], match["unit"])
        if unit == "m" and _NAMES_OF_DURATIONS.intersection(name_words(path)):
            unit = "min"
        return (Decimal(match["number"]), unit) if units_of(unit) else None
    match = _ISO_DURATION.fullmatch(text)
    if match is None and _NAMES_OF_DURATIONS.intersection(name_words(path)):
        match = _CLOCK_DURATION.fullmatch(text)
    parts = {} if match is None else {name: Decimal(part) for name, part in match.groupdict().items() if part}
    return (sum((part * _SECONDS[name] for name, part in parts.items()), Decimal(0)), "s") if parts else None


def derive_said_date(index: ContextIndex, traced: TracedCall, value: DateMention) -> Derivation | None:
    """Derives a date that was said in words, in another language or order, or relative to the current date."""
    today = derived_dates.today_in(index, traced)
    said = index.said_dates(value.day, traced.visible)
    derived = derived_dates.best_written(said, value, today)
    if derived is not None or today is None:
        return derived
    date = derived_dates.date_of(value, value.year or today.date.year)
    hits = [hit for hit, words in index.said_relative_dates(traced.visible) if date and words.means(date, today.date)]
    if not hits:
        return None
    note = "said relative to the current date"
    return Derivation("date_format", note, (min(hits, key=_rank), today.hit), rules.DATE_RELATIVE)


def _of_a_share(
    index: ContextIndex, traced: TracedCall, plain: str, numbers: Mapping[Decimal, Hit]
) -> Derivation | None:
    """Derives a number as a share of a number that is spoken of, or as the number with a share added or taken off."""
    target = Decimal(plain)
    for share_hit, said in index.said_shares(traced.visible):
        for number, hit in numbers.items():
            if hit.passage is share_hit.passage and share_hit.start <= hit.start < share_hit.end:
                continue  # the 15 of `15 %`
            for note, result in _with_share(number, said.share):
                if abs(result - target) < 1 and plain in converted(result, _AS_IT_IS):
                    together = hit.passage is share_hit.passage
                    rule = rules.SHARE_COMPUTED if together else rules.SHARE_FROM_TEXTS
                    return Derivation("computed", f"{note} = {plain}", (share_hit, hit), rule)
    return None


def _with_share(number: Decimal, share: Decimal) -> Iterator[tuple[str, Decimal]]:
    shown, percent = plain_number(number), plain_number(round(share * 100, 2))
    yield f"{percent} % of {shown}", number * share
    yield f"{shown} less {percent} %", number * (1 - share)
    yield f"{shown} and {percent} % more", number * (1 + share)


def _rank(hit: Hit) -> tuple[int, int]:
    """Users' words first; of these, the later place in a text."""
    return _PREFERENCE.get(hit.passage.source, len(_PREFERENCE)), -hit.start
