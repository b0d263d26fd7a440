"""A recorded call → the answer that the program gets; and what a person says came of a call → the same."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.api.replaying import Answer, Restore
from playhead.errors import CannotRestore, ReplayDiverged
from playhead.model import names
from playhead.model.canonical import Content, parse_json
from playhead.refs.faithful import decode, decode_error, given_back
from playhead.replay.matching.recorded_calls import Outcome, RecordedCall
from playhead.replay.record import Record


def restored(record: Record, call: RecordedCall, restore: Restore | None) -> Answer:
    """What the call gave when it was recorded.  Raises CannotRestore."""
    if why := call.span.attributes.get(names.UNRESTORABLE):
        raise CannotRestore(str(why))
    ending = _ending(record, call)
    if restore is not None and (call.outcome is not Outcome.FAILED or call.ref(names.RESPONSE_REF) is not None):
        raw = _value(record, call, names.RESPONSE_REF)
        return Answer(value=restore.response(raw, ending), raw=raw)
    if call.outcome is Outcome.FAILED:
        return Answer(error=ending)
    kept = None if call.ref(names.RESTORE_REF) is None else _value(record, call, names.RESTORE_REF)
    kind = call.span.attributes.get(names.OUTPUT_TYPE)
    if kind == "items":
        return Answer(items=decode(kept), ending=ending)
    name = names.TOOL_RESULT_REF if call.kind == "tool" else names.OUTPUT_REF
    return Answer(value=given_back(_typed(_content(record, call, name), kind), kept))


def given(record: Record, outcome: Any, call: RecordedCall, restore: Restore | None) -> Answer:
    """An outcome that a person set: told as this run's own call, since it is not what the record says.

    Raises CannotRestore for a message that the model's client cannot read.
    """
    if isinstance(outcome, Mapping):
        said = cast("Mapping[str, Any]", outcome)
        if set(said) == {"error"}:
            error = said["error"]
            return Answer(error=error if isinstance(error, BaseException) else RuntimeError(str(error)), told=True)
        if set(said) == {"result"}:
            return Answer(value=said["result"], told=True)
        outcome = said["message"] if restore is not None and set(said) == {"message"} else said
    if restore is None or not isinstance(outcome, str | Mapping):
        return Answer(value=outcome, told=True)
    recorded = None
    if call.ref(names.RESPONSE_REF) is not None:
        recorded = _value(record, call, names.RESPONSE_REF)
    raw = restore.with_message(recorded, outcome)
    return Answer(value=restore.response(raw, None), raw=raw, told=True)


def _ending(record: Record, call: RecordedCall) -> BaseException | None:
    if call.outcome is Outcome.FAILED:
        described = _value(record, call, names.ERROR_REF)
        if not isinstance(described, dict) or "restore" not in described:
            raise CannotRestore("its error was not recorded in a form that can be given back")
        return decode_error(cast("dict[str, Any]", described)["restore"])
    if names.OUTCOME in call.span.attributes:
        return ReplayDiverged(
            f"the program reads on in {call.place} where it had stopped reading, and what comes there is not recorded; "
            "fork the run before this call"
        )
    return None


def _value(record: Record, call: RecordedCall, name: str) -> Any:
    return parse_json(_content(record, call, name).data)


def _content(record: Record, call: RecordedCall, name: str) -> Content:
    ref = call.ref(name)
    content = record.content(ref) if ref is not None else None
    if content is None:
        raise CannotRestore("what it returned was not recorded, or is not at hand")
    return content


def _typed(content: Content, kind: Any) -> Any:
    """Text and JSON with equal bytes have one ref: what the call said it was, decides."""
    if kind == "text":
        return content.data.decode("utf-8", "replace")
    return content.data if kind == "bytes" else parse_json(content.data)
