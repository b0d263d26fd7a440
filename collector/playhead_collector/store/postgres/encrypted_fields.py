"""[store]: which parameters and columns of a statement are encrypted in projects that are, and how.  Pure.

A statement of `sql/*.sql` says it in comments below its name:

    -- encrypts: bodies=content, rows.name=run, label~score_label, labels#
    -- decrypts: body=content?encoding, happened.text=run
    -- blanks: searches
    -- refuses: search

`=` encrypts bytes and texts for a purpose; `~` makes a token, by which can be looked up; `#` makes tokens of those
labels that have texts of users. A dot leads into JSON. `?` names a column: the value is encrypted unless that is null;
`@` names the column that has the purpose.
Each item of a list is a value of its own. `blanks` are stored as empty texts; `refuses` are conditions on these, which
nothing would match.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import orjson

from playhead.wire.operations.conversations import UNLISTED_ID_PREFIXES
from playhead_collector.errors import Refused
from playhead_collector.store.packing.cipher import Cipher

_LINE = re.compile(r"^-- (encrypts|decrypts|blanks|refuses): (.*)$", re.MULTILINE)
_ITEM = re.compile(r"([\w.]+)(?:([=~#])(@?\w*)(?:\?(\w+))?)?")
LABELS_OF_USERS: Final = ("session:", "tag:", "user:")
"""Labels whose values are texts of users; the others name agents, models, tools, other runs and outcomes."""
CONVERSATION: Final = "conversation"
"""The purpose of ids of conversations: tokens keep the beginnings by which lists leave ids out."""


@dataclass(frozen=True, slots=True)
class EncryptedField:
    """A parameter or column, or (`path`) a key in its JSON. `given`: the column that says whether it is encrypted."""

    name: str
    path: tuple[str, ...]
    form: str
    purpose: str
    given: str | None


@dataclass(frozen=True, slots=True)
class EncryptedFields:
    """What of a statement is encrypted in projects that are."""

    encrypts: tuple[EncryptedField, ...] = ()
    decrypts: tuple[EncryptedField, ...] = ()
    blanks: tuple[EncryptedField, ...] = ()
    refuses: tuple[str, ...] = ()

    @property
    def changes_parameters(self) -> bool:
        """Whether parameters depend on the project's cipher."""
        return bool(self.encrypts or self.blanks or self.refuses)

    @classmethod
    def of(cls, text: str) -> "EncryptedFields | None":
        """Returns what the comments of a statement say; None: nothing. Raises ValueError for what is no field."""
        found: dict[str, list[EncryptedField]] = {}
        for kind, line in _LINE.findall(text):
            found.setdefault(kind, []).extend(_fields(line))
        if not found:
            return None
        encrypts, decrypts, blanks, refuses = (
            tuple(found.get(kind, ())) for kind in ("encrypts", "decrypts", "blanks", "refuses")
        )
        return cls(encrypts, decrypts, blanks, tuple(field.name for field in refuses))


def _fields(line: str) -> Iterator[EncryptedField]:
    for item in line.split(","):
        match = _ITEM.fullmatch(item.strip())
        if match is None:
            raise ValueError(f"{item!r} names no encrypted field: write name=purpose, name~purpose or name#")
        path, form, purpose, given = match.groups()
        name, *keys = path.split(".")
        yield EncryptedField(name, tuple(keys), form or "", purpose or "", given)


# --- parameters ------------------------------------------------------------------------------------------------------


def encrypted(fields: EncryptedFields, cipher: Cipher, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters of a statement as they are sent to the database. Raises Refused."""
    if any(parameters[name] for name in fields.refuses):
        raise Refused(
            409,
            "encrypted",
            "the project is encrypted, so that its texts cannot be searched: filter by agent, model, tool, tag, "
            "session, user, outcome or time",
        )
    sent = dict(parameters)
    for field in fields.encrypts:
        change = encrypting(field, cipher)
        sent[field.name] = _changed_at(sent[field.name], field.path, change)
    for field in fields.blanks:
        sent[field.name] = _changed_at(sent[field.name], field.path, _blank)
    return sent


def encrypting(field: EncryptedField, cipher: Cipher) -> Callable[[Any], Any]:
    """Returns the function that encrypts a value of this field."""
    match field.form:
        case "#":
            return lambda label: _with_token(label, cipher)
        case "~" if field.purpose == CONVERSATION:
            return lambda text: _conversation_token(text, cipher)
        case "~":
            return lambda text: cipher.token(text, field.purpose)
        case _:
            return lambda value: _encrypted(value, field.purpose, cipher)


def _encrypted(value: bytes | str, purpose: str, cipher: Cipher) -> bytes | str:
    return cipher.encrypt_text(value, purpose) if isinstance(value, str) else cipher.encrypt(value, purpose)


def _blank(_: object) -> str:
    return ""


def _with_token(label: str, cipher: Cipher) -> str:
    for name in LABELS_OF_USERS:
        if label.startswith(name):
            return name + cipher.token(label, "label")
    return label


def _conversation_token(text: str, cipher: Cipher) -> str:
    kept = kept_prefix(text)
    return kept if text == kept else kept + cipher.token(text, CONVERSATION)


def kept_prefix(text: str) -> str:
    """Returns the beginning of an id of a conversation that its token has, too; empty if there is none."""
    return next((prefix for prefix in UNLISTED_ID_PREFIXES if text.startswith(prefix)), "")


# --- rows ------------------------------------------------------------------------------------------------------------


class DecryptedRow:
    """A row with decrypted columns; is read like a `Record`."""

    __slots__ = ("_columns",)

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    def __getitem__(self, key: str | int) -> Any:
        return self._columns[key] if isinstance(key, str) else [*self._columns.values()][key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._columns.values())

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, key: object) -> bool:
        return key in self._columns

    def get(self, key: str, default: Any = None) -> Any:
        """Returns a column; `default` if the row has no such column."""
        return self._columns.get(key, default)

    def keys(self) -> Iterable[str]:
        """Returns the names of the columns."""
        return self._columns.keys()

    def values(self) -> Iterable[Any]:
        """Returns the values of the columns."""
        return self._columns.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Returns names and values of the columns."""
        return self._columns.items()


def decrypted(fields: EncryptedFields, cipher: Cipher, columns: Mapping[str, Any]) -> DecryptedRow:
    """Returns a row with its plain values. Raises CannotDecrypt."""
    plain = dict(columns)
    for field in fields.decrypts:
        if field.given is None or plain[field.given] is not None:
            if field.purpose.startswith("@"):
                field = replace(field, purpose=plain[field.purpose[1:]])  # noqa: PLW2901 - of this row
            plain[field.name] = _changed_at(plain[field.name], field.path, decrypting(field, cipher))
    return DecryptedRow(plain)


def decrypting(field: EncryptedField, cipher: Cipher) -> Callable[[Any], Any]:
    """Returns the function that decrypts a value of this field."""
    match field.form:
        case "#":
            return lambda label: _without_token(label, cipher)
        case "~" if field.purpose == CONVERSATION:
            return lambda text: _conversation_of(text, cipher)
        case "~":
            return lambda token: cipher.text_of(token, field.purpose)
        case _:
            return lambda value: _decrypted(value, field.purpose, cipher)


def _decrypted(value: bytes | str, purpose: str, cipher: Cipher) -> bytes | str:
    return cipher.decrypt_text(value, purpose) if isinstance(value, str) else cipher.decrypt(value, purpose)


def _without_token(label: str, cipher: Cipher) -> str:
    for name in LABELS_OF_USERS:
        if label.startswith(name):
            return cipher.text_of(label[len(name) :], "label")
    return label


def _conversation_of(token: str, cipher: Cipher) -> str:
    kept = kept_prefix(token)
    return token if token == kept else cipher.text_of(token[len(kept) :], CONVERSATION)


# --- places in values ------------------------------------------------------------------------------------------------


def _changed_at(value: Any, path: Sequence[str], change: Callable[[Any], Any]) -> Any:
    """Returns the value of a parameter or column, changed at `path` in its JSON; None stays None."""
    if value is None:
        return None
    if path:
        return orjson.dumps(_changed_in(orjson.loads(value), path, change)).decode()
    if isinstance(value, (list, tuple)):
        return [None if item is None else change(item) for item in cast("Sequence[Any]", value)]
    return change(value)


def _changed_in(value: Any, path: Sequence[str], change: Callable[[Any], Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_changed_in(item, path, change) for item in cast("list[Any]", value)]
    if not path:
        return change(value)
    key, *rest = path
    if not isinstance(value, dict) or key not in value:
        return cast("Any", value)
    members = cast("dict[str, Any]", value)
    return {**members, key: _changed_in(members[key], rest, change)}
