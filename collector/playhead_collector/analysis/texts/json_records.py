"""[analysis]: the objects of a JSON text (even of one that was cut) with their positions, read in one pass. Pure."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(r'"(?P<string>(?:[^"\\]++|\\.)*+)"?|(?P<mark>[{}\[\]:,])|(?P<bare>[\w.+-]{1,64})', re.DOTALL)
# Longer values are left out: keys, names and identifiers are short. Deeper objects have no parent.
_MAX_LENGTH, _MAX_DEPTH = 128, 64


@dataclass(slots=True, eq=False)
class JsonRecord:
    """An object: its position, its parent object, the key under which it (or its list) is, its scalar members as texts,
    and the keys of its members that are objects.
    """

    start: int
    key: str
    around: "JsonRecord | None"
    in_list: bool
    members: dict[str, str] = field(default_factory=dict[str, str])
    inner: set[str] = field(default_factory=set[str])

    def chain(self) -> Iterator["JsonRecord"]:
        """The object and its ancestors, innermost first."""
        here: JsonRecord | None = self
        while here is not None:
            yield here
            here = here.around


@dataclass(frozen=True, slots=True)
class JsonRecords:
    """The objects of one text."""

    _starts: list[int]
    _innermost: list[JsonRecord | None]

    def at(self, position: int) -> JsonRecord | None:
        """The innermost object around this position, or None."""
        before = bisect_right(self._starts, position) - 1
        return self._innermost[before] if before >= 0 else None


def json_records(text: str) -> JsonRecords:
    """Reads the objects of a text. A text that does not begin with `{` or `[` has none."""
    reader = _JsonReader()
    if text.lstrip()[:1] in ("{", "["):
        for token in _TOKEN.finditer(text):
            reader.take(token)
    return JsonRecords(reader.starts, reader.innermost)


class _JsonReader:
    """Tracks the open object, token by token."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.innermost: list[JsonRecord | None] = []
        # Open brackets: (the object, or for a list the object around it; whether it is a list; its key).
        self._open: list[tuple[JsonRecord | None, bool, str]] = []
        self._key = ""
        self._text: str | None = None

    def take(self, token: re.Match[str]) -> None:
        mark = token["mark"]
        match mark:
            case "{":
                self._open_object(token.start())
            case "[":
                self._open.append((self._here(), True, self._under()))
            case "}" | "]":
                self._keep_member()
                self._close(token.end())
            case ":":
                self._key, self._text = self._text or "", None
            case ",":
                self._keep_member()
            case _:
                value = token["string"] if token["string"] is not None else token["bare"]
                self._text = value if len(value) <= _MAX_LENGTH else None

    def _here(self) -> JsonRecord | None:
        return self._open[-1][0] if self._open else None

    def _in_list(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _under(self) -> str:
        return self._open[-1][2] if self._in_list() else self._key

    def _open_object(self, start: int) -> None:
        around = self._here() if len(self._open) < _MAX_DEPTH else None
        key = self._under()
        if around is not None and not self._in_list():
            around.inner.add(key)
        record = JsonRecord(start, key, around, self._in_list())
        self._open.append((record, False, key))
        self._key, self._text = "", None
        self._mark(start)

    def _close(self, end: int) -> None:
        if self._open:
            self._open.pop()
            self._mark(end)
        self._key, self._text = "", None

    def _keep_member(self) -> None:
        here = self._here()
        if here is not None and not self._in_list() and self._key and self._text is not None:
            here.members.setdefault(self._key, self._text)
        if not self._in_list():
            self._key = ""
        self._text = None

    def _mark(self, position: int) -> None:
        self.starts.append(position)
        self.innermost.append(self._here())
