"""[analysis]: codes of what was said by its name: currencies, languages, countries, states of the USA. Pure.

`USD` for `$20`, `fr` for "French" (in any language that dates are read in), `DE` for "Germany", `TX` for "Texas".
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from playhead_collector.analysis.provenance import rules
from playhead_collector.analysis.provenance.derived_values import Derivation
from playhead_collector.analysis.texts.passages import RESULT, USER, ContextIndex, Hit
from playhead_collector.analysis.texts.spoken_dates import LOCALES
from playhead_collector.analysis.texts.words import listed, name_words, words_in
from playhead_collector.analysis.transcript.arguments import TracedCall

if TYPE_CHECKING:
    from babel import Locale

_OF_LANGUAGES = frozenset(listed("language lang locale translation"))
_OF_COUNTRIES = frozenset(listed("country nation nationality region locale market territory iso"))
_OF_STATES = frozenset(listed("state province region"))
_LENGTH_OF_CURRENCY, _LENGTH_OF_CODE = 3, 2
# Signs of currencies that CLDR does not have, or has for one country's only.
_MORE_SIGNS = {
    "JPY": ("円", "¥"),
    "CNY": ("元", "¥"),
    "KRW": ("원",),
    "RUB": ("₽",),
    "PLN": ("zł",),
    "CZK": ("Kč",),
}
# More words for a country than its name.
_MORE_NAMES = {"US": ("usa", "u s", "america"), "GB": ("uk", "u k", "britain", "england"), "AE": ("uae",)}
_STATES = (
    "AL Alabama,AK Alaska,AZ Arizona,AR Arkansas,CA California,CO Colorado,CT Connecticut,DE Delaware,"
    "DC District of Columbia,FL Florida,GA Georgia,HI Hawaii,ID Idaho,IL Illinois,IN Indiana,IA Iowa,KS Kansas,"
    "KY Kentucky,LA Louisiana,ME Maine,MD Maryland,MA Massachusetts,MI Michigan,MN Minnesota,MS Mississippi,"
    "MO Missouri,MT Montana,NE Nebraska,NV Nevada,NH New Hampshire,NJ New Jersey,NM New Mexico,NY New York,"
    "NC North Carolina,ND North Dakota,OH Ohio,OK Oklahoma,OR Oregon,PA Pennsylvania,RI Rhode Island,"
    "SC South Carolina,SD South Dakota,TN Tennessee,TX Texas,UT Utah,VT Vermont,VA Virginia,WA Washington,"
    "WV West Virginia,WI Wisconsin,WY Wyoming"
)
_NAME_OF_STATE = {code: name for code, _, name in (state.partition(" ") for state in _STATES.split(","))}


def derive_code(index: ContextIndex, traced: TracedCall, path: str, value: str) -> Derivation | None:
    """Derives a code from the name of what it stands for, or, of a currency, from its sign."""
    code = value.strip()
    if code.isascii() and code.isalpha() and code.isupper() and len(code) == _LENGTH_OF_CURRENCY:
        hit = _sign(index, traced, code) or _named(index, traced, _names_of_currency(code))
    else:
        hit = _named(index, traced, _names_of(code, {*name_words(path)}))
    return None if hit is None else Derivation("abbreviation", "the code of what was said", (hit,), rules.ABBREVIATION)


def _sign(index: ContextIndex, traced: TracedCall, code: str) -> Hit | None:
    signs = _signs_of_currency(code)
    return next((hit for sign in signs if (hit := index.standing(sign, traced.visible))), None)


def _named(index: ContextIndex, traced: TracedCall, names: Iterator[str]) -> Hit | None:
    """The last place where one of these names was said by a user, or stands in a result."""
    for name in dict.fromkeys(names):
        hits = index.find([word for word, _, _ in words_in(name)], traced.visible)
        said = [hit for hit in hits if hit.whole and hit.passage.source in (USER, RESULT)]
        if said:
            return said[-1]
    return None


def _names_of(code: str, argument: set[str]) -> Iterator[str]:
    """Yields what a code may mean, by the words in its argument's name."""
    language, _, region = code.replace("_", "-").partition("-")
    if len(language) != _LENGTH_OF_CODE or not language.isascii() or not language.isalpha():
        return
    if argument & _OF_LANGUAGES and language.islower():
        yield from (names[language] for names in _languages() if language in names)
    if argument & _OF_COUNTRIES and language.isupper() and not region:
        yield from (names[language] for names in _territories() if language in names)
        yield from _MORE_NAMES.get(language, ())
    if argument & _OF_STATES and language in _NAME_OF_STATE:
        yield _NAME_OF_STATE[language]


def _signs_of_currency(code: str) -> tuple[str, ...]:
    sign = _currencies()[0].get(code, "")
    return (*(() if sign.isalnum() or not sign else (sign,)), *_MORE_SIGNS.get(code, ()))


def _names_of_currency(code: str) -> Iterator[str]:
    """Yields the name of a currency, and its last word: `US Dollar` and `dollar`, also in the plural."""
    name = _currencies()[1].get(code, "")
    for each in dict.fromkeys((name, name.rpartition(" ")[2])):
        yield from (each, f"{each}s") if each else ()


@cache
def _locale(name: str) -> "Locale":
    from babel import Locale  # noqa: PLC0415 - takes 0.1 s: only where codes are looked for

    return Locale.parse(name)


@cache
def _languages() -> list[Mapping[str, str]]:
    return [_locale(name).languages for name in LOCALES]


@cache
def _territories() -> list[Mapping[str, str]]:
    return [_locale(name).territories for name in LOCALES]


@cache
def _currencies() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Signs and names of currencies, by code."""
    english = _locale("en")
    return english.currency_symbols, english.currencies
