"""Arguments of which a part was not read in time: compared with recorded ones as far as both were read.

What is left out of a large value is the same part each time, so its refs can be compared.  How long code of the program
takes differs from process to process: of the same arguments, a part may be left out in one attempt and not in another.
"""

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, cast

from playhead.api.calls.span import ObservedSpan
from playhead.model import names
from playhead.model.canonical import parse_json
from playhead.model.objects.limits import CUT
from playhead.model.objects.plain_forms import class_of
from playhead.model.ref import ContentRef
from playhead.replay.matching.recorded_calls import RecordedCall
from playhead.replay.record import Record

_ARGUMENTS = (names.TOOL_ARGUMENTS_REF, names.INPUT_REF)
_NOTHING: Any = object()


class CutArguments:
    """Gives calls the refs of the recorded arguments that theirs agree with."""

    def __init__(self, calls: Iterable[RecordedCall]):
        """`calls`: the record's, that can be answered."""
        self._call_paths = {call.call_path for call in calls if _is_cut_by_time(call.span.attributes)}
        self._given: dict[str, Any] = {}
        """Arguments of this attempt by their refs: a content that comes again is not among those of its call."""

    def concern(self, span: ObservedSpan, call_paths: Iterable[str]) -> bool:
        """Whether arguments of this call, or of a recorded one at its place, were not read in time."""
        return _is_cut_by_time(span.attributes) or not self._call_paths.isdisjoint(call_paths)

    def adopt(self, span: ObservedSpan, left: Iterable[RecordedCall], record: Record) -> None:
        """Where the arguments agree with those of a recorded call, but for what was not read, the call has the recorded
        arguments from now on.  `left`: calls at its place that no call has matched yet; `record` has the contents of
        both."""
        name = next((each for each in _ARGUMENTS if each in span.attributes), None)
        candidates = list(left)
        if name is None or any(call.ref(name) == span.attributes[name] for call in candidates):
            return
        ref = str(span.attributes[name])
        given = self._given.setdefault(ref, _value(record, ref))
        for call in candidates:
            if _is_cut_by_time(span.attributes) or _is_cut_by_time(call.span.attributes):
                recorded = _value(record, call.ref(name))
                if given is not _NOTHING and recorded is not _NOTHING and agree(given, recorded):
                    span.attributes[name] = call.ref(name)
                    return


def agree(one: Any, other: Any) -> bool:
    """Whether two recorded values are equal where both were read."""
    if _is_unread(one) or _is_unread(other):
        kinds = {kind for value in (one, other) if (kind := _kind_of(value)) is not None}
        return len(kinds) <= 1
    if isinstance(one, dict) and isinstance(other, dict):
        return _objects_agree(cast("dict[str, Any]", one), cast("dict[str, Any]", other))
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip_longest(cast("list[Any]", one), cast("list[Any]", other), fillvalue=_NOTHING)
        return all(first is not _NOTHING and second is not _NOTHING and agree(first, second) for first, second in pairs)
    return class_of(one) is class_of(other) and one == other


def _objects_agree(one: dict[str, Any], other: dict[str, Any]) -> bool:
    both = one.keys() & other.keys() - {CUT}
    if one.keys() != other.keys() and not (_is_part_unread(one) or _is_part_unread(other)):
        return False
    return all(agree(one[key], other[key]) for key in both)


def _is_unread(value: Any) -> bool:
    """Whether it stands for a value that was not read in time."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).keys() == {CUT} and _is_part_unread(value)


def _is_part_unread(value: Any) -> bool:
    """Whether it is an object of which some items were not read in time."""
    about = cast("dict[str, Any]", value).get(CUT)
    return isinstance(about, dict) and cast("dict[str, Any]", about).get("why") == "time"


def _kind_of(value: Any) -> str | None:
    """The name of the class of a described value; None: it does not say."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    kind = cast("dict[str, Any]", fields[CUT]).get("type") if _is_unread(value) else fields.get("$type")
    return kind if isinstance(kind, str) else None


def _is_cut_by_time(attributes: Any) -> bool:
    return attributes.get(names.INPUT_CUT) == "time"


def _value(record: Record, ref: Any) -> Any:
    """_NOTHING where it is not at hand, or no JSON."""
    content = record.content(ContentRef(ref)) if isinstance(ref, str) else None
    try:
        return _NOTHING if content is None else parse_json(content.data)
    except ValueError:
        return _NOTHING
