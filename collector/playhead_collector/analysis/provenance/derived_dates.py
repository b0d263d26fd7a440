"""[analysis]: dates that follow from other dates, weekdays and words such as "tomorrow". Pure."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playhead_collector.analysis.provenance import rules
from playhead_collector.analysis.provenance.derived_values import Derivation, hits_from
from playhead_collector.analysis.texts.passages import SYSTEM, USER, ContextIndex, Hit, Passage
from playhead_collector.analysis.texts.words import DateMention
from playhead_collector.analysis.transcript.arguments import TracedCall

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SAID = {0: ("today", "tonight"), 1: ("tomorrow",), -1: ("yesterday",)}
_BY_A_DAY = (("by", "one", "day"), ("by", "a", "day"))
_SHIFTS = {
    1: (("next", "day"), ("following", "day"), ("day", "after"), ("day", "later"), *_BY_A_DAY),
    -1: (("day", "before"), ("previous", "day"), ("day", "earlier"), *_BY_A_DAY),
}


@dataclass(frozen=True, slots=True)
class Today:
    """The current date according to the context."""

    date: datetime.date
    hit: Hit


def today_in(index: ContextIndex, traced: TracedCall) -> Today | None:
    """Returns the first full date in a system message, or None."""
    dates = [
        (hit, date)
        for hit, mention in index.all_dates(traced.visible)
        if hit.passage.source == SYSTEM and (date := date_of(mention, mention.year))
    ]
    first = min(dates, key=lambda pair: (traced.visible[pair[0].passage.content], pair[0].start), default=None)
    return first and Today(first[1], first[0])


def derive_date(
    index: ContextIndex, traced: TracedCall, value: DateMention, sources: Sequence[str]
) -> Derivation | None:
    """Derives a date from these sources: written in another form or without its year or month, else relative to today,
    between two dates, or next to a date. None if no rule matches.
    """
    if value.month is None:
        return None
    today = today_in(index, traced)
    written = [entry for entry in index.dates(value.day, traced.visible) if entry[0].passage.source in sources]
    best = best_written(written, value, today)
    rules = (_relative, _between, _shifted)
    return best or next(
        (derivation for rule in rules if (derivation := rule(index, traced, value, today, sources))), None
    )


def best_written(
    written: Iterable[tuple[Hit, DateMention]], value: DateMention, today: Today | None
) -> Derivation | None:
    """Derives a date from the mention that fits best: with the same year, else without a year. None if none fits."""
    fitting = (_written(hit, mention, value, today) for hit, mention in written)
    return max((entry for entry in fitting if entry), key=_preference, default=None)


def _written(hit: Hit, mention: DateMention, value: DateMention, today: Today | None) -> Derivation | None:
    if mention.month not in (value.month, None):
        return None
    if mention.month is None:
        same = today is not None and (today.date.year, today.date.month) == (value.year, value.month)
        note = "a day of the current month"
        return Derivation("date_format", note, (hit, today.hit), rules.DATE_THIS_MONTH) if same and today else None
    if mention.year is not None or value.year is None:
        same_year = mention.year == value.year or value.year is None
        return (
            Derivation("date_format", "the same date in another form", (hit,), rules.DATE_OTHER_FORM)
            if same_year
            else None
        )
    if today is None:
        return Derivation("date_format", "its year was not said", (hit,), rules.DATE_NO_YEAR)
    if today.date.year == value.year:
        return Derivation("date_format", "with the year of the current date", (hit, today.hit), rules.DATE_THIS_YEAR)
    later = today.date.year + 1 == value.year
    return Derivation("date_format", "with the next year", (hit, today.hit), rules.DATE_NEXT_YEAR) if later else None


def _relative(
    index: ContextIndex, traced: TracedCall, value: DateMention, today: Today | None, sources: Sequence[str]
) -> Derivation | None:
    date = date_of(value, value.year or (today.date.year if today else None))
    if date is None or today is None:
        return None
    away = (date - today.date).days
    words = [*_SAID.get(away, ()), *([_DAYS[date.weekday()]] if 0 <= away <= 13 else [])]
    hits = [hit for word in words for hit in index.find([word], traced.visible) if hit.passage.source in sources]
    if not hits:
        return None
    return Derivation(
        "date_format", f"{away:+d} days from the current date", (hits[-1], today.hit), rules.DATE_RELATIVE
    )


def _between(
    index: ContextIndex, traced: TracedCall, value: DateMention, today: Today | None, sources: Sequence[str]
) -> Derivation | None:
    """Derives a day between two dates, at most 31 days apart, that a user names in one message."""
    year = value.year or (today.date.year if today else None)
    date = date_of(value, year)
    if date is None:
        return None
    by_passage: dict[Passage, list[tuple[datetime.date, Hit]]] = {}
    for hit, mention in index.all_dates(traced.visible):
        other = date_of(mention, mention.year or year) if hit.passage.source in sources else None
        if other is not None:
            by_passage.setdefault(hit.passage, []).append((other, hit))
    for passage, dates in reversed(by_passage.items()):
        (low, low_hit), (high, high_hit) = min(dates, key=_first), max(dates, key=_first)
        if passage.source == USER and low < date < high and (high - low).days <= 31:
            return Derivation(
                "date_range", "a day between two that were named", (low_hit, high_hit), rules.DATE_BETWEEN
            )
    return None


def _shifted(
    index: ContextIndex, traced: TracedCall, value: DateMention, today: Today | None, sources: Sequence[str]
) -> Derivation | None:
    """The day after or before a date, if a user mentions such a day (`the next day`)."""
    year = value.year or (today.date.year if today else None)
    date = date_of(value, year)
    for away, phrases in _SHIFTS.items() if date else ():
        spoken = [hit for words in phrases for hit in hits_from(index.find(words, traced.visible), USER)]
        dates = [
            hit
            for hit, mention in index.all_dates(traced.visible)
            if date and hit.passage.source in sources
            and date_of(mention, mention.year or year) == date - datetime.timedelta(days=away)
        ]  # fmt: skip
        if spoken and dates:
            nearest = max(dates, key=lambda hit: traced.relatedness(hit, ""))
            return Derivation("date_shift", f"{away:+d} day", (spoken[-1], nearest), rules.DATE_SHIFTED)
    return None


def _preference(derivation: Derivation) -> tuple[int, bool]:
    return derivation.rule.level, derivation.rule is rules.DATE_OTHER_FORM


def _first(pair: tuple[datetime.date, Hit]) -> datetime.date:
    return pair[0]


def date_of(mention: DateMention, year: int | None) -> datetime.date | None:
    """The date of a mention in this year; None without a year or month, or if there is no such day."""
    if year is None or mention.month is None:
        return None
    try:
        return datetime.date(year, mention.month, mention.day)
    except ValueError:
        return None
