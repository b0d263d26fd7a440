"""[analysis]: dates in words, in other languages and in other orders, and words such as `übermorgen`. Pure.

`words.dates_in` has the usual English forms. Names of months and weekdays are those of the locales in CLDR, by `babel`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import islice

from playhead_collector.analysis.texts.words import DateMention, listed, words_in

# Languages that names are read in.
LOCALES = listed("en de fr es it pt nl sv da nb fi pl cs hu ro ru uk el tr id")
# Shorter names are words of other languages, too.
_MIN_NAME = 3
_ORDINALS = listed(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_DAY_BY_WORD = {word: day for day, word in enumerate(_ORDINALS, 1)} | {"thirtieth": 30}
_TENS = {"twenty": 20, "thirty": 30}
# Words that may stand between the day, the month and the year.
_BETWEEN = frozenset(listed("of the de do del d di den der th st nd rd er re a y"))
_FEW = {
    word: number
    for number, words in enumerate(
        (
            "a an one ein eine einem einer un une uno una um uma een",
            "two couple zwei deux dos due dois duas twee",
            "three drei trois tres tre três drie",
            "four vier quatre cuatro quattro quatro",
            "five fünf cinq cinco cinque vijf",
            "six sechs six seis sei zes",
            "seven sieben sept siete sette sete zeven",
            "eight acht huit ocho otto oito",
            "nine neun neuf nueve nove negen",
            "ten zehn dix diez dieci dez tien",
        ),
        1,
    )
    for word in words.split()
}
_PERIODS = {
    word: days
    for days, words in (
        (1, "day days tag tagen jour jours día días dia dias giorno giorni dag dagen"),
        (7, "week weeks woche wochen semaine semaines semana semanas settimana settimane weken"),
        (14, "fortnight fortnights"),
        (-1, "month months monat monaten mois mes meses mese mesi mês maand maanden"),
        (-12, "year years jahr jahren an ans année années año años anno anni ano anos jaar"),
    )
    for word in words.split()
}
"""Days of a period; below 0, its months."""
_NUMBER = r"(?:(?:a )?couple of|\w{1,8})"
_PERIOD = "|".join(sorted(_PERIODS, key=len, reverse=True))
_AWAY = re.compile(
    rf"\b(?P<before>(?:with)?in|after|dans|d'ici|dentro de|en|tra|fra|em|daqui a|over|vor|il y a|hace|há) "
    rf"(?P<number>{_NUMBER}) (?P<period>{_PERIOD})\b"
    rf"|\b(?P<number2>{_NUMBER}) (?P<period2>{_PERIOD}) "
    r"(?P<after>from (?:now|today)|later|ago|earlier|before|fa|geleden)\b",
    re.IGNORECASE,
)
_PAST = frozenset(("vor", "il y a", "hace", "há", "ago", "earlier", "before", "fa", "geleden"))
_DAYS_AWAY = {
    word: days
    for days, words in (
        (0, "today, tonight, this morning, this afternoon, this evening, "
            "heute, aujourd'hui, hoy, oggi, hoje, vandaag, сегодня, 今天, 今日, 오늘, dziś, dzisiaj, bugün, idag"),
        (1, "tomorrow, morgen, demain, mañana, domani, amanhã, завтра, 明天, 明日, 내일, yar\u0131n, jutro, "
            "imorgon, i morgen"),
        (2, "day after tomorrow, übermorgen, après-demain, pasado mañana, dopodomani, depois de amanhã, overmorgen, "
            "послезавтра, 后天, 明後日, 모레, pojutrze"),
        (-1, "yesterday, last night, gestern, hier, ayer, ieri, ontem, gisteren, вчера, 昨天, 昨日, 어제, dün, "
             "wczoraj, igår"),
        (-2, "day before yesterday, vorgestern, avant-hier, anteayer, antes de ayer, l'altro ieri, anteontem, "
             "eergisteren, позавчера, 前天, 一昨日"),
    )
    for word in words.split(", ")
}  # fmt: skip
_NAMED = re.compile(rf"(?<![^\W_])(?:{'|'.join(sorted(_DAYS_AWAY, key=len, reverse=True))})(?![a-zà-ÿ])", re.IGNORECASE)
_NEXT = re.compile(r"\b(?P<which>next|coming|last|previous|this) (?P<period>week|month|year)\b", re.IGNORECASE)
_NEXT_ELSEWHERE = re.compile(
    r"\b(?:(?P<which>nächste|kommende|letzte|vorige|vergangene)[nrsm]? (?P<period>woche|monat|jahr)"
    r"|(?P<period2>semaine|mois|an|année|semana|mes|año|settimana|mese|anno|mês|ano) "
    r"(?P<which2>prochaine?|dernière?|dernier|que viene|pasad[oa]|pr[oó]xim[oa]|prossim[oa]|scors[oa]|passad[oa])"
    r"|(?P<which3>pr[oó]xim[oa]|prossim[oa]) (?P<period3>semana|mes|año|settimana|mese|anno|mês|ano))\b",
    re.IGNORECASE,
)
_LAST_BEGINS = ("letzt", "vorig", "verg", "derni", "pasad", "scors", "passad")
# Feasts that are on one day each year: month and day.
_FEASTS = {
    "christmas eve": (12, 24), "christmas": (12, 25), "weihnachten": (12, 25), "heiligabend": (12, 24),
    "boxing day": (12, 26), "new year's eve": (12, 31), "new year's day": (1, 1), "new year": (1, 1),
    "silvester": (12, 31), "neujahr": (1, 1), "valentine's day": (2, 14), "halloween": (10, 31), "noël": (12, 25),
    "navidad": (12, 25), "natale": (12, 25), "natal": (12, 25),
}  # fmt: skip
_FEAST = re.compile(rf"\b(?:{'|'.join(_FEASTS)})\b", re.IGNORECASE)
_WEEKEND = re.compile(r"\b(?:weekend|week-end|wochenende|fin de semana|fine settimana)\b", re.IGNORECASE)
_EDGE = re.compile(
    r"\b(?P<edge>end|last day|beginning|start|first(?: day)?) of (?:the |this )?(?P<next>next )?"
    r"(?P<period>week|month|year)\b",
    re.IGNORECASE,
)
# `the end of June`, `Ende Juni`, `fin juin`: words before a month's name, and whether they mean its last day.
_EDGE_OF_MONTH = {
    **dict.fromkeys(listed("end last ende letzter fin finales fine fim eind"), True),
    **dict.fromkeys(
        listed("beginning start first anfang beginn erster debut comienzos principios inizio inicio begin"), False
    ),
}
_BEFORE_MONTH = frozenset(listed("of the day tag jour dia giorno de del do di d"))
_WEEKDAY_ELSEWHERE = re.compile(
    "(?:周|週|星期|礼拜)(?P<zh>[一二三四五六日天])|(?P<ja>[月火水木金土日])曜|(?P<ko>[월화수목금토일])요일"
)
_WEEKDAYS_ELSEWHERE = {
    sign: day for signs in ("一二三四五六日", "月火水木金土日", "월화수목금토일") for day, sign in enumerate(signs)
} | {"天": 6}
_FIGURES = re.compile(
    r"(?<![\w./-])(?:(?P<y1>\d{4})[./](?P<m1>\d{1,2})[./](?P<d1>\d{1,2})"
    r"|(?P<a>\d{1,2})(?P<mark>[./-]) ?(?P<b>\d{1,2})(?P=mark) ?(?P<y2>\d{4}|\d\d)"
    r"|(?P<y3>(?:19|20)\d\d)(?P<m3>0[1-9]|1[0-2])(?P<d3>0[1-9]|[12]\d|3[01])"
    r"|(?:(?P<y4>\d{4})[ ]?[年년][ ]?)?(?P<m4>\d{1,2})[ ]?[月월][ ]?(?P<d4>\d{1,2})[ ]?[日号일]"
    r"|(?P<d5>\d{1,2})\.(?P<m5>\d{1,2})\.(?!\d))(?![\w/-])",
)


@dataclass(frozen=True, slots=True)
class RelativeDate:
    """Words for a date that depends on the current one: so many days or months away, a weekday, or an edge of a
    period. The first field that is not None says which.
    """

    start: int
    end: int
    days: int | None = None
    months: int | None = None
    weekday: int | None = None
    edge: tuple[str, bool, int] | None = None
    """The period, whether its last day is meant, and how many periods later: 0 for this one."""

    def means(self, day: date, today: date) -> bool:
        """Whether the words, said today, may mean this day."""
        if self.days is not None:
            return (day - today).days == self.days
        if self.months is not None:
            return day == _months_later(today, self.months)
        if self.weekday is not None:
            return day.weekday() == self.weekday and -7 <= (day - today).days <= 13
        return self.edge is not None and day == _edge_of(*self.edge, today)


def spoken_dates_in(text: str) -> Iterator[DateMention]:
    """Yields each date in figures of another order, and each month's name with its day, in any of the languages."""
    for match in _FIGURES.finditer(text):
        yield from _in_figures(match)
    for match in _FEAST.finditer(text):
        month, day = _FEASTS[match[0].lower()]
        yield DateMention(match.start(), match.end(), None, month, day)
    words = list(words_in(text))
    months = _names().months
    for place, (word, _, _) in enumerate(words):
        if (month := months.get(word)) is not None:
            yield from _around_month(words, place, month)
            yield from _edge_of_month(words, place, month)


def months_in(text: str) -> Iterator[tuple[int, int, int]]:
    """Yields each name of a month: its start and end, and the month's number."""
    months = _names().months
    for word, start, end in words_in(text):
        if (month := months.get(word)) is not None:
            yield start, end, month


def relative_dates_in(text: str) -> Iterator[RelativeDate]:
    """Yields words for dates that depend on the current one."""
    for match in _AWAY.finditer(text):
        number = _count(match["number"] or match["number2"])
        period = _PERIODS[(match["period"] or match["period2"]).lower()]
        if number is not None:
            sign = -1 if (match["before"] or match["after"]).lower() in _PAST else 1
            yield _away(match, sign * number, period)
    for match in _NAMED.finditer(text):
        yield RelativeDate(match.start(), match.end(), days=_DAYS_AWAY[match[0].lower()])
    for match in _NEXT.finditer(text):
        sign = {"this": 0, "last": -1, "previous": -1}.get(match["which"].lower(), 1)
        yield from _period(match, sign, _PERIODS[match["period"].lower()])
    for match in _NEXT_ELSEWHERE.finditer(text):
        which = next(filter(None, (match["which"], match["which2"], match["which3"]))).lower()
        period = next(filter(None, (match["period"], match["period2"], match["period3"]))).lower()
        yield from _period(match, -1 if which.startswith(_LAST_BEGINS) else 1, _PERIODS[period])
    for match in _WEEKEND.finditer(text):
        yield from (RelativeDate(match.start(), match.end(), weekday=day) for day in (5, 6))
    for match in _EDGE.finditer(text):
        is_last = match["edge"].lower() in ("end", "last day")
        edge = (match["period"].lower(), is_last, int(match["next"] is not None))
        yield RelativeDate(match.start(), match.end(), edge=edge)
    yield from _weekdays_in(text)


def _weekdays_in(text: str) -> Iterator[RelativeDate]:
    for match in _WEEKDAY_ELSEWHERE.finditer(text):
        sign = match["zh"] or match["ja"] or match["ko"]
        yield RelativeDate(match.start(), match.end(), weekday=_WEEKDAYS_ELSEWHERE[sign])
    weekdays = _names().weekdays
    for word, start, end in words_in(text):
        if (weekday := weekdays.get(word)) is not None:
            yield RelativeDate(start, end, weekday=weekday)


# --- names -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Names:
    months: Mapping[str, int]
    weekdays: Mapping[str, int]


@cache
def _names() -> _Names:
    """Names of months (from 1) and of weekdays (from 0, Monday), as `fold` writes them. Loads the locales once."""
    from babel import dates  # noqa: PLC0415 - loads a locale's data for each language: only where it is needed

    months: dict[str, int] = {}
    weekdays: dict[str, int] = {}
    for locale in LOCALES:
        for context in ("format", "stand-alone"):
            _add(weekdays, dates.get_day_names("wide", context, locale))
            for width in ("wide", "abbreviated"):
                _add(months, dates.get_month_names(width, context, locale))
    return _Names(months, weekdays)


def _add(names: dict[str, int], of_locale: Mapping[int, str]) -> None:
    for number, name in of_locale.items():
        words = [word for word, _, _ in words_in(name) if not word.isdecimal()]
        if len(words) == 1 and len(words[0]) >= _MIN_NAME:
            names.setdefault(words[0], number)


# --- parts of dates --------------------------------------------------------------------------------------------------


def _in_figures(match: re.Match[str]) -> Iterator[DateMention]:
    if match["a"] is not None:
        centuries = (1900, 2000) if len(match["y2"]) == 2 else (0,)
        first, second = int(match["a"]), int(match["b"])
        for day, month in ((first, second), (second, first)):
            if 1 <= month <= 12 and 1 <= day <= 31:
                for century in centuries:
                    yield DateMention(match.start(), match.end(), century + int(match["y2"]), month, day)
        return
    number = next(number for number in "1345" if match[f"d{number}"])
    year = match[f"y{number}"] if number != "5" else None
    month, day = int(match[f"m{number}"]), int(match[f"d{number}"])
    if 1 <= month <= 12 and 1 <= day <= 31:
        yield DateMention(match.start(), match.end(), int(year) if year else None, month, day)


Words = Sequence[tuple[str, int, int]]


def _around_month(words: Words, place: int, month: int) -> Iterator[DateMention]:
    """Yields the dates of a month's name with a day before or after it."""
    _, start, end = words[place]
    before = list(_near(words, range(place - 1, max(-1, place - 4), -1)))
    after = list(_near(words, range(place + 1, min(len(words), place + 5))))
    for day, rest, is_before in ((_day_before(before), after, True), (_day_after(after), (), False)):
        if day is None:
            continue
        value, (first, last) = day
        years = rest if is_before else [word for word in after if word[1] >= last]
        year = next((word for word in years[:1] if len(word[0]) == 4 and word[0].isdecimal()), None)
        span = (min(start, first), max(end, last, year[2] if year else 0))
        yield DateMention(*span, int(year[0]) if year else None, month, value)


def _edge_of_month(words: Words, place: int, month: int) -> Iterator[DateMention]:
    """Yields the first or the last day of a month, where the words before its name say so."""
    before = [words[at] for at in range(place - 1, max(-1, place - 4), -1)]
    edge = next((word for word in before if word[0] not in _BEFORE_MONTH), None)
    if edge is None or (is_last := _EDGE_OF_MONTH.get(edge[0])) is None:
        return
    lengths = {28, 29} if month == 2 else {_length_of(2001, month)}
    for day in lengths if is_last else {1}:
        yield DateMention(edge[1], words[place][2], None, month, day)


def _near(words: Words, places: range) -> Iterator[tuple[str, int, int]]:
    """The words at these places that are not mere links between the parts of a date."""
    return islice((words[place] for place in places if words[place][0] not in _BETWEEN), 3)


def _day_before(before: Words) -> tuple[int, tuple[int, int]] | None:
    if not before:
        return None
    word, start, end = before[0]
    if word in _DAY_BY_WORD:
        tens = before[1] if len(before) > 1 and before[1][0] in _TENS and _DAY_BY_WORD[word] < 10 else None
        return _DAY_BY_WORD[word] + (_TENS[tens[0]] if tens else 0), (tens[1] if tens else start, end)
    return _figure(word, start, end)


def _day_after(after: Words) -> tuple[int, tuple[int, int]] | None:
    if not after:
        return None
    word, start, end = after[0]
    if word in _TENS and len(after) > 1 and _DAY_BY_WORD.get(after[1][0], 10) < 10:
        return _TENS[word] + _DAY_BY_WORD[after[1][0]], (start, after[1][2])
    if word in _DAY_BY_WORD:
        return _DAY_BY_WORD[word], (start, end)
    return _figure(word, start, end)


def _figure(word: str, start: int, end: int) -> tuple[int, tuple[int, int]] | None:
    return (int(word), (start, end)) if word.isdecimal() and len(word) <= 2 and 1 <= int(word) <= 31 else None


# --- the current date ------------------------------------------------------------------------------------------------


def _count(words: str) -> int | None:
    last = words.lower().removesuffix(" of").rpartition(" ")[2]
    return int(last) if last.isdecimal() and len(last) <= 3 else _FEW.get(last)


def _away(match: re.Match[str], number: int, period: int) -> RelativeDate:
    if period > 0:
        return RelativeDate(match.start(), match.end(), days=number * period)
    return RelativeDate(match.start(), match.end(), months=-number * period)


def _period(match: re.Match[str], number: int, period: int) -> Iterator[RelativeDate]:
    """Yields the same day of another period, and the first and the last day of that period."""
    yield _away(match, number, period)
    name = {7: "week", -1: "month", -12: "year"}[period]
    yield from (RelativeDate(match.start(), match.end(), edge=(name, is_last, number)) for is_last in (False, True))


def _months_later(today: date, months: int) -> date | None:
    month = today.month - 1 + months
    year, month = today.year + month // 12, month % 12 + 1
    if not 1 <= year <= 9998:
        return None
    return date(year, month, min(today.day, _length_of(year, month)))


def _length_of(year: int, month: int) -> int:
    following = date(year + month // 12, month % 12 + 1, 1)
    return (following - timedelta(days=1)).day


def _edge_of(period: str, is_last: bool, following: int, today: date) -> date | None:
    if not 10 <= today.year < 9990:
        return None
    if period == "week":
        monday = today + timedelta(days=7 * following - today.weekday())
        return monday + timedelta(days=6 * is_last)
    if period == "year":
        year = today.year + following
        return date(year, 12, 31) if is_last else date(year, 1, 1)
    first = _months_later(today.replace(day=1), following)
    return None if first is None else first.replace(day=_length_of(first.year, first.month)) if is_last else first
