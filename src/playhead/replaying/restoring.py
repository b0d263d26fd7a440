"""Builds the answer for the program from a recorded call, or from an outcome that a person set."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from playhead.calls.replay import ReplayAnswer, ResponseRestorer
from playhead.errors import CannotRestore, ReplayDiverged, ReplayError
from playhead.model import names
from playhead.model.canonical import Content, is_json_type, parse_json
from playhead.model.objects.limits import CUT_SENTENCES
from playhead.model.ref import ContentRef
from playhead.refs.faithful import FetchBytes, decode, decode_error, refuse_marker, restored_value, with_key_orders
from playhead.replaying.record import Record, refuse_masked
from playhead.replaying.recorded_calls import Outcome, RecordedCall


def answer_from_record(record: Record, call: RecordedCall, restore: ResponseRestorer | None) -> ReplayAnswer:
    """Returns the answer with the recorded outcome of the call. Raises CannotRestore, MaskedContent."""
    if why := call.span.attributes.get(names.UNRESTORABLE):
        raise CannotRestore(str(why))
    if call.span.attributes.get(names.OUTPUT_CUT) == "room":
        raise CannotRestore(CUT_SENTENCES["room"])
    ending = _ending(record, call)
    if restore is not None and (call.outcome is not Outcome.FAILED or call.ref(names.RESPONSE_REF) is not None):
        raw = _value(record, call, names.RESPONSE_REF)
        refuse_marker(raw)
        if call.ref(names.RESTORE_REF) is not None:
            raw = with_key_orders(raw, _value(record, call, names.RESTORE_REF))
        return ReplayAnswer(value=restore.response(raw, ending), raw=raw)
    if call.outcome is Outcome.FAILED:
        return ReplayAnswer(error=ending)
    restore_tree = None if call.ref(names.RESTORE_REF) is None else _value(record, call, names.RESTORE_REF)
    kind = call.span.attributes.get(names.OUTPUT_TYPE)
    if kind == "items":
        return ReplayAnswer(items=decode(restore_tree, fetch=_bytes_in(record, *_masked_call(call))), ending=ending)
    name = names.TOOL_RESULT_REF if call.kind == "tool" else names.OUTPUT_REF
    ordinary = _typed(_content(record, call, name), kind, restore_tree)
    fetch = _bytes_in(record, *_masked_call(call))
    return ReplayAnswer(value=restored_value(ordinary, restore_tree, fetch=fetch))


def restored_payload(record: Record, attributes: Mapping[str, Any], name: str) -> Any:
    """The value that `typed_payload` stored under `name`. Fields that were added to its class since then get their
    defaults. Raises CannotRestore, MaskedContent."""
    if why := attributes.get(names.UNRESTORABLE):
        raise CannotRestore(f"this state was recorded, but cannot be given back: {why}")
    ref = attributes.get(names.RESTORE_REF)
    of = f"the value in {name} that the run has recorded", _WITHOUT_STATE
    restore_tree = None if ref is None else parse_json(_content_of(record, ref, *of).data)
    ordinary = _typed(_content_of(record, attributes.get(name), *of), attributes.get(names.OUTPUT_TYPE), restore_tree)
    return restored_value(ordinary, restore_tree, with_defaults=True, fetch=_bytes_in(record, *of))


def answer_from_outcome(
    record: Record, outcome: object, call: RecordedCall, restore: ResponseRestorer | None
) -> ReplayAnswer:
    """Returns the answer for an outcome that a person set. It is recorded in this run, because the record differs.

    Raises CannotRestore for a message that the model's client cannot read.
    """
    if isinstance(outcome, Mapping):
        fields = cast("Mapping[str, Any]", outcome)
        if set(fields) == {"error"}:
            error = fields["error"]
            return ReplayAnswer(
                error=error if isinstance(error, BaseException) else RuntimeError(str(error)), is_new=True
            )
        if set(fields) == {"result"}:
            return ReplayAnswer(value=fields["result"], is_new=True)
        outcome = fields["message"] if restore is not None and set(fields) == {"message"} else fields
    if restore is None or not isinstance(outcome, str | Mapping):
        return ReplayAnswer(value=outcome, is_new=True)
    recorded = None
    if call.ref(names.RESPONSE_REF) is not None:
        recorded = _value(record, call, names.RESPONSE_REF)
    raw = restore.with_message(recorded, outcome)
    return ReplayAnswer(value=restore.response(raw, None), raw=raw, is_new=True)


def check_outcome(outcome: object, call: RecordedCall) -> None:
    """Raises ReplayError, before anything runs, for an outcome that the client of a model cannot read."""
    if names.INPUT_MESSAGES_REF not in call.span.attributes or not isinstance(outcome, Mapping):
        return
    fields = cast("Mapping[str, Any]", outcome)
    if set(fields) == {"message"} and not isinstance(fields["message"], str | Mapping):
        raise ReplayError(
            f"the outcome {{'message': {fields['message']!r}}} of {call.call_path} cannot be: a message is a text, or "
            'an object as the provider writes it, such as {"role": "assistant", "content": "..."}'
        )


def _ending(record: Record, call: RecordedCall) -> BaseException | None:
    if call.outcome is Outcome.FAILED:
        described = _value(record, call, names.ERROR_REF)
        if not isinstance(described, dict) or "restore" not in described:
            raise CannotRestore("its error was not recorded in a form that can be given back")
        return decode_error(cast("dict[str, Any]", described)["restore"], _bytes_in(record, *_masked_call(call)))
    if call.span.attributes.get(names.OUTCOME) not in (None, names.TRIPPED):
        return ReplayDiverged(
            f"the program reads on in {call.call_path} where it had stopped reading, and what comes there is not "
            f"recorded; execute it again: outcomes={{{call.span.span_id!r}: playhead.RERUN}}; or fork the run before it"
        )
    return None


_WITHOUT_STATE = "resume the run on the machine whose journal has it, or begin it anew"


def _masked_call(call: RecordedCall) -> tuple[str, str]:
    """What to say of a content of the call that is masked: what it is, and what to do."""
    span = call.span.span_id
    return (
        f"what {call.call_path} returned",
        "resume the run on the machine whose journal has it; or execute the call again: "
        f"outcomes={{{span!r}: playhead.RERUN}}; or say what it returns: outcomes={{{span!r}: {{'result': ...}}}}",
    )


def _bytes_in(record: Record, what: str, instead: str) -> FetchBytes:
    def fetch(ref: ContentRef) -> bytes | None:
        content = record.content(ref)
        if content is not None:
            refuse_masked(content, what, instead)
        return None if content is None else content.data

    return fetch


def _value(record: Record, call: RecordedCall, name: str) -> Any:
    return parse_json(_content(record, call, name).data)


def _content(record: Record, call: RecordedCall, name: str) -> Content:
    return _content_of(record, call.span.attributes.get(name), *_masked_call(call))


def _content_of(record: Record, ref: object, what: str, instead: str) -> Content:
    content = record.content(ContentRef(ref)) if isinstance(ref, str) else None
    if content is None:
        raise CannotRestore("what it returned was not recorded, or is not at hand")
    refuse_masked(content, what, instead)
    return content


def _typed(content: Content, kind: object, restore_tree: object) -> Any:
    """The content as a value of its type. Text and JSON with equal bytes have one ref; `kind` is the type that the call
    recorded.

    Raises CannotRestore if a marker, which is JSON, replaces a text or bytes.
    """
    if kind in ("text", "bytes") and is_json_type(content.media_type):
        with suppress(ValueError):  # a text that looks like JSON, of an older record whose refs do not tell
            refuse_marker(parse_json(content.data))
    if kind == "text":
        return content.data.decode("utf-8", "replace")
    if kind == "bytes":
        return content.data
    try:
        return parse_json(content.data)
    except ValueError as error:
        if restore_tree is None:
            raise CannotRestore("what it returned is damaged in the record") from error
        return content.data  # of a bytearray, which `restore_tree` has as a whole
