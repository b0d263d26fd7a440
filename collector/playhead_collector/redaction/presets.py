"""Named patterns for what is most often masked. They are searched as any other pattern; see `patterns.py`."""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from playhead_collector.redaction.patterns import Counts


class Preset(NamedTuple):
    """A named pattern. `patterns`: what any of them matches. `counts`: how much of a match counts; None: all of it."""

    patterns: tuple[str, ...]
    about: str
    counts: Counts | None = None


def has_luhn_digit(digits: str) -> bool:
    """Whether these are 13 to 19 digits, not all the same, with the check digit of card numbers."""
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_iban(plain: str) -> bool:
    """Whether this is an IBAN with the right check digits."""
    if not (15 <= len(plain) <= 34 and plain[:2].isalpha() and plain[2:4].isdigit()):
        return False
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def _longest(is_one: Callable[[str], bool], text: str) -> int:
    """Returns the length of the longest beginning that is one without its separators, and ends where a word ends."""
    for end in range(len(text), 0, -1):
        is_word_end = text[end - 1].isalnum() and not text[end : end + 1].isalnum()
        if is_word_end and is_one("".join(character for character in text[:end] if character.isalnum())):
            return end
    return 0


PRESETS: Final[dict[str, Preset]] = {
    "email": Preset((r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]+",), "e-mail addresses"),
    "credit_card": Preset(
        (r"(?<![0-9])(?:[3-6]|2[2-7])[0-9 -]{11,36}[0-9](?![0-9])",),
        "card numbers, by their check digit",
        partial(_longest, has_luhn_digit),
    ),
    "iban": Preset(
        (r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}[A-Za-z0-9 -]{10,42}[A-Za-z0-9](?![A-Za-z0-9])",),
        "IBANs, by their check digits",
        partial(_longest, is_iban),
    ),
    "phone": Preset(
        (
            r"(?<![0-9])(?:\+|00)[1-9][0-9 ()./-]{6,20}[0-9]",
            r"(?<![0-9])\([0-9]{3}\) ?[0-9]{3}[ .-][0-9]{4}(?![0-9])",
            r"(?<![0-9])[0-9]{3}[.-][0-9]{3}[.-][0-9]{4}(?![0-9])",
        ),
        "telephone numbers with a country code, or written as in North America",
    ),
    "api_key": Preset(
        (
            r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",
            r"(?<![A-Za-z0-9])(?:ghp|gho|ghu|ghs|ghr|glpat|xoxb|xoxp|xoxa|xoxs|github_pat)[-_][A-Za-z0-9_-]{16,}",
            r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
            r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}",
            r"(?i)(?<![a-z])bearer [a-z0-9._~+/=-]{16,}",
        ),
        "keys of OpenAI, Anthropic, Stripe, GitHub, GitLab, Slack, AWS and Google, and bearer tokens",
    ),
    "jwt": Preset((r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{6,400}\.[A-Za-z0-9_.-]+",), "JSON web tokens"),
}
