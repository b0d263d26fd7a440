"""OpenAI Agents' tool calls that wait for a person: runs that end with interruptions, and runs that continue from the
state of such a run."""

from collections.abc import Iterable, Sequence
from inspect import signature
from typing import Any, Protocol

from playhead.api.promises.pending import FrameworkWait, open_wait, record_wait_answer
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import log_errors_and_return_none
from playhead.model.canonical import parse_json
from playhead.model.json_value import JsonValue, object_of
from playhead.model.promises import APPROVAL, APPROVED, DENIED
from playhead.wire.operations.promises import PromiseAnswer

# Shorter response ids are not unique: counters, or constants.
_MIN_RANDOM_ID = 16


class WaitingCall(Protocol):
    """A tool call that waits for approval."""

    tool_name: str
    raw_item: object


class _ApprovalContext(Protocol):
    def is_tool_approved(self, tool_name: str, call_id: str) -> bool | None: ...


class InterruptedRun(Protocol):
    """The state of a run that was interrupted."""

    def get_interruptions(self) -> Iterable[WaitingCall]: ...

    def approve(self, item: WaitingCall) -> None: ...

    def reject(self, item: WaitingCall, *, rejection_message: str = "") -> None: ...


class _ModelAnswer(Protocol):
    """A model's answer."""

    output: Iterable[object]


@log_errors_and_return_none
def note_interruptions(span: ObservedSpan, result: object) -> None:
    """Records on the agent's span the tool calls that wait for approval when the run ends."""
    waiting: Iterable[WaitingCall] = getattr(result, "interruptions", None) or ()
    for item in waiting:
        open_wait(span, wait_of(item, result))


@log_errors_and_return_none
def note_decisions(span: ObservedSpan, run_input: Any) -> None:
    """Records a person's decisions on the agent's span, if the run continues from the state of a run that waited."""
    if not hasattr(run_input, "get_interruptions"):
        return
    state: InterruptedRun = run_input
    context: _ApprovalContext = run_input._context
    for item in state.get_interruptions():
        decision = context.is_tool_approved(item.tool_name, _call_id(item))
        if decision is not None:
            record_wait_answer(span, wait_of(item, state), APPROVED if decision is True else DENIED)


def decide(
    state: InterruptedRun, items: Sequence[WaitingCall], answers: Sequence[tuple[FrameworkWait, PromiseAnswer]]
) -> InterruptedRun:
    """Approves or rejects these calls in the state according to the answers, and returns the state."""
    for item, (_, answer) in zip(items, answers, strict=True):
        if answer["outcome"] == APPROVED:
            state.approve(item)
        elif answer["reason"] is None or "rejection_message" not in signature(state.reject).parameters:
            state.reject(item)
        else:
            state.reject(item, rejection_message=answer["reason"])
    return state


def wait_of(item: WaitingCall, of: object) -> FrameworkWait:
    """Converts a tool call to a question for people. `of`: the result or the state that has the call."""
    arguments = _of(item.raw_item, "arguments")
    tool, call_id = str(item.tool_name), _call_id(item)
    return FrameworkWait(
        framework="openai-agents",
        wait_id=call_id,
        conversation=_conversation(of, call_id),
        kind=APPROVAL,
        action=f"run {tool}",
        name=tool,
        details=_parsed(arguments) if isinstance(arguments, str) else arguments,
    )


def _parsed(arguments: str) -> JsonValue:
    try:
        return parse_json(arguments)
    except (ValueError, TypeError):  # the model did not write JSON
        return arguments


def _conversation(of: object, call_id: str) -> str | None:
    """Returns an id that tells this call from others with the same call id: the id of the trace, which a state keeps,
    or of the response; None if neither is known."""
    trace = getattr(getattr(of, "_trace_state", None), "trace_id", None)
    if isinstance(trace, str) and trace != "no-op":
        return trace
    responses: Iterable[_ModelAnswer] = (
        getattr(of, "raw_responses", None) or getattr(of, "_model_responses", None) or ()
    )
    for response in responses:
        if any(_of(item, "call_id") == call_id for item in response.output):
            response_id = getattr(response, "response_id", None)
            return response_id if isinstance(response_id, str) and len(response_id) >= _MIN_RANDOM_ID else None
    return None


def _call_id(item: WaitingCall) -> str:
    return str(_of(item.raw_item, "call_id") or _of(item.raw_item, "id"))


def _of(raw: object, name: str) -> object:
    fields = object_of(raw)
    return fields.get(name) if fields else getattr(raw, name, None)
