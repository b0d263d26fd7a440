"""[analysis]: times of day as people write them: `3:30pm`, `15h30`, `15 Uhr`, `half past three`, `noon`. Pure.

A time without am, pm or a part of the day may be either half of the day: `3:30` is 03:30 and 15:30.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from playhead_collector.analysis.texts.words import fold

Clock = tuple[int, int]
"""Hour (0 to 23) and minute."""

_S = r"[ \u00a0\u202f]{0,2}"
_HALF_OF_DAY = r"(?P<%s>[ap])\.?m\b"
_FIGURES = re.compile(
    rf"(?<![\w.:/-])(?P<hour>2[0-3]|[01]?\d)(?!\d)"
    rf"(?:{_S}[:.hH]{_S}(?P<minute>[0-5]\d)(?!\d|[.:/-]\d{{3}}))?(?::[0-5]\d)?"
    rf"{_S}(?:{_HALF_OF_DAY % 'half'}|(?P<unit>h\b|uhr\b|heures?\b|horas?\b|ore\b|uur\b|o['\u2019]clock\b"
    r"|(?:点|時|시)(?![间間간])))?",
    re.IGNORECASE,
)
_HOURS = (
    "twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
)  # fmt: skip
_STUNDEN = ("zwölf", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf")
_HOUR_BY_WORD = {fold(word): hour for words in (_HOURS, _STUNDEN) for hour, word in enumerate(words)}
_MINUTES = {"quarter": 15, "half": 30, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25, "viertel": 15}
_HOUR_WORD = rf"(?:{'|'.join((*_HOURS, *_STUNDEN))}|1[0-2]|\d)"
_OF_DAY = r"(?: in the (?P<@>morning|afternoon|evening)| at (?P<@night>night)|" + _S + r"(?P<@half>[ap])\.?m\b)"
_WORDS = re.compile(
    rf"\b(?:a )?(?P<minutes>quarter|half|five|ten|twenty(?:-five)?|viertel) (?P<side>past|after|to|before|nach|vor) "
    rf"(?P<hour>{_HOUR_WORD})\b(?:{_OF_DAY.replace('@', 'a')})?"
    rf"|\bhalb (?P<halb>{_HOUR_WORD})\b"
    rf"|\b(?P<plain>{'|'.join(_HOURS)}|1[0-2]|\d)(?: o['\u2019]clock\b(?:{_OF_DAY.replace('@', 'b')})?"
    rf"|{_OF_DAY.replace('@', 'c')})",
    re.IGNORECASE,
)
# Spanish, French, Italian and Portuguese: `siete y media de la tarde`, `sept heures et quart`, `nove da manhã`.
_ROMANCE_HOURS = {
    word: hour
    for hour, words in enumerate(
        (
            "una une un uma", "dos deux due duas", "tres trois tre três", "cuatro quatre quattro quatro",
            "cinco cinq cinque", "seis six sei", "siete sept sette sete", "ocho huit otto oito", "nueve neuf nove",
            "diez dix dieci dez", "once onze undici", "doce douze dodici doze",
        ),
        1,
    )
    for word in words.split()
}  # fmt: skip
_ROMANCE_MINUTES = {
    "y media": 30, "et demie": 30, "e mezza": 30, "e mezzo": 30, "e meia": 30, "y cuarto": 15, "et quart": 15,
    "e un quarto": 15, "e quinze": 15, "menos cuarto": -15, "moins le quart": -15, "meno un quarto": -15,
}  # fmt: skip
_ROMANCE_HALVES = {
    "de la mañana": "a", "du matin": "a", "da manhã": "a", "di mattina": "a", "del mattino": "a",
    "de la tarde": "p", "de la noche": "p", "de l'après-midi": "p", "du soir": "p", "da tarde": "p", "da noite": "p",
    "del pomeriggio": "p", "di sera": "p",
}  # fmt: skip
_ROMANCE_HOUR = rf"(?:{'|'.join(_ROMANCE_HOURS)}|1[0-2]|[1-9])"
_ROMANCE_OF_DAY = "|".join(_ROMANCE_HALVES)
_ROMANCE = re.compile(
    rf"(?<![\w.:])(?P<hour>{_ROMANCE_HOUR})(?: (?:heures?|horas?|ore))?"
    rf"(?: (?P<minutes>{'|'.join(_ROMANCE_MINUTES)})(?: (?P<of>{_ROMANCE_OF_DAY}))?| (?P<of2>{_ROMANCE_OF_DAY}))(?!\w)",
    re.IGNORECASE,
)
# Chinese, Japanese, Korean: `下午三点半`, `午後3時`, `오후 3시 30분`. Russian: `5 вечера`.
_CJK_DIGITS = {word: number for number, word in enumerate("零一二三四五六七八九十")} | {"两": 2, "十一": 11, "十二": 12}
_CJK_HALVES = {
    "上午": "a", "早上": "a", "凌晨": "a", "午前": "a", "오전": "a",
    "下午": "p", "晚上": "p", "午後": "p", "오후": "p",
}  # fmt: skip
_CJK = re.compile(
    rf"(?P<half>{'|'.join(_CJK_HALVES)})?[ ]?(?<!\d)(?P<hour>\d{{1,2}}|十[一二]|[一二两三四五六七八九十])"
    # `3時間` is a length of time, and no hour of the day.
    r"(?:[点點時时]|[ ]?시)(?![间間간])(?:(?P<part>半|반)|[ ]?(?P<minute>[0-5]?\d)[ ]?[分분])?"
)
_RUSSIAN = re.compile(
    r"(?<![\w.:])(?P<hour>1[0-2]|[1-9])(?::(?P<minute>[0-5]\d))?(?: час(?:\u0430|ов)?)? (?P<of>утра|дня|вечера|ночи)\b",
    re.IGNORECASE,
)
_RUSSIAN_HALVES = {"утра": "a", "ночи": "a", "дня": "p", "вечера": "p"}
_HOURS_HUNDRED = re.compile(r"\b(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d) ?(?:hours|hrs|h)\b", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:(?P<noon>noon|midday|mittags?|midi|mezzogiorno|mediod[ií]a|meio-dia)"
    r"|(?P<midnight>midnight|mitternacht|minuit|mezzanotte|medianoche|meia-noite))\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    rf"([01]?\d|2[0-3])(?::([0-5]\d)(?::[0-5]\d(?:\.\d{{1,9}})?)?)?{_S}(?:([ap])\.?m\.?)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time of day in a text, with each time that it may mean."""

    start: int
    end: int
    times: frozenset[Clock]


def read_time(text: str) -> Clock | None:
    """The time of a text that is only a time of day with minutes, or with am or pm; else None."""
    match = _VALUE.fullmatch(text.strip())
    if match is None or (match[2] is None and match[3] is None):
        return None
    return _with_half(int(match[1]), int(match[2] or 0), match[3])


def times_in(text: str) -> Iterator[TimeMention]:
    """Yields each time of day in a text."""
    for match in _FIGURES.finditer(text):
        if match["minute"] or match["half"] or match["unit"]:
            hour, minute = int(match["hour"]), int(match["minute"] or 0)
            either = match["half"] is None and 1 <= hour < 12 and not match["hour"].startswith("0")
            yield _mention(match, hour, minute, match["half"], either=either)
    for match in _WORDS.finditer(text):
        yield _in_words(match)
    yield from _elsewhere(text)
    for match in _HOURS_HUNDRED.finditer(text):
        yield _mention(match, int(match["hour"]), int(match["minute"]), None, either=False)
    for match in _NAMED.finditer(text):
        yield TimeMention(match.start(), match.end(), frozenset({(12, 0) if match["noon"] else (0, 0)}))


def _in_words(match: re.Match[str]) -> TimeMention:
    half = next((_HALVES[value.lower()] for name, value in match.groupdict().items() if name in _PARTS and value), None)
    if match["minutes"] is None:
        hour = _hour(match["halb"] or match["plain"])
        before = match["halb"] is not None
        return _mention(match, (hour - before) % 12, 30 * before, half, either=half is None)
    minutes, hour = _MINUTES[match["minutes"].lower()], _hour(match["hour"])
    if match["side"].lower() in ("to", "before", "vor"):
        hour, minutes = hour - 1, 60 - minutes
    return _mention(match, hour % 12, minutes, half, either=half is None)


def _elsewhere(text: str) -> Iterator[TimeMention]:
    """Yields times as other languages say them."""
    for match in _ROMANCE.finditer(text):
        hour = int(match["hour"]) if match["hour"].isdecimal() else _ROMANCE_HOURS[match["hour"].lower()]
        minutes = _ROMANCE_MINUTES[match["minutes"].lower()] if match["minutes"] else 0
        of_day = match["of"] or match["of2"]
        half = _ROMANCE_HALVES[of_day.lower()] if of_day else None
        hour, minutes = (hour - 1, 60 + minutes) if minutes < 0 else (hour, minutes)
        yield _mention(match, hour % 12, minutes, half, either=half is None)
    for match in _CJK.finditer(text):
        hour = int(match["hour"]) if match["hour"].isdecimal() else _CJK_DIGITS[match["hour"]]
        minutes = 30 if match["part"] else int(match["minute"] or 0)
        half = _CJK_HALVES[match["half"]] if match["half"] else None
        if hour < 24:
            yield _mention(match, hour, minutes, half, either=half is None and 1 <= hour < 12)
    for match in _RUSSIAN.finditer(text):
        half = _RUSSIAN_HALVES[match["of"].lower()]
        yield _mention(match, int(match["hour"]), int(match["minute"] or 0), half, either=False)


_PARTS = ("a", "anight", "ahalf", "b", "bnight", "bhalf", "c", "cnight", "chalf")
_HALVES = {"morning": "a", "afternoon": "p", "evening": "p", "night": "p", "a": "a", "p": "p"}


def _hour(word: str) -> int:
    return int(word) if word.isdecimal() else _HOUR_BY_WORD[fold(word)]


def _mention(match: re.Match[str], hour: int, minute: int, half: str | None, *, either: bool) -> TimeMention:
    times = {_with_half(hour, minute, half)}
    if either:
        times.add(((hour + 12) % 24, minute))
    return TimeMention(match.start(), match.end(), frozenset(times))


def _with_half(hour: int, minute: int, half: str | None) -> Clock:
    if half is None or hour > 12:
        return hour, minute
    return hour % 12 + 12 * (half.lower() == "p"), minute
