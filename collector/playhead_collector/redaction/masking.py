"""Masks texts, JSON values and contents by the rules of a project.  Pure, but for the operator's hook.

What is masked becomes `[masked:NAME]`, with the name of the rule. JSON keeps its shape: objects and lists stay, refs to
other contents stay, and texts and numbers become texts. Masking what was masked by the same rules changes nothing.

Rules that fail hide more, not less: what the hook raises for, what is nested too deeply, and what takes too long is
masked as a whole, and counted.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar, cast

from playhead.model.canonical import Content, canonical_json, content_as, parse_json
from playhead.model.ref import is_ref
from playhead.model.thread import THREAD
from playhead_collector.redaction.patterns import SafePattern
from playhead_collector.redaction.presets import PRESETS
from playhead_collector.redaction.rules import HOOK, UNREADABLE, RedactionRules, name_of_key

T = TypeVar("T")

_NODE: Final = re.compile(rb'\{"message":"sha256:[0-9a-f]{64}","parent":(?:null|"sha256:[0-9a-f]{64}")\}')
_MARK: Final = re.compile(r"\[masked:([a-z0-9_-]{1,40})\]")
_MOST_DEPTH: Final = 100
# Each round masks something that the one before has uncovered: a second one changes hardly ever anything.
_MOST_ROUNDS: Final = 20
# Of the processor, for one batch: the patterns of a project take some ten nanoseconds per character each.
_SECONDS: Final = 2.0
_SECONDS_PER_CHARACTER: Final = 2e-6
# Numbers from here on are searched as texts: those of cards, accounts, telephones.
_SEARCHED_NUMBERS: Final = 10_000_000
_MAX_KEY_LENGTH: Final = 256
_MOST_KNOWN: Final = 10_000

# Words of our own forms, without which masked JSON could not be read as what it is.
_STRUCTURE: Final[Mapping[str, frozenset[str]]] = {
    "role": frozenset({"system", "user", "assistant", "tool", "developer", "function", "model"}),
    "type": frozenset({
        "text", "reasoning", "tool_call", "tool_call_response", "blob", "uri", "file", "playhead.ref", "function",
        "image_url", "tool_use", "tool_result", "thinking", "object", "string", "number", "integer", "boolean", "array",
    }),
}  # fmt: skip


class MaskingHook(Protocol):
    """The operator's function. It gets a text, a JSON value or bytes, and the project's name, and returns what may be
    stored of it."""

    def __call__(self, value: Any, project: str, /) -> Any: ...


class _TakesTooLong(Exception):
    """The rules have taken more time than their texts may take."""


@dataclass(frozen=True, slots=True)
class _KeyRule:
    """A name with `*` for any characters."""

    name: str
    parts: tuple[str, ...]

    def matches(self, key: str) -> bool:
        first, *rest = self.parts
        if not rest:
            return key == first
        *middle, last = rest
        if len(key) < len(first) + len(last) or not (key.startswith(first) and key.endswith(last)):
            return False
        at, end = len(first), len(key) - len(last)
        for part in middle:
            found = key.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True


class Masker:
    """The rules of a project, ready to be run. Safe for threads, but for `counts`.

    `counts`: `contents`, `spans`, `logs` that were changed; `hook_failures`, `too_long`: what was masked as a whole.
    """

    def __init__(
        self,
        rules: RedactionRules,
        project: str = "",
        hook: MaskingHook | None = None,
        counts: Counter[str] | None = None,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """`hook` is called if the rules say so; if there is none then, everything is masked. `counts`: added
        to. `clock`: seconds of the processor in this thread."""
        self.rules = rules
        self.counts: Counter[str] = Counter() if counts is None else counts
        self._project, self._hook, self._clock = project, hook, clock
        self._keys = [_KeyRule(name_of_key(key), tuple(key.lower().split("*"))) for key in rules.keys]
        self._exact = {rule.parts[0]: rule.name for rule in self._keys if len(rule.parts) == 1}
        self._patterns = [
            (name, SafePattern(text, PRESETS[name].counts)) for name in rules.presets for text in PRESETS[name].patterns
        ] + [(name, SafePattern(text)) for name, text in rules.patterns]
        self._names = {HOOK, UNREADABLE, *(rule.name for rule in self._keys), *(name for name, _ in self._patterns)}
        self._known: dict[str, str | None] = {}

    # --- entries ------------------------------------------------------------------------------------------------------

    def content(self, content: Content) -> Content:
        """Returns the content as it may be stored: itself if no rule matches, else one that is `masked`, under the ref
        of what was sent."""
        if content.media_type == THREAD and _NODE.fullmatch(content.data):
            return content  # whoever says that other bytes are a thread gets them masked as anybody
        # As the bytes alone are read: who stored them first does not decide how.
        plain = content if content.is_masked else content_as(content, content.ref.plain)
        data = self._data(plain)
        if data == content.data:
            return content
        self.counts["contents"] += 1
        return Content.masked(content.ref, data, plain.media_type)

    def json(self, value: Any, *, through_hook: bool = True) -> Any:
        """Returns a JSON value or text as it may be stored. Equal to `value` if no rule matches."""
        return self._bounded(self.hooked(value) if through_hook else value)

    def hooked(self, value: Any) -> Any:
        """Returns what the hook leaves of a value; masks in place of all that it says if the hook fails."""
        failed, returned = self._through_hook(value)
        return self.hidden(value, HOOK) if failed else returned

    def text(self, text: str) -> str:
        """Returns a text as it may be stored, without the hook."""
        masked = self._bounded(text)
        return masked if isinstance(masked, str) else mark(UNREADABLE)

    def hides(self, key: str, *, exactly: bool = False) -> str | None:
        """Returns the name of the rule that masks the value of this member; None: none does. `exactly`: only a rule
        that names it without `*`."""
        key = key[-_MAX_KEY_LENGTH:].lower()
        if exactly:
            return self._exact.get(key)
        if key in self._known:
            return self._known[key]
        name = next((rule.name for rule in self._keys if rule.matches(key)), None)
        if len(self._known) < _MOST_KNOWN:
            self._known[key] = name
        return name

    def hidden(self, value: Any, name: str) -> Any:
        """Returns the value with masks in place of all that it says."""
        return self._hidden(value, name, 0)

    # --- what they do -------------------------------------------------------------------------------------------------

    def _data(self, content: Content) -> bytes:
        try:
            text = content.data.decode()  # bytes that are UTF-8 are searched as text, whatever their media type
        except UnicodeDecodeError:
            return self._bytes(content.data)
        value = _parsed(text)
        if value is None:
            masked = self.json(text)
            return content.data if masked == text else _as_text(masked).encode("utf-8", "replace")
        masked = self.json(value)
        return content.data if masked == value and not _repeats_members(text, value) else canonical_json(masked)

    def _bytes(self, data: bytes) -> bytes:
        """Images, files and the like: only the hook sees them."""
        failed, value = self._through_hook(data)
        if failed or not isinstance(value, bytes):
            return mark(HOOK).encode()
        return value

    def _through_hook(self, value: Any) -> tuple[bool, Any]:
        """Returns whether the hook failed, and what it returned; the value if there is none."""
        if not self.rules.hook:
            return False, value
        if self._hook is not None:
            try:
                returned = self._hook(_copied(value), self._project)
                if type(returned) is type(value) or (not isinstance(value, bytes) and not isinstance(returned, bytes)):
                    return False, returned if isinstance(returned, bytes) else parse_json(canonical_json(returned))
            except Exception:  # noqa: BLE001, S110 - the operator's code may raise anything; what it raises may tell the secret
                pass
        self.counts["hook_failures"] += 1
        return True, value

    def _bounded(self, value: Any) -> Any:
        clock = _TimeLimit(self._clock)
        try:
            return self._value(value, clock, 0)
        except _TakesTooLong:
            self.counts["too_long"] += 1
            return self.hidden(value, UNREADABLE)

    def _value(self, value: Any, clock: "_TimeLimit", depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value, clock, depth)
        if depth > _MOST_DEPTH:
            return value if value is None or isinstance(value, bool | int | float) else mark(UNREADABLE)
        if isinstance(value, list):
            return [self._value(item, clock, depth + 1) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value), clock, depth)
        if isinstance(value, int) and abs(value) >= _SEARCHED_NUMBERS:
            digits = str(value)
            masked = self._text(digits, clock, _MOST_DEPTH)
            return value if masked == digits else masked
        return value

    def _object(self, value: dict[str, Any], clock: "_TimeLimit", depth: int) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        for key, item in value.items():
            if isinstance(item, str) and item in _STRUCTURE.get(key, ()):
                masked[key] = item
                continue
            name = self.hides(key)
            new_key = free_name(self._text(key, clock, _MOST_DEPTH), masked)
            if name is not None:
                masked[new_key] = self._hidden(item, name, depth + 1)
            else:
                masked[new_key] = self._value(item, clock, depth + 1)
        return masked

    def _hidden(self, value: Any, name: str, depth: int) -> Any:
        if value is None or isinstance(value, bool) or is_ref(value) or value == "":
            return value
        if depth <= _MOST_DEPTH and isinstance(value, list):
            return [self._hidden(item, name, depth + 1) for item in cast("list[Any]", value)]
        if depth <= _MOST_DEPTH and isinstance(value, dict):
            hidden: dict[str, Any] = {}
            for key, item in cast("dict[str, Any]", value).items():
                is_structure = isinstance(item, str) and item in _STRUCTURE.get(key, ())
                # Names of members are data as well, where all of an object is hidden since nothing could look at it.
                new_key = free_name(self._name(key, name), hidden)
                hidden[new_key] = item if is_structure else self._hidden(item, name, depth + 1)
            return hidden
        return mark(name)

    def _name(self, key: str, name: str) -> str:
        if name in (HOOK, UNREADABLE):
            return key
        return self._text(key, _TimeLimit(self._clock), _MOST_DEPTH)

    def _text(self, text: str, clock: "_TimeLimit", depth: int) -> str:
        if is_ref(text):
            return text
        if depth < _MOST_DEPTH and (inner := _parsed(text)) is not None:  # as arguments of tools often are
            masked = self._value(inner, clock, depth + 1)
            if masked == inner and not _repeats_members(text, inner):
                return text
            return canonical_json(masked).decode()
        clock.allow(len(text))
        for _ in range(_MOST_ROUNDS):
            masked = text
            for name, pattern in self._patterns:
                masked = self._replaced(masked, name, pattern)
                clock.check()
            if masked == text:
                return text
            text = masked
        return mark(UNREADABLE)

    def _replaced(self, text: str, name: str, pattern: SafePattern) -> str:
        parts: list[str] = []
        at = 0
        for start, end in self._unmarked(text):
            for first, last in pattern.matches(text, start, end):
                parts += (text[at:first], mark(name))
                at = last
        return "".join((*parts, text[at:])) if parts else text

    def _unmarked(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields the places of a text between its masks."""
        at = 0
        if "[masked:" in text:
            for found in _MARK.finditer(text):
                if found[1] in self._names:
                    yield at, found.start()
                    at = found.end()
        yield at, len(text)


class _TimeLimit:
    """Ends what takes longer than its texts may take."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = clock() + _SECONDS

    def allow(self, characters: int) -> None:
        self._until += characters * _SECONDS_PER_CHARACTER

    def check(self) -> None:
        if self._clock() > self._until:
            raise _TakesTooLong


def masked_values(masker: Masker, values: Sequence[T]) -> list[T]:
    """Returns texts or JSON values as they may be stored; a text stays a text."""
    left: list[Any] = []
    for value in values:
        after = masker.json(value)
        is_text = isinstance(value, str) and not isinstance(after, str)
        left.append(canonical_json(after).decode() if is_text else after)
    return left


def mark(name: str) -> str:
    """Returns what stands for something that the rule of this name has masked."""
    return f"[masked:{name}]"


def _parsed(text: str) -> Any:
    """Returns the object or list that a text is as JSON; None: it is none."""
    stripped = text[:1] if text[:1] not in " \t\r\n" else text.lstrip()[:1]
    if stripped not in ("{", "["):
        return None
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


class _RepeatedMember(Exception):
    """An object has two members of one name."""


def _repeats_members(text: str, value: Any) -> bool:
    """Whether an object in a JSON text has two members of one name: only the last of them was looked at."""
    if canonical_json(value) == text.encode("utf-8", "replace"):
        return False
    try:
        json.loads(text, object_pairs_hook=_once)
    except _RepeatedMember:
        return True
    except (ValueError, RecursionError):
        pass
    return False


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise _RepeatedMember


def _copied(value: Any) -> Any:
    return value if isinstance(value, str | bytes) else parse_json(canonical_json(value))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def free_name(key: str, taken: Mapping[str, Any]) -> str:
    """Returns a name that no other member has: two names may become one when they are masked."""
    if key not in taken:
        return key
    number = 2
    while f"{key} {number}" in taken:
        number += 1
    return f"{key} {number}"
