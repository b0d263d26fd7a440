"""Tables of settings: SDK and collector each have one, which `--help`, `doctor` and the docs read.

A setting is a field of a frozen dataclass, made with `setting(...)`: environment variable, default, parser, one line of
help.  Uses the standard library only, so that `--help` works wherever the package is installed.
"""

import dataclasses
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlsplit

KIB, MIB, GIB = 2**10, 2**20, 2**30
# Clocks, locks and Postgres' intervals cannot hold more: the first wait would raise OverflowError.
_MOST_SECONDS = 3_155_760_000.0
_MOST_BYTES = 2**63 - 1
_URL_TEXT = re.compile(r"[^\s?#\0]+")
# Valid text of an HTTP header's value. Spaces only inside, since senders and receivers strip the others.
_HEADER_TEXT = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_UNITS = {"": 1, "b": 1, "k": KIB, "kib": KIB, "m": MIB, "mib": MIB, "g": GIB, "gib": GIB}


class Instead(Enum):
    """What a program that records uses instead of an invalid value."""

    DEFAULT = "the default"
    STOP = "nothing: it does not record"


DEFAULT, STOP = Instead.DEFAULT, Instead.STOP


class InvalidSettingValue(ValueError):
    """A setting has a value that cannot be used; `str(error)` is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """How the text of a setting is parsed. `accepts`: what is valid, for error messages."""

    accepts: str
    read: Callable[[str], Any]  # raises ValueError
    absent: str = "not set"
    """How the value None is shown."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of a table."""

    field: str
    env: str
    default: Any
    kind: ValueKind
    help: str
    secret: bool
    fallback: str | None = None
    """Another program's variable, which is read if `env` is not set."""
    if_invalid: Any = Instead.DEFAULT
    """What a program that records uses instead of an invalid value: a value, `DEFAULT` or `STOP`."""

    def read(self, value: object, variable: str | None = None) -> Any:
        """Parses a text found in `variable`, or an option of any type. Raises InvalidSettingValue."""
        try:
            return self.kind.read(_as_text(value).strip())
        except (ValueError, TypeError):
            value_text = "the value that it has" if self.secret else without_password(repr(value))
            raise InvalidSettingValue(
                f"{variable or self.env} cannot be {value_text}: set it to {self.kind.accepts}"
            ) from None

    def shown(self, value: object) -> str:
        """Returns the value for a terminal or a log: without secrets."""
        if value is None or (self.secret and not value):
            return self.kind.absent if value is None else "not set"
        return "set (not shown)" if self.secret else without_password(_as_text(value) or "none")


@dataclass(frozen=True, slots=True)
class InForce:
    """A setting, the value it has now, and where that value comes from."""

    setting: Setting
    value: Any
    source: str
    """`default`, `option` or `environment`; or the name of the fallback variable that holds the value."""

    def __str__(self) -> str:
        return f"{self.setting.env} = {self.setting.shown(self.value)} ({self.source})"


def setting(
    env: str,
    default: object,
    kind: ValueKind,
    help: str,  # noqa: A002 - the word that users know
    *,
    secret: bool = False,
    fallback: str | None = None,
    if_invalid: object = DEFAULT,
) -> Any:
    """Makes a field of a table. A callable default is called when needed. `if_invalid`: see `Setting`."""
    line = {"env": env, "default": default, "kind": kind, "help": help, "secret": secret, "fallback": fallback}
    line["if_invalid"] = if_invalid
    return dataclasses.field(default_factory=default if callable(default) else lambda: default, metadata=line)


def table_of(settings: type[Any]) -> tuple[Setting, ...]:
    """Returns all settings of a table, in the order in which to show them, without fields not made by `setting`."""
    return tuple(
        Setting(field=field.name, **field.metadata) for field in dataclasses.fields(settings) if field.metadata
    )


def in_force_of(
    settings: type[Any],
    environ: Mapping[str, str] = os.environ,
    options: Mapping[str, Any] | None = None,
    on_invalid: Callable[[str], None] | None = None,
) -> tuple[InForce, ...]:
    """Returns all settings with value and source: an option, else the environment, else the default.

    `options` are by field name; None: not given. They are parsed like the environment's text, and may be of the field's
    own type: numbers, paths, lists of names, mappings. As in OpenTelemetry, an empty variable counts as unset.
    `on_invalid`: called with a sentence about each invalid variable, for which `if_invalid` is then used. Raises
    InvalidSettingValue: for options, without `on_invalid`, and for `STOP`.
    """
    option_values = options or {}
    return tuple(_settle(line, environ, option_values.get(line.field), on_invalid) for line in table_of(settings))


def _settle(
    line: Setting, environ: Mapping[str, str], option: object, on_invalid: Callable[[str], None] | None
) -> InForce:
    if option is not None:
        return InForce(line, line.read(option), "option")
    for variable, source in ((line.env, "environment"), (line.fallback, line.fallback)):
        text = environ.get(variable, "") if variable else ""
        if text.strip():
            try:
                return InForce(line, line.read(text, variable), source or "")
            except InvalidSettingValue as error:
                if on_invalid is None or line.if_invalid is STOP:
                    raise
                instead = default_of(line) if line.if_invalid is DEFAULT else InForce(line, line.if_invalid, "default")
                on_invalid(f"{error}; until then it is {line.shown(instead.value)}")
                return instead
    return default_of(line)


def default_of(line: Setting) -> InForce:
    """Returns the setting with its default value."""
    return InForce(line, line.default() if callable(line.default) else line.default, "default")


def _as_text(value: object) -> str:
    """Returns an option as the text of a variable, so that both are checked by the same rules."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, os.PathLike):
        return str(Path(cast("os.PathLike[str]", value)))
    if isinstance(value, Mapping):
        return _as_text(list(cast("Mapping[Any, Any]", value).items()))
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(_item_as_text, cast("Collection[Any]", value)))
    raise TypeError


def _item_as_text(item: Any) -> str:
    if isinstance(item, str):
        return item
    name, value = item
    if not isinstance(name, str) or not isinstance(value, str):
        raise TypeError
    return f"{name}={quote(value)}"


# --- kinds of values -------------------------------------------------------------------------------------------------


def int_between(at_least: int, at_most: int) -> Callable[[str], int]:
    """Returns a parser of whole numbers within bounds."""

    def read(text: str) -> int:
        number = int(text)
        if not at_least <= number <= at_most:
            raise ValueError
        return number

    return read


def one_of(*words: str) -> ValueKind:
    """Returns the kind of value that is one of these words, in upper or lower case."""

    def read(text: str) -> str:
        if text.lower() not in words:
            raise ValueError
        return text.lower()

    return ValueKind(" or ".join(words), read)


def _bytes(text: str) -> int:
    digits = text.rstrip("bBkKmMgGiI ")
    size = int(digits) * _UNITS.get(text[len(digits) :].strip().lower(), 0)
    if not 0 < size <= _MOST_BYTES:
        raise ValueError
    return size


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= _MOST_SECONDS:
        raise ValueError
    return seconds


def _http_url(text: str) -> str:
    parts = urlsplit(text)
    # Reading the port is what checks it.
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0 or not _URL_TEXT.fullmatch(text):
        raise ValueError
    return text.rstrip("/")


def home_folder() -> Path:
    """Returns the user's home folder. For a user without one it is `/`, as Docker has it: in a container that runs
    under a number that is no user of it. If `/` cannot be written to, a later error names the setting to use."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def _folder(text: str) -> Path:
    try:
        # Absolute, for the program may change its working directory while we use the folder.
        folder = Path(text).expanduser().absolute()
    except (RuntimeError, OSError):  # no such home, or the working directory is gone
        raise ValueError from None
    if not text or "\0" in text:
        raise ValueError
    return folder


def _key(text: str) -> str:
    if not _HEADER_TEXT.fullmatch(text):
        raise ValueError
    return text


def _windows(text: str) -> tuple[tuple[str, int], ...]:
    pairs = [item.partition("=") for item in text.split(",") if item.strip()]
    windows = tuple((name.strip(), int(tokens)) for name, _, tokens in pairs)
    if not all(name and tokens > 0 for name, tokens in windows):
        raise ValueError
    return windows


TEXT = ValueKind("a text", str)
KEY = ValueKind("letters, digits and signs of ASCII, spaces only between them", _key)
FOLDER = ValueKind("the path of a folder", _folder)
BYTES = ValueKind("a number of bytes, or one with a unit: 500000, 512 KiB, 64 MiB, 1 GiB", _bytes)
SECONDS = ValueKind("a number of seconds, from 0 to 3155760000 (a hundred years)", _seconds)
HTTP_URL = ValueKind("a URL that begins with http:// or https:// and has no ? or #", _http_url)
# OpenTelemetry reads only "true" as true. Other words are an error here, instead of a guess.
WINDOWS = ValueKind("model=tokens pairs with commas between them", _windows)
SWITCH = ValueKind("true or false", lambda text: one_of("true", "false").read(text) == "true")


_PASSWORD = re.compile(r"([?&](?:ssl)?password=)[^&]*", re.IGNORECASE)


def without_password(text: str) -> str:
    """Returns a URL with its passwords masked; any other text unchanged."""
    # Not parsed by urlsplit, which stops at a `/`, `#` or `[` in the password, and would then show it.
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    who, has_who, host = rest.rpartition("@")
    user, has_password, _ = who.partition(":")
    masked = f"{scheme}://{user}:***@{host}" if has_who and has_password else text
    return _PASSWORD.sub(r"\1***", masked)
