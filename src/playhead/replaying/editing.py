"""Edits of recorded model calls: another system prompt, or other messages, for a call that is made again.

A person edits one call, and the edit holds for the rest of the run, since the program's own list of messages is still
the old one. The same change is made to every later call whose messages begin like those of the edited call, up to the
last position that was changed. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

from playhead.calls.replay import EditedRequest
from playhead.errors import ReplayDiverged, ReplayError
from playhead.model import names
from playhead.model.canonical import canonical_json, content_of, parse_json
from playhead.model.message import read_message
from playhead.model.ref import ContentRef
from playhead.replaying.record import Record, refuse_masked
from playhead.replaying.recorded_calls import RecordedCall

_FORMS = frozenset({"system", "messages"})
_EXPECTED = 'expected {"system": text} or {"messages": {place: message, text, or null; "append": message}}, or a list'
EditOperation = Literal["replace", "insert", "remove"]
RefOf = Callable[[Any], ContentRef | None]


@dataclass(frozen=True, slots=True)
class MessageEdit:
    """An edit at one position of a message list: replace, insert before, or remove."""

    position: int
    operation: EditOperation
    message: Any = None

    def apply(self, messages: list[Any]) -> None:
        """Applies the edit to the list, in place."""
        if self.operation == "remove":
            del messages[self.position]
        elif self.operation == "insert":
            messages.insert(self.position, self.message)
        elif isinstance(self.message, str):
            messages[self.position] = {**messages[self.position], "content": self.message}
        else:
            messages[self.position] = self.message


@dataclass(frozen=True, slots=True)
class EditRule:
    """Edits for calls whose messages begin with `prefix` and whose separate system prompt has the ref `system_ref`
    (None: none)."""

    prefix: tuple[str, ...]
    system_ref: str | None
    changes: tuple[MessageEdit, ...]
    system: str | None = None
    """Replacement of the separate system prompt; None: it is kept."""

    def matches(self, messages: Sequence[Any], system_ref: str | None, ref_of: RefOf) -> bool:
        """Whether the rule applies to a call with these messages and this separate system prompt."""
        begin = messages[: len(self.prefix)]
        return (
            system_ref == self.system_ref
            and len(begin) == len(self.prefix)
            and all(ref_of(message) == ref for message, ref in zip(begin, self.prefix, strict=True))
        )

    def apply(self, messages: Sequence[Any]) -> list[Any]:
        """Returns the messages with the edits applied."""
        changed = list(messages)
        for change in self.changes:
            change.apply(changed)
        return changed

    def to_json(self) -> dict[str, Any]:
        """The rule as JSON values, for the record."""
        changes = [[change.position, change.operation, change.message] for change in self.changes]
        return {"prefix": list(self.prefix), "apart": self.system_ref, "changes": changes, "system": self.system}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Reads the result of `to_json`. Raises ReplayError for anything else."""
        try:
            changes = tuple(
                MessageEdit(int(position), operation, message) for position, operation, message in value["changes"]
            )
            return cls(tuple(map(str, value["prefix"])), value["apart"], changes, value["system"])
        except (TypeError, ValueError, KeyError) as error:
            raise ReplayError(f"the record's edit of a model call cannot be read ({error}): fork its parent") from error


@dataclass(frozen=True, slots=True)
class Edits:
    """Implements `calls.replay.RequestEdit`. `required_for`: path of the call for which the newest rule was made and
    to which it has to apply; None: no rule has to apply."""

    rules: tuple[EditRule, ...]
    required_for: str | None = None

    def apply(self, messages: Sequence[Any], system: str | None, ref_of: RefOf) -> EditedRequest | None:
        """Applies the matching rules one after the other, each to the result of those before. Returns None if none
        matches. Raises ReplayDiverged if the newest rule has to apply and does not match."""
        made: list[EditRule] = []
        current, prompt = list(messages), None
        for rule in self.rules:
            if rule.matches(current, system, ref_of):
                current = rule.apply(current)
                made.append(rule)
                if rule.system is not None:
                    prompt, system = rule.system, content_of(rule.system).ref
        if self.required_for is not None and self.rules[-1] not in made:
            raise ReplayDiverged(
                f"{self.required_for} cannot be edited: its messages are not recorded as they were sent"
            )
        return EditedRequest(current, prompt, [rule.to_json() for rule in made]) if made else None


def is_edit(outcome: object, call: RecordedCall) -> bool:
    """Whether the outcome that was set for a call edits its request, instead of its result."""
    if names.INPUT_MESSAGES_REF not in call.span.attributes or not isinstance(outcome, Mapping):
        return False
    fields = cast("Mapping[str, Any]", outcome)
    return bool(fields) and _FORMS.issuperset(fields)


def rule_of(outcome: Mapping[str, Any], record: Record, call: RecordedCall) -> EditRule:
    """Returns the rule for the edit that a person has set for this call. Raises ReplayError if that edit is
    impossible."""
    thread = call.ref(names.INPUT_MESSAGES_REF)
    refs = record.messages(thread) if thread is not None else None
    if refs is None:
        raise ReplayError(f"the messages of {call.call_path} are not at hand, so they cannot be edited")
    system_ref = call.span.attributes.get(names.SYSTEM_INSTRUCTIONS_REF)
    changes: list[MessageEdit] = []
    prompt: str | None = None
    if "messages" in outcome:
        changes += _of_messages(outcome["messages"], len(refs), call.call_path)
    if "system" in outcome:
        prompt = outcome["system"]
        if not isinstance(prompt, str):
            raise ReplayError(f"the system prompt for {call.call_path} has to be a text")
        if system_ref is None:
            changes.append(_of_system(prompt, refs, record))
            prompt = None
    # From the last position to the first, so that positions that are still to change stay valid.
    changes.sort(key=lambda change: change.position, reverse=True)
    changed = [change.position for change in changes if change.operation != "insert"]
    if not (changes or prompt) or len(changed) != len(set(changed)):
        raise ReplayError(f"the edit of {call.call_path} changes nothing, or one message twice; {_EXPECTED}")
    last = max((change.position for change in changes), default=-1)
    # An empty prefix without a system prompt would match every call of the run.
    return EditRule(tuple(refs[: max(last + 1, 1 if system_ref is None else 0)]), system_ref, tuple(changes), prompt)


def recorded_rules(record: Record, calls: Sequence[RecordedCall]) -> tuple[EditRule, ...]:
    """The rules under which calls of the record were made, which still hold. Raises ReplayError."""
    rules: dict[bytes, EditRule] = {}
    for ref in {ref: None for call in calls if (ref := call.ref(names.EDIT_REF)) is not None}:
        content = record.content(ref)
        if content is None:
            raise ReplayError(f"the record's edit of a model call is not at hand ({ref}): fork the run's parent")
        refuse_masked(content, f"the record's edit of a model call ({ref})", "fork the run's parent")
        for value in parse_json(content.data):
            rules[canonical_json(value)] = EditRule.from_json(value)
    return tuple(rules.values())


def _of_messages(edit: object, count: int, call_path: str) -> list[MessageEdit]:
    if isinstance(edit, list):
        new = cast("list[Any]", edit)
        removed = [MessageEdit(position, "remove") for position in range(count)]
        return removed + [MessageEdit(count, "insert", _message(message, call_path)) for message in reversed(new)]
    if not isinstance(edit, Mapping):
        raise ReplayError(f"the edit of {call_path} cannot be read; {_EXPECTED}")
    changes: list[MessageEdit] = []
    for key, value in cast("Mapping[Any, Any]", edit).items():
        if key == "append":
            more = cast("list[Any]", value) if isinstance(value, list) else [value]
            changes += [MessageEdit(count, "insert", _message(message, call_path)) for message in reversed(more)]
            continue
        position = _position(key, count, call_path)
        if value is None:
            changes.append(MessageEdit(position, "remove"))
        else:
            changes.append(
                MessageEdit(position, "replace", value if isinstance(value, str) else _message(value, call_path))
            )
    return changes


def _of_system(text: str, refs: Sequence[ContentRef], record: Record) -> MessageEdit:
    for position, ref in enumerate(refs):
        content = record.content(ref)
        if content is not None and read_message(content.data)["role"] == "system":
            return MessageEdit(position, "replace", text)
    return MessageEdit(0, "insert", {"role": "system", "content": text})


def _position(key: Any, count: int, call_path: str) -> int:
    try:
        position = int(key)
    except (TypeError, ValueError):
        raise ReplayError(f"{key!r} is no place of a message of {call_path}; {_EXPECTED}") from None
    if not -count <= position < count:
        raise ReplayError(f"{call_path} has {count} messages, the first at 0: there is none at {position}")
    return position % count


def _message(message: object, call_path: str) -> Any:
    if not isinstance(message, Mapping) or "role" not in message:
        raise ReplayError(f"a message for {call_path} has to be as the provider takes it, with a role; {_EXPECTED}")
    return dict(cast("Mapping[str, Any]", message))
