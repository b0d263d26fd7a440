"""[analysis]: splits a text into words, numbers and dates with their positions, as provenance compares them. Pure.

A word is a run of letters, or a run of digits: `HAT001` is two, so it is found in `hat 001`, too.  Words are compared
without case and accents.  A number stands alone: not in a date, a time or an identifier.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

_WORD = re.compile(r"\d+|[^\W\d_](?:[^\W\d_]|[\u0300-\u036f])*")
_NUMBER = re.compile(
    r"(?<![\w.])(?<!\d[-/:])(?P<sign>(?<!\d)(?<!\d )-)?(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?P<part>\.\d+)?"
    r"(?!\w|[-/:]\d|\.\d)"
)
# Small numbers as words.
SMALL = {
    "0": ("zero", "no", "none", "without"), "1": ("one", "single", "a", "an"), "2": ("two", "both", "couple"),
    "3": ("three",), "4": ("four",), "5": ("five",), "6": ("six",), "7": ("seven",), "8": ("eight",), "9": ("nine",),
    "10": ("ten",), "11": ("eleven",), "12": ("twelve",),
}  # fmt: skip
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_S = " {1,4}"
_DAY, _ORDINAL = r"(?P<{0}>3[01]|[12]\d|0?[1-9])", r"(?:st|nd|rd|th)"
_DATE = re.compile(
    r"(?<![\w-])(?:"
    r"(?P<y1>\d{4})-(?P<m1>\d\d)-(?P<d1>\d\d)(?![\d-])"
    rf"|{_MONTH.format('m2')}{_S}(?:the{_S})?{_DAY.format('d2')}{_ORDINAL}?(?![\w:])(?:,?{_S}(?P<y2>\d{{4}})(?!\d))?"
    rf"|{_DAY.format('d3')}{_ORDINAL}?{_S}(?:of{_S})?{_MONTH.format('m3')}(?:,?{_S}(?P<y3>\d{{4}})(?!\d))?"
    rf"|(?P<m4>1[0-2]|0?[1-9])/{_DAY.format('d4')}(?:/(?P<y4>\d{{4}}))?(?![\d/])"
    rf"|{_DAY.format('d5')}\.(?P<m5>1[0-2]|0?[1-9])\.(?P<y5>\d{{4}})(?!\d)"
    rf"|{_DAY.format('d6')}{_ORDINAL}\b"
    r")",
    re.IGNORECASE,
)
# `May 24th and 27th`, `May 24-27`: the month is written once.
_MORE_DAYS = re.compile(
    rf"(?: {{0,4}}, {{0,4}}| {{0,4}}& {{0,4}}| {{0,4}}[-\u2013] {{0,4}}|{_S}(?:and|or|to|through|until){_S})"
    rf"(?:on{_S})?(?:the{_S})?{_DAY.format('d')}{_ORDINAL}?(?![\w:./-]|{_S}(?:of{_S})?{_MONTH.format('m')})",
    re.IGNORECASE,
)


_TIME_OF_DAY = re.compile(r"[T ][\d:.+Zz-]{1,40}+")
_PLACE_IN_LIST = re.compile(r"\[\d{1,9}+\]")
_WORD_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text.  None: that part is not given."""

    start: int
    end: int
    year: int | None
    month: int | None
    day: int


def words_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Yields each word in its compared form (see `fold`), with start and end."""
    for match in _WORD.finditer(text):
        yield fold(match[0]), match.start(), match.end()


def listed(words: str) -> list[str]:
    """The words of a table in the source, which are separated by spaces."""
    return words.split()


def fold(word: str) -> str:
    """The word without case and accents."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word)
    return "".join(character for character in plain if not unicodedata.combining(character)).casefold()


def numbers_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Yields each number in its plain form (`1,250.00` is `1250`), with start and end."""
    for match in _NUMBER.finditer(text):
        plain = plain_number(f"{match['sign'] or ''}{match['whole'].replace(',', '')}{match['part'] or ''}")
        if plain is not None:
            yield plain, match.start(), match.end()


def written(value: str | float | bool | None) -> str:
    """The value as a text. Uses Decimal for integers: str() refuses integers of more than 4,300 digits."""
    return str(Decimal(value)) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def plain_number(value: str | float | Decimal) -> str | None:
    """The plain form of a number, the same for all spellings (`1.50`, `1.5`); None if it is no number."""
    try:
        # An integer is not converted to text: see `written`.
        number = Decimal(value) if isinstance(value, int) else Decimal(str(value))
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > 30:
        return None
    return format(number.normalize() + 0, "f")


def read_number(text: str) -> str | None:
    """The plain form of a text that is only a number, with or without currency, separators or `%`; else None."""
    bare = text.strip().lstrip("$€£").rstrip("%")
    shape = _NUMBER.fullmatch(bare)
    return None if shape is None else next((plain for plain, _, _ in numbers_in(bare)), None)


def dates_in(text: str) -> Iterator[DateMention]:
    """Yields each date that is written out, with or without its year, or only as a day (`the 27th`)."""
    for match in _DATE.finditer(text):
        mention = _mention(match)
        if mention is None:
            continue
        yield mention
        end = match.end()
        while mention.month and match["d1"] is None and (more := _MORE_DAYS.match(text, end)):
            yield DateMention(more.start("d"), more.end(), mention.year, mention.month, int(more["d"]))
            end = more.end()


def read_date(text: str) -> DateMention | None:
    """The date of a text that is only a date, perhaps with a time of day; else None."""
    first = next(dates_in(text.strip()), None)
    if first is None or first.start != 0 or first.month is None:
        return None
    rest = text.strip()[first.end :]
    return first if not rest or _TIME_OF_DAY.fullmatch(rest) else None


def name_words(path: str) -> list[str]:
    """The words of the last name in an argument's path: cabin and class for `flights[0].cabinClass`."""
    last = _PLACE_IN_LIST.sub("", path).rpartition(".")[2]
    return [fold(word) for word in _WORD_OF_NAME.findall(last[:_MAX_NAME_LENGTH])]


def is_same_word(left: str, right: str) -> bool:
    """Whether two words are forms of the same word: `baggages` and `bag`, `cancel` and `cancelled`."""
    shorter, longer = sorted((left, right), key=len)
    if len(shorter) < 3:
        return shorter == longer
    return longer.startswith(shorter[: max(3, len(shorter) - 2)])


def _mention(match: re.Match[str]) -> DateMention | None:
    number = next(number for number in "123456" if match[f"d{number}"])
    month = match[f"m{number}"] if number != "6" else None
    year = match[f"y{number}"] if number != "6" else None
    if month is not None and not month.isdecimal():
        month = str(1 + next(place for place, name in enumerate(MONTHS) if name[:3] == month[:3].lower()))
    if month is not None and not 1 <= int(month) <= 12:
        return None
    day = int(match[f"d{number}"])
    if not 1 <= day <= 31:
        return None
    return DateMention(match.start(), match.end(), int(year) if year else None, int(month) if month else None, day)
