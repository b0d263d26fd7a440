"""Compares arguments of which a part was not read in time with recorded ones, as far as both were read.

A part that is left out because of its size is the same each time, so refs can be compared. A part that is left out
because of time is not: how long the program's code takes differs from attempt to attempt.
"""

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, cast

from playhead.calls.span import ObservedSpan
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.json_value import value_at
from playhead.model.objects.limits import CUT
from playhead.model.objects.plain_forms import class_of
from playhead.model.ref import ContentRef
from playhead.replaying.record import Record
from playhead.replaying.recorded_calls import RecordedCall

_ARGUMENTS = (names.TOOL_ARGUMENTS_REF, names.INPUT_REF)
_NOTHING: Any = object()


class CutArguments:
    """Replaces the refs of a call's arguments by those of recorded arguments that agree with them."""

    def __init__(self, calls: Iterable[RecordedCall]):
        """`calls`: recorded calls that can be answered."""
        self._call_paths = {call.call_path for call in calls if _is_cut_by_time(call.span.attributes)}
        self._own_arguments: dict[str, Any] = {}
        """Values of this attempt's arguments by ref, kept because the frames of a call have only contents that are
        new."""

    def concern(self, span: ObservedSpan, call_paths: Iterable[str]) -> bool:
        """Whether arguments of this call, or of a recorded call at its path, were not read in time."""
        return _is_cut_by_time(span.attributes) or not self._call_paths.isdisjoint(call_paths)

    def use_recorded_refs(self, span: ObservedSpan, unmatched: Iterable[RecordedCall], record: Record) -> None:
        """Gives the call the refs of recorded arguments that agree with its own except for what was not read.
        `unmatched`: recorded calls at its path that no call has matched yet; `record` has the contents of both."""
        name = next((attribute for attribute in _ARGUMENTS if attribute in span.attributes), None)
        candidates = list(unmatched)
        if name is None or any(call.ref(name) == span.attributes[name] for call in candidates):
            return
        ref = str(span.attributes[name])
        arguments = self._own_arguments.setdefault(ref, _value(record, ref))
        for call in candidates:
            if _is_cut_by_time(span.attributes) or _is_cut_by_time(call.span.attributes):
                recorded = _value(record, call.ref(name))
                if arguments is not _NOTHING and recorded is not _NOTHING and agree(arguments, recorded):
                    span.attributes[name] = call.ref(name)
                    return


def agree(left: object, right: object) -> bool:
    """Whether two recorded values are equal in everything that was read in both."""
    if _is_unread(left) or _is_unread(right):
        kinds = {kind for value in (left, right) if (kind := _kind_of(value)) is not None}
        return len(kinds) <= 1
    if isinstance(left, dict) and isinstance(right, dict):
        return _objects_agree(cast("dict[str, Any]", left), cast("dict[str, Any]", right))
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip_longest(cast("list[Any]", left), cast("list[Any]", right), fillvalue=_NOTHING)
        return all(first is not _NOTHING and second is not _NOTHING and agree(first, second) for first, second in pairs)
    return class_of(left) is class_of(right) and left == right


def _objects_agree(left: dict[str, Any], right: dict[str, Any]) -> bool:
    both = left.keys() & right.keys() - {CUT}
    if left.keys() != right.keys() and not (_is_part_unread(left) or _is_part_unread(right)):
        return False
    return all(agree(left[key], right[key]) for key in both)


def _is_unread(value: Any) -> bool:
    """Whether the value is a marker for one that was not read in time."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).keys() == {CUT} and _is_part_unread(value)


def _is_part_unread(value: Any) -> bool:
    """Whether the value is an object of which some items were not read in time."""
    about = cast("dict[str, Any]", value).get(CUT)
    return value_at(about, "why") == "time"


def _kind_of(value: Any) -> str | None:
    """Name of the class of a described value; None if the description has none."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    kind = cast("dict[str, Any]", fields[CUT]).get("type") if _is_unread(value) else fields.get("$type")
    return kind if isinstance(kind, str) else None


def _is_cut_by_time(attributes: Any) -> bool:
    return attributes.get(names.INPUT_CUT) == "time"


def _value(record: Record, ref: object) -> Any:
    """The content as JSON values; _NOTHING if it is not available, or is not JSON."""
    content = record.content(ContentRef(ref)) if isinstance(ref, str) else None
    try:
        return _NOTHING if content is None else parse_json(content.data)
    except ValueError:
        return _NOTHING
