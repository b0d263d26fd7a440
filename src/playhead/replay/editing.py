"""Another system prompt, or other messages, for a recorded model call that is made again.

A person says it of one call, and it holds for the rest of the run: the program's own list of messages still is the old
one, so the same change is made to every later call whose messages begin as those of the edited call did, up to the last
place that was changed.  Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

from playhead.api.replaying import Edited
from playhead.errors import ReplayDiverged, ReplayError
from playhead.model import names
from playhead.model.canonical import canonical_json, content_of, parse_json
from playhead.model.message import read_message
from playhead.model.ref import ContentRef
from playhead.replay.matching.recorded_calls import RecordedCall
from playhead.replay.record import Record

_FORMS = frozenset({"system", "messages"})
_EXPECTED = 'expected {"system": text} or {"messages": {place: message, text, or null; "append": message}}, or a list'
What = Literal["replace", "insert", "remove"]
RefOf = Callable[[Any], ContentRef | None]


@dataclass(frozen=True, slots=True)
class Change:
    """At one place of a list of messages: another message, or text; one before it; or none."""

    place: int
    what: What
    message: Any = None

    def made(self, messages: list[Any]) -> None:
        """In the list."""
        if self.what == "remove":
            del messages[self.place]
        elif self.what == "insert":
            messages.insert(self.place, self.message)
        elif isinstance(self.message, str):
            messages[self.place] = {**messages[self.place], "content": self.message}
        else:
            messages[self.place] = self.message


@dataclass(frozen=True, slots=True)
class Rule:
    """For calls that begin with these messages, and whose prompt apart from them is this (its ref; None: none is)."""

    prefix: tuple[str, ...]
    apart: str | None
    changes: tuple[Change, ...]
    system: str | None = None
    """The prompt apart that they get instead."""

    def holds(self, messages: Sequence[Any], apart: str | None, ref_of: RefOf) -> bool:
        """Whether a call begins like that."""
        begin = messages[: len(self.prefix)]
        return (
            apart == self.apart
            and len(begin) == len(self.prefix)
            and all(ref_of(message) == ref for message, ref in zip(begin, self.prefix, strict=True))
        )

    def made(self, messages: Sequence[Any]) -> list[Any]:
        """The messages after the changes."""
        changed = list(messages)
        for change in self.changes:
            change.made(changed)
        return changed

    def to_json(self) -> dict[str, Any]:
        """For the record."""
        changes = [[change.place, change.what, change.message] for change in self.changes]
        return {"prefix": list(self.prefix), "apart": self.apart, "changes": changes, "system": self.system}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Raises ReplayError for what `to_json` has not written."""
        try:
            changes = tuple(Change(int(place), what, message) for place, what, message in value["changes"])
            return cls(tuple(map(str, value["prefix"])), value["apart"], changes, value["system"])
        except (TypeError, ValueError, KeyError) as error:
            raise ReplayError(f"the record's edit of a model call cannot be read ({error}): fork its parent") from error


@dataclass(frozen=True, slots=True)
class Edits:
    """Implements `api.replaying.Edit`.  `of`: the call that the newest rule was made for, where one has to apply."""

    rules: tuple[Rule, ...]
    of: str | None = None

    def applied(self, messages: Sequence[Any], system: str | None, ref_of: RefOf) -> Edited | None:
        """One rule after the other: each was made for what the model saw by then."""
        made: list[Rule] = []
        current, prompt = list(messages), None
        for rule in self.rules:
            if rule.holds(current, system, ref_of):
                current = rule.made(current)
                made.append(rule)
                if rule.system is not None:
                    prompt, system = rule.system, content_of(rule.system).ref
        if self.of is not None and self.rules[-1] not in made:
            raise ReplayDiverged(f"{self.of} cannot be edited: its messages are not recorded as they were sent")
        return Edited(current, prompt, [rule.to_json() for rule in made]) if made else None


def is_edit(outcome: Any, call: RecordedCall) -> bool:
    """Whether this outcome of a call edits what it asks, instead of saying what comes of it."""
    if names.INPUT_MESSAGES_REF not in call.span.attributes or not isinstance(outcome, Mapping):
        return False
    said = cast("Mapping[str, Any]", outcome)
    return bool(said) and _FORMS.issuperset(said)


def rule_of(outcome: Mapping[str, Any], record: Record, call: RecordedCall) -> Rule:
    """The edit that a person has set for this call.  Raises ReplayError for one that cannot be."""
    thread = call.ref(names.INPUT_MESSAGES_REF)
    refs = record.messages(thread) if thread is not None else None
    if refs is None:
        raise ReplayError(f"the messages of {call.place} are not at hand, so they cannot be edited")
    apart = call.span.attributes.get(names.SYSTEM_INSTRUCTIONS_REF)
    changes: list[Change] = []
    prompt: str | None = None
    if "messages" in outcome:
        changes += _of_messages(outcome["messages"], len(refs), call.place)
    if "system" in outcome:
        prompt = outcome["system"]
        if not isinstance(prompt, str):
            raise ReplayError(f"the system prompt for {call.place} has to be a text")
        if apart is None:
            changes.append(_of_system(prompt, refs, record))
            prompt = None
    # From the end on, so that each place is still what it was when its turn comes.
    changes.sort(key=lambda change: change.place, reverse=True)
    changed = [change.place for change in changes if change.what != "insert"]
    if not (changes or prompt) or len(changed) != len(set(changed)):
        raise ReplayError(f"the edit of {call.place} changes nothing, or one message twice; {_EXPECTED}")
    last = max((change.place for change in changes), default=-1)
    # With nothing at all in common, every call of the run would be meant.
    return Rule(tuple(refs[: max(last + 1, 1 if apart is None else 0)]), apart, tuple(changes), prompt)


def recorded_rules(record: Record, calls: Sequence[RecordedCall]) -> tuple[Rule, ...]:
    """Those that the record's calls were made under: they hold on.  Raises ReplayError."""
    found: dict[bytes, Rule] = {}
    for ref in {ref: None for call in calls if (ref := call.ref(names.EDIT_REF)) is not None}:
        content = record.content(ref)
        if content is None:
            raise ReplayError(f"the record's edit of a model call is not at hand ({ref}): fork the run's parent")
        for value in parse_json(content.data):
            found[canonical_json(value)] = Rule.from_json(value)
    return tuple(found.values())


def _of_messages(given: Any, count: int, place: str) -> list[Change]:
    if isinstance(given, list):
        new = cast("list[Any]", given)
        removed = [Change(at, "remove") for at in range(count)]
        return removed + [Change(count, "insert", _message(message, place)) for message in reversed(new)]
    if not isinstance(given, Mapping):
        raise ReplayError(f"the edit of {place} cannot be read; {_EXPECTED}")
    changes: list[Change] = []
    for key, value in cast("Mapping[Any, Any]", given).items():
        if key == "append":
            more = cast("list[Any]", value) if isinstance(value, list) else [value]
            changes += [Change(count, "insert", _message(message, place)) for message in reversed(more)]
            continue
        at = _place(key, count, place)
        if value is None:
            changes.append(Change(at, "remove"))
        else:
            changes.append(Change(at, "replace", value if isinstance(value, str) else _message(value, place)))
    return changes


def _of_system(text: str, refs: Sequence[ContentRef], record: Record) -> Change:
    for at, ref in enumerate(refs):
        content = record.content(ref)
        if content is not None and read_message(content.data)["role"] == "system":
            return Change(at, "replace", text)
    return Change(0, "insert", {"role": "system", "content": text})


def _place(key: Any, count: int, place: str) -> int:
    try:
        at = int(key)
    except (TypeError, ValueError):
        raise ReplayError(f"{key!r} is no place of a message of {place}; {_EXPECTED}") from None
    if not -count <= at < count:
        raise ReplayError(f"{place} has {count} messages, the first at 0: there is none at {at}")
    return at % count


def _message(message: Any, place: str) -> Any:
    if not isinstance(message, Mapping) or "role" not in message:
        raise ReplayError(f"a message for {place} has to be as the provider takes it, with a role; {_EXPECTED}")
    return dict(cast("Mapping[str, Any]", message))
