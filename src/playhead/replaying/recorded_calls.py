"""The recorded calls of a run as replay needs them: path, request and outcome. Pure.

Also finds the order numbers of calls that a crash left no record of (`missing_orders`). A call that is not announced (a
step) is recorded when it ends. If the process dies before that, only a gap in the order numbers is left. The next
attempt makes the call again under another number, and records which numbers nobody need wait for
(`playhead.resumed.without`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from playhead.calls.replay import idempotency_key_of
from playhead.model import names
from playhead.model.canonical import content_of
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR, LogEvent, Span
from playhead.projection.attributes import replaced_by
from playhead.replaying.record import Record, attempt_of

# Attributes that identify a request, besides messages and system prompt: refs, so that comparing them compares
# everything.
_REQUEST_REFS = (
    names.TOOL_DEFINITIONS_REF,
    names.REQUEST_REF,
    names.TOOL_ARGUMENTS_REF,
    names.INPUT_REF,
)
_SETTINGS = _REQUEST_REFS.index(names.REQUEST_REF)
# No settings, and settings of which none are compared, are the same request.
_NO_SETTINGS = content_of({}).ref
_ARGUMENTS = (_REQUEST_REFS.index(names.TOOL_ARGUMENTS_REF), _REQUEST_REFS.index(names.INPUT_REF))
RequestRefs = tuple[str | None, ...]

# Repeating such a call changes nothing but the bill.
REPEATABLE_KINDS = frozenset({"llm", "embedding", "retriever"})


class Outcome(Enum):
    """How a recorded call ended, as far as is known."""

    COMPLETED = "completed"
    FAILED = "failed"
    IN_DOUBT = "in doubt"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One recorded call. `call_path` is its path of observed names and its kind; `order` its start order in the run.
    `ended`: order of the last start before its end, and its number among the ends; None: it has not ended."""

    call_path: str
    kind: str
    name: str
    request_refs: RequestRefs
    outcome: Outcome
    order: int
    ended: tuple[int, int] | None
    span: Span
    flow: str = ""
    """The flow of execution that made it: see `calls.flow`."""

    @property
    def key(self) -> str:
        """The call path, and the occurrence number of the call at that path."""
        return str(self.span.attributes.get(names.CALL_KEY, ""))

    @property
    def idempotency_key(self) -> str:
        """The key that `playhead.idempotency_key()` returned in the call, and returns when it is executed again; for
        finding the call's effect."""
        return idempotency_key_of(str(self.span.attributes.get(names.RUN_ID, "")), self.span.attributes)

    @property
    def is_settled(self) -> bool:
        """Whether the outcome of the call is known."""
        return self.outcome is not Outcome.IN_DOUBT

    @property
    def path(self) -> str:
        """The path of observed names, without the kind."""
        return self.call_path.rpartition(":")[0]

    @property
    def arguments(self) -> str | None:
        """Ref of the call's arguments, whatever its kind; None: they are not recorded."""
        return arguments_of(self.span.attributes)

    @property
    def branch(self) -> str:
        """The path of the enclosing calls."""
        return self.path.rpartition("/")[0]

    @property
    def is_repeatable(self) -> bool:
        """Whether making the call again does no harm, by its kind."""
        return self.kind in REPEATABLE_KINDS

    @property
    def can_answer(self) -> bool:
        """Whether the recorded outcome may be used for the call."""
        return self.kind in names.REPLAYED_KINDS or names.REPLAYABLE in self.span.attributes

    def ref(self, name: str) -> ContentRef | None:
        """The ref in this attribute of the call's span; None: it has none."""
        value = self.span.attributes.get(name)
        return ContentRef(value) if isinstance(value, str) else None


def request_refs_of(attributes: Mapping[str, Any]) -> RequestRefs:
    """Returns the refs of everything the call was asked. All None: nothing was recorded, so nothing can be compared."""
    refs = [attributes.get(name) for name in _REQUEST_REFS]
    prompt_refs = program_thread(attributes), program_system(attributes)
    if any(prompt_refs) or names.INPUT_REF in attributes:  # else the settings are the whole request
        refs[_SETTINGS] = settings_ref(attributes)
    if (digest := attributes.get(names.INPUT_DIGEST)) is not None:  # else refs name a marker, equal for equal lengths
        refs = [
            f"sha256:{digest}" if ref is not None and index in _ARGUMENTS else ref for index, ref in enumerate(refs)
        ]
    return *prompt_refs, *refs


def settings_ref(attributes: Mapping[str, Any]) -> str | None:
    """Returns the ref of the settings that are compared; None: there are none. Settings that only say who asks are not
    compared."""
    compared = attributes.get(names.COMPARED_SETTINGS)
    ref = attributes.get(names.REQUEST_REF) if compared is None else f"sha256:{compared}"
    return None if ref == _NO_SETTINGS else ref


def arguments_of(attributes: Mapping[str, Any]) -> str | None:
    """Returns the ref of a function's arguments, which tools have under another attribute; None: they are not
    recorded."""
    return attributes.get(names.TOOL_ARGUMENTS_REF) or attributes.get(names.INPUT_REF)


def program_thread(attributes: Mapping[str, Any]) -> str | None:
    """Returns the thread that the program sent, before any edit."""
    return attributes.get(names.ASKED_MESSAGES_REF) or attributes.get(names.INPUT_MESSAGES_REF)


def program_system(attributes: Mapping[str, Any]) -> str | None:
    """Returns the separate system prompt that the program sent, before any edit."""
    edited = names.EDIT_REF in attributes
    return attributes.get(names.ASKED_SYSTEM_REF if edited else names.SYSTEM_INSTRUCTIONS_REF)


def call_path_of(attributes: Mapping[str, Any]) -> str:
    """The call path (path and kind): the call key without the occurrence number."""
    return str(attributes.get(names.CALL_KEY, "")).rpartition("#")[0]


def recorded_calls(spans: Iterable[Span]) -> list[RecordedCall]:
    """The calls of a record in the order in which they started; a span and its announcement are one call.

    If attempts repeated a call, the latest attempt counts. A call that continues under its recorded identity has the
    same span id; one that was executed anew (it was cancelled, or its result could not be restored) has the same call
    key.
    """
    by_id: dict[str, Span] = {}
    for span in spans:
        previous = by_id.get(span.span_id)
        if previous is None or previous.end_ns is None:
            by_id[span.span_id] = span
    calls = [_recorded_call(span, by_id) for span in by_id.values() if names.CALL_ORDER in span.attributes]
    if len({attempt_of(call.span) for call in calls}) > 1:  # most runs were never resumed
        calls = _of_latest_attempts(calls)
    return sorted(calls, key=lambda call: call.order)


def _of_latest_attempts(calls: list[RecordedCall]) -> list[RecordedCall]:
    """Of calls with the same key and request, those of the latest attempt."""
    latest: dict[tuple[object, ...], int] = {}
    identities = [_call_identity(call) for call in calls]
    for call, identity in zip(calls, identities, strict=True):
        latest[identity] = max(attempt_of(call.span), latest.get(identity, 0))
    pairs = zip(calls, identities, strict=True)
    return [call for call, identity in pairs if attempt_of(call.span) == latest[identity]]


def _call_identity(call: RecordedCall) -> tuple[object, ...]:
    return call.span.attributes.get(names.RUN_ID), call.key, call.request_refs


def _recorded_call(span: Span, by_id: Mapping[str, Span]) -> RecordedCall:
    attributes = span.attributes
    call_path = call_path_of(attributes)
    return RecordedCall(
        call_path=call_path,
        kind=str(attributes.get(names.KIND, "step")),
        name=call_path.rpartition(":")[0].rpartition("/")[2],
        request_refs=request_refs_of(attributes),
        outcome=_outcome_of(span, by_id),
        order=int(attributes[names.CALL_ORDER]),
        ended=_end_orders(attributes) if span.end_ns is not None else None,
        span=span,
        flow=str(attributes.get(names.FLOW, "")),
    )


def _outcome_of(span: Span, by_id: Mapping[str, Span]) -> Outcome:
    # A cancelled call has no answer. A call whose consumer stopped reading has one, as far as it was read.
    if span.end_ns is None or span.attributes.get(names.OUTCOME) == "cancelled":
        return Outcome.IN_DOUBT
    # A framework may turn the exception of a tool into a result: the program got that result.
    raised = span.status == STATUS_ERROR and names.TOOL_RESULT_REF not in span.attributes
    if span.attributes.get(names.OUTCOME) == names.WAITING:
        return Outcome.FAILED  # as it ended, so that the framework waits again
    # Interrupting the program is not an answer of the call, and would stop every attempt anew.
    if raised and _is_interrupted(span) and not _was_handled(span, by_id):
        return Outcome.IN_DOUBT
    return Outcome.FAILED if raised else Outcome.COMPLETED


def _is_interrupted(span: Span) -> bool:
    return span.attributes.get(names.OUTCOME) == names.INTERRUPTED


def _was_handled(span: Span, by_id: Mapping[str, Span]) -> bool:
    """Whether the enclosing call went on and ended by itself: the program handled the interruption as an answer."""
    around = by_id.get(span.parent_id or "")
    return around is not None and around.end_ns is not None and not _is_interrupted(around)


def _end_orders(attributes: Mapping[str, Any]) -> tuple[int, int]:
    return int(attributes.get(names.CALL_ENDED_AFTER, 0)), int(attributes.get(names.CALL_END_ORDER, 0))


# --- missing order numbers --------------------------------------------------------------------------------------------


def missing_orders(record: Record, first: int) -> list[int]:
    """Order numbers from `first` on that the record lacks, in pairs: first, last, first, last, ...

    Another machine resumes a run only if its whole record has arrived, or if what is missing is given up.
    """
    orders = _recorded_orders(record)
    return _ranges([order for order in range(first, max(orders, default=first)) if order not in orders])


def has_all_orders(record: Record, first: int, last: int) -> bool:
    """Whether the record has all order numbers from `first` to `last`, except those that a later attempt recorded as
    missing."""
    orders = _recorded_orders(record)
    replaced = [span for log in record.logs if log.name == names.RESUMED for span in replaced_by(log)]
    return all(
        order in orders or any(low <= order <= high for low, high in replaced) for order in range(first, last + 1)
    )


def _recorded_orders(record: Record) -> set[int]:
    return {_order_of(item) for item in (*record.spans, *record.logs)}


def _order_of(item: Span | LogEvent) -> int:
    order = item.attributes.get(names.CALL_ORDER)
    return order if isinstance(order, int) else 0


def _ranges(numbers: list[int]) -> list[int]:
    bounds: list[int] = []
    for number in numbers:
        if bounds and bounds[-1] == number - 1:
            bounds[-1] = number
        else:
            bounds += [number, number]
    return bounds
