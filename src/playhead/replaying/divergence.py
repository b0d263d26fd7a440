"""Describes the difference between a call and the recorded call that it was compared with, for a person."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from playhead.calls.caller_settings import compared_settings
from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.message import message_lines, read_message
from playhead.model.ref import ContentRef
from playhead.replaying.record import Record
from playhead.replaying.recorded_calls import (
    RecordedCall,
    arguments_of,
    program_system,
    program_thread,
    request_refs_of,
    settings_ref,
)

_WORDS = {
    names.SYSTEM_INSTRUCTIONS_REF: "system instructions",
    names.TOOL_DEFINITIONS_REF: "tool definitions",
    names.REQUEST_REF: "request settings",
    names.TOOL_ARGUMENTS_REF: "arguments",
    names.INPUT_REF: "arguments",
}
_VERBS = {
    "changed": "asks something else than it did",
    "renamed": "is in the record under another path",
    "kind_changed": "was recorded as a call that is answered, and would be executed again now",
    "not_called_again": "was not called again",
}
_MAX_LINES = 40
_MAX_WIDTH = 300


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """One difference: what differs, and a unified diff of its lines."""

    what: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Divergence:
    """A call that differs from the record. `str()` gives the report."""

    how: str
    call_path: str
    recorded_order: int
    changes: tuple[FieldDiff, ...]
    code_changed: bool
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        verb = _VERBS.get(self.how, "is not in the record here")
        lines = [f"{self.call_path} {verb} (recorded call {self.recorded_order})"]
        for change in self.changes:
            lines += [f"  {change.what} changed:", *(f"    {line}" for line in change.lines)]
        if self.code_changed:
            lines.append("  the function's own code has changed since")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


def describe_divergence(how: str, attributes: Mapping[str, Any], expected: RecordedCall, record: Record) -> Divergence:
    """Compares the call (`attributes` of its span) with the recorded one; `record` has the contents of both."""
    call_path = str(attributes.get(names.CALL_KEY, ""))
    code, then = attributes.get(names.CODE), expected.span.attributes.get(names.CODE)
    if how == "renamed":
        code_changed = code is not None and code != then
        return Divergence(how, call_path, expected.order, (), code_changed, _renamed(call_path, expected))
    if how == "kind_changed":
        return Divergence(how, call_path, expected.order, (), False, (_kind_changed(attributes, expected),))
    if how == "inserted":
        notes = [f"the record goes on with {expected.call_path}"]
        if not expected.can_answer:
            notes = [f"{expected.call_path} had completed without such a call"]
        elif request_refs_of(attributes) == expected.request_refs and attributes.get(names.KIND) == expected.kind:
            notes.append(f"with the same arguments: was {expected.name} renamed?")
        return Divergence(how, call_path, expected.order, (), False, tuple(notes))
    changes = [change for name in _WORDS if (change := _value_change(name, attributes, expected, record))]
    thread = _thread_change(attributes, expected, record)
    return Divergence(
        how, call_path, expected.order, (*thread, *changes), code is not None and then is not None and code != then
    )


def _kind_changed(attributes: Mapping[str, Any], expected: RecordedCall) -> str:
    kind = str(attributes.get(names.KIND, "step"))
    if kind == expected.kind:
        return f"{expected.call_path} was recorded with replay=True: give it that back"
    asks = "" if arguments_of(attributes) == expected.arguments else ", with other arguments"
    return (
        f"{expected.call_path} was recorded as a {expected.kind}{asks}, and is a {kind} now: give it "
        f"kind={expected.kind!r} back"
    )


def _renamed(key: str, expected: RecordedCall) -> tuple[str, ...]:
    """Describes the change of the path, as a sentence and as the option with which to resume."""
    old, new = (call_path.rpartition(":")[0].split("/") for call_path in (expected.call_path, key))
    while len(old) > 1 and len(new) > 1 and old[-1] == new[-1]:
        old.pop()
        new.pop()
    was, is_now = "/".join(old), "/".join(new)
    if is_now.startswith(f"{was}/"):
        change = f"calls in {was} are now made in {is_now}"
    elif was.startswith(f"{is_now}/"):
        change = f"calls in {was} are now made in {is_now} itself"
    else:
        change = f"it looks as if {was} was renamed to {is_now}"
    option = f"if so, resume with renamed={{{was!r}: {is_now!r}}}, or playhead resume --renamed {was}={is_now}"
    return f"the record has {expected.call_path} with the same arguments: {change}", option


def _value_change(name: str, attributes: Mapping[str, Any], expected: RecordedCall, record: Record) -> FieldDiff | None:
    new, old = (_compared(name, source) for source in (attributes, expected.span.attributes))
    if new == old:
        return None
    if name == names.REQUEST_REF:
        new, old = (_settings(source.get(name), record) for source in (attributes, expected.span.attributes))
    else:
        new, old = (_text(ref, record) for ref in (new, old))
    return FieldDiff(_WORDS[name], _diff(old, new))


def _settings(ref: Any, record: Record) -> str:
    """The compared settings as text; other settings do not make the call differ."""
    data = None if ref is None else _bytes(ContentRef(ref), record)
    try:
        compared = compared_settings(parse_json(data)) if data is not None else None
    except ValueError:
        compared = None
    return _text(ref, record) if compared is None else "\n".join(_lines("", compared))


def _compared(name: str, attributes: Mapping[str, Any]) -> str | None:
    if name == names.SYSTEM_INSTRUCTIONS_REF:
        return program_system(attributes)
    return settings_ref(attributes) if name == names.REQUEST_REF else attributes.get(name)


def _thread_change(attributes: Mapping[str, Any], expected: RecordedCall, record: Record) -> list[FieldDiff]:
    new, old = program_thread(attributes), program_thread(expected.span.attributes)
    if new is None or old is None or new == old:
        return []
    before, after = record.messages(ContentRef(old)), record.messages(ContentRef(new))
    if before is None or after is None:
        return [FieldDiff("messages", ("the recorded messages are not at hand to compare",))]
    changes: list[FieldDiff] = []
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag != "equal":
            was = "\n".join(_message(ref, record) for ref in before[a1:a2])
            is_now = "\n".join(_message(ref, record) for ref in after[b1:b2])
            changes.append(FieldDiff(_position_range(a1, a2, b1, b2), _diff(was, is_now)))
    return changes


def _position_range(a1: int, a2: int, b1: int, b2: int) -> str:
    first, last = (a1, a2) if a2 > a1 else (b1, b2)
    return f"message {first + 1}" if last - first == 1 else f"messages {first + 1} to {last}"


def _message(ref: ContentRef, record: Record) -> str:
    data = _bytes(ref, record)
    if data is None:
        return f"({ref} is not at hand)"
    try:
        message = read_message(data)
    except ValueError:
        return data.decode("utf-8", "replace")
    return f"{message['role']}: " + "\n".join(filter(None, message_lines(message)))


def _text(ref: str | None, record: Record) -> str:
    if ref is None:
        return ""
    data = _bytes(ContentRef(ref), record)
    if data is None:
        return f"({ref} is not at hand)"
    return "\n".join(_flat(data))


def _bytes(ref: ContentRef, record: Record) -> bytes | None:
    content = record.content(ref)
    return None if content is None else content.data


def _flat(data: bytes) -> list[str]:
    """JSON as one `path: value` per line, so that a diff shows which value changed."""
    try:
        return list(_lines("", parse_json(data)))
    except ValueError:
        return data.decode("utf-8", "replace").splitlines()


def _lines(path: str, value: Any) -> Sequence[str]:
    if isinstance(value, dict) and value:
        items = cast("dict[str, Any]", value).items()
        return [line for key, item in items for line in _lines(f"{path}.{key}" if path else str(key), item)]
    if isinstance(value, list) and value:
        numbered = enumerate(cast("list[Any]", value))
        return [line for index, item in numbered for line in _lines(f"{path}[{index}]", item)]
    return [f"{path}: {canonical_json(value).decode('utf-8', 'replace')}"]


def _diff(before: str, after: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    changed_lines = [line[:_MAX_WIDTH] for line in lines if not line.startswith(("---", "+++", "@@"))]
    more = len(changed_lines) - _MAX_LINES
    return (*changed_lines[:_MAX_LINES], f"... and {more} more lines") if more > 0 else tuple(changed_lines)
