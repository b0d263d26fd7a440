"""Masks secrets by their keys: values under keys such as `api_key` or `cookie`, in what was made from objects.

The program's own dictionaries are never changed: the program sends them to a model, and a record has to show them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

# Names of credentials. A key is one if it is in this list, or ends with one of these after a separator: `X-Api-Key`,
# `accessToken`, `db_password`.
DEFAULT_KEYS = (
    "authorization",
    "cookie",
    "cookies",
    "api_key",
    "apikey",
    "token",
    "authtoken",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "secret_key",
    "access_key",
    "private_key",
    "signing_key",
    "encryption_key",
    "credential",
    "credentials",
    "connection_string",
    "dsn",
)
_MAX_KEY_LENGTH = 128
_MAX_KNOWN = 10_000
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_LETTER = re.compile(r"[^a-z0-9]+")
# A value in a `repr`: quoted (the end may be cut off), or up to a delimiter, with an HTTP scheme before it.
_VALUE = r"""(b?'(?:[^'\\]|\\.)*(?:'|\Z)|b?"(?:[^"\\]|\\.)*(?:"|\Z)|(?:(?:bearer|basic)[ ])?[^\s,;)\]}'"]+)"""


class Mask:
    """Decides which keys hide their values. Safe for threads."""

    def __init__(self, keys: Iterable[str] = DEFAULT_KEYS):
        """`keys`: capitals, `-` and `_` make no difference; without keys, nothing is masked."""
        words = {_plain(key) for key in keys} - {""}
        self._words = tuple(sorted(words))
        self._known: dict[str, bool] = {}
        spelt = "|".join(re.escape(word).replace("_", "[-_ ]?") for word in sorted(words, key=len, reverse=True))
        # A key, `=` or `:`, and a value.
        self._in_text = re.compile(rf"(?i)({spelt})(['\"]?\s{{0,3}}[=:]\s{{0,3}}){_VALUE}") if words else None

    def __bool__(self) -> bool:
        return bool(self._words)

    def hides(self, key: Any, value: Any) -> bool:
        """Whether the value under this key is masked. None, booleans, empty values and counts of tokens never are."""
        kind: Any = type(key)  # pyright: ignore[reportUnknownVariableType] - isinstance would ask the key
        if issubclass(kind, bytes):
            key = bytes.decode(key, "latin-1")
        elif not issubclass(kind, str):
            return False
        if value is None or type(value) is bool or _is_empty(value):
            return False
        key = str.__str__(key)[-_MAX_KEY_LENGTH:]
        hidden = self._known.get(key)
        if hidden is None:
            plain = _plain(key)
            hidden = any(plain == word or plain.endswith(f"_{word}") for word in self._words)
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = hidden
        return hidden and not (type(value) in (int, float) and key.lower().endswith("token"))

    def hides_second(self, pair: Sequence[Any]) -> bool:
        """Whether a pair is a key and a value that is masked, as in a list of headers."""
        return len(pair) == 2 and self.hides(pair[0], pair[1])

    def text(self, text: str) -> str:
        """Returns a `repr` with a mask in place of its secrets."""
        return text if self._in_text is None else self._in_text.sub(r"\1\2<masked>", text)


@dataclass(frozen=True, slots=True)
class KeyedValue:
    """A value with the key that it had in an object of another library, e.g. a header. It is masked as it would be
    there."""

    key: str
    value: Any


def masked(value: object) -> dict[str, str]:
    """Returns what replaces a secret: its type, and nothing from which it could be guessed."""
    kind = cast(Any, type(value))
    return {"$masked": kind.__name__ if kind.__module__ == "builtins" else "object"}


def _plain(key: str) -> str:
    return _NO_LETTER.sub("_", _CAMEL.sub("_", key).lower()).strip("_")


def _is_empty(value: object) -> bool:
    return type(value) in (str, bytes, list, tuple, dict) and not value
