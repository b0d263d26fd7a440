"""pydantic-ai's deferred tools: an agent ends with calls that wait for a person or for another system, and a later run
gets their results."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from playhead.api.promises.pending import FrameworkWait, open_wait, record_wait_answer
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import log_errors_and_return_none
from playhead.model.promises import ANSWERED, APPROVAL, APPROVED, DENIED, INPUT
from playhead.wire.operations.promises import PromiseAnswer

if TYPE_CHECKING:
    from pydantic_ai import AgentRunResult
    from pydantic_ai.messages import ModelMessage, ToolCallPart
    from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults


@log_errors_and_return_none
def note_requests(span: ObservedSpan, run: object) -> None:
    """Records on the agent's span the calls in its output that wait, if there are any."""
    for wait in waits_of(getattr(run, "result", None)):
        open_wait(span, wait)


def waits_of(result: "AgentRunResult[DeferredToolRequests] | None") -> list[FrameworkWait]:
    """Returns the open questions of an agent's result; empty if the result is an answer."""
    output = getattr(result, "output", None)
    if result is None or output is None or type(output).__name__ != "DeferredToolRequests":
        return []
    messages = result.all_messages()
    return [
        *(wait_of(call, messages, APPROVAL) for call in output.approvals),
        *(wait_of(call, messages, INPUT) for call in output.calls),
    ]


def waits_in(messages: "Sequence[ModelMessage]") -> list[FrameworkWait]:
    """Returns the possible questions of the last model answer: each call could need approval, or a result."""
    calls = _calls_in(messages[-1]) if messages and type(messages[-1]).__name__ == "ModelResponse" else []
    return [wait_of(call, messages, kind) for call in calls for kind in (APPROVAL, INPUT)]


def results_of(answers: Sequence[tuple[FrameworkWait, PromiseAnswer]]) -> "DeferredToolResults":
    """Converts the answers to the `DeferredToolResults` with which the agent continues."""
    from pydantic_ai.tools import DeferredToolResults, ToolDenied  # noqa: PLC0415 - imported by the program

    results = DeferredToolResults()
    for wait, answer in answers:
        if wait.kind == INPUT:
            results.calls[wait.wait_id] = answer["value"]
        elif answer["outcome"] == APPROVED:
            results.approvals[wait.wait_id] = True
        else:
            results.approvals[wait.wait_id] = ToolDenied(answer["reason"]) if answer["reason"] else ToolDenied()
    return results


def wait_of(
    call: "ToolCallPart", messages: "Sequence[ModelMessage]", kind: Literal["approval", "input"]
) -> FrameworkWait:
    """Converts a tool call to a question for people or other systems.  Call ids may repeat in other conversations; the
    framework's id of the run that made the call does not, so it is added."""
    tool, arguments = str(call.tool_name), call.args_as_dict()
    return FrameworkWait(
        framework="pydantic-ai",
        wait_id=str(call.tool_call_id),
        conversation=_run_of(call, messages),
        kind=kind,
        action=f"run {tool}" if kind == APPROVAL else f"give the result of {tool}",
        name=tool,
        details=arguments,
        prompt={"tool": tool, "arguments": arguments},
    )


def _run_of(call: "ToolCallPart", messages: "Sequence[ModelMessage]") -> str | None:
    for message in reversed(messages):
        if any(part.tool_call_id == call.tool_call_id for part in _calls_in(message)):
            run_id = getattr(message, "run_id", None)
            return None if run_id is None else str(run_id)
    return None


def _calls_in(message: "ModelMessage") -> "list[ToolCallPart]":
    parts: Sequence[Any] = message.parts
    return [part for part in parts if type(part).__name__ == "ToolCallPart"]


@log_errors_and_return_none
def note_results(span: ObservedSpan, results: "DeferredToolResults | None", messages: "Sequence[ModelMessage]") -> None:
    """Records on the agent's span the approvals and results with which it continues. `messages`: the conversation so
    far. `results` None: does nothing."""
    if results is None:
        return
    for call_id, answer in results.approvals.items():
        is_approved = answer is True or type(answer).__name__ == "ToolApproved"
        _settle(span, call_id, messages, APPROVED if is_approved else DENIED)
    for call_id, answer in results.calls.items():
        _settle(span, call_id, messages, ANSWERED, answer)


def _settle(
    span: ObservedSpan, call_id: str, messages: "Sequence[ModelMessage]", outcome: str, value: object = None
) -> None:
    calls = (call for message in reversed(messages) for call in _calls_in(message))
    call = next((call for call in calls if call.tool_call_id == call_id), None)
    if call is not None:
        wait = wait_of(call, messages, INPUT if outcome == ANSWERED else APPROVAL)
        record_wait_answer(span, wait, outcome, value)
