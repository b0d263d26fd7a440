"""[analysis]: dates that follow from other dates, weekdays and words such as "tomorrow". Pure."""

import datetime
from collections.abc import Sequence
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
    """The first full date that a system message has."""
    dates = [
        (hit, date)
        for hit, mention in index.all_dates(traced.visible)
        if hit.passage.source == SYSTEM and (date := _date(mention, mention.year))
    ]
    first = min(dates, key=lambda each: (traced.visible[each[0].passage.content], each[0].start), default=None)
    return first and Today(first[1], first[0])


def derive_date(
    index: ContextIndex, traced: TracedCall, value: DateMention, sources: Sequence[str]
) -> Derivation | None:
    """A date that these sources wrote in another form, without its year, or in words."""
    if value.month is None:
        return None
    today = today_in(index, traced)
    written = [each for each in index.dates(value.day, traced.visible) if each[0].passage.source in sources]
    fitting = [_written(hit, mention, value, today) for hit, mention in written]
    best = max((each for each in fitting if each), key=_preference, default=None)
    rules = (_relative, _between, _shifted)
    return best or next((found for rule in rules if (found := rule(index, traced, value, today, sources))), None)


def _written(hit: Hit, mention: DateMention, value: DateMention, today: Today | None) -> Derivation | None:
    if mention.month not in (value.month, None):
        return None
    if mention.month is None:
        same = today is not None and (today.date.year, today.date.month) == (value.year, value.month)
        note = "a day of the current month"
        return Derivation("date_format", note, (hit, today.hit), rules.DATE_THIS_MONTH) if same and today else None
    if mention.year is not None or value.year is None:
        known = mention.year == value.year or value.year is None
        return (
            Derivation("date_format", "the same date in another form", (hit,), rules.DATE_OTHER_FORM) if known else None
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
    date = _date(value, value.year or (today.date.year if today else None))
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
    """A day between two dates that a user names in one message."""
    year = value.year or (today.date.year if today else None)
    date = _date(value, year)
    if date is None:
        return None
    by_passage: dict[Passage, list[tuple[datetime.date, Hit]]] = {}
    for hit, mention in index.all_dates(traced.visible):
        other = _date(mention, mention.year or year) if hit.passage.source in sources else None
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
    """The day after or before a date, where a user speaks of such a day."""
    year = value.year or (today.date.year if today else None)
    date = _date(value, year)
    for away, phrases in _SHIFTS.items() if date else ():
        spoken = [hit for words in phrases for hit in hits_from(index.find(words, traced.visible), USER)]
        dates = [
            hit
            for hit, mention in index.all_dates(traced.visible)
            if date and hit.passage.source in sources
            and _date(mention, mention.year or year) == date - datetime.timedelta(days=away)
        ]  # fmt: skip
        if spoken and dates:
            nearest = max(dates, key=lambda hit: traced.relatedness(hit, ""))
            return Derivation("date_shift", f"{away:+d} day", (spoken[-1], nearest), rules.DATE_SHIFTED)
    return None


def _preference(found: Derivation) -> tuple[int, bool]:
    return found.rule.level, found.rule is rules.DATE_OTHER_FORM


def _first(pair: tuple[datetime.date, Hit]) -> datetime.date:
    return pair[0]


def _date(mention: DateMention, year: int | None) -> datetime.date | None:
    if year is None or mention.month is None:
        return None
    try:
        return datetime.date(year, mention.month, mention.day)
    except ValueError:
        return None
