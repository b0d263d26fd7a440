"""pydantic-ai's deferred tools: an agent that ends with calls that wait for a person or for another system, and a later
run that brings their results.
"""

from collections.abc import Mapping
from typing import Any, cast

from playhead.api.calls.span import ObservedSpan
from playhead.api.scope import log_event_of
from playhead.capture.frameworks import none_on_error
from playhead.model import names


@none_on_error
def note_requests(span: ObservedSpan, output: Any) -> None:
    """Says in the agent's call what waits, if its output says so."""
    if type(output).__name__ != "DeferredToolRequests":
        return
    for call in output.approvals:
        about = {names.WAIT_ID: str(call.tool_call_id), names.TOOL_NAME: str(call.tool_name)}
        log_event_of(span, names.APPROVAL_REQUESTED, about, {names.TOOL_ARGUMENTS_REF: call.args_as_dict()})
    for call in output.calls:
        prompt = {"tool": call.tool_name, "arguments": call.args_as_dict()}
        log_event_of(span, names.INPUT_REQUESTED, {names.WAIT_ID: str(call.tool_call_id)}, {names.PROMPT_REF: prompt})


@none_on_error
def note_results(span: ObservedSpan, results: Any) -> None:
    """Says in the agent's call with what it goes on. None: with nothing."""
    if results is None:
        return
    for call_id, answer in cast("Mapping[str, Any]", results.approvals).items():
        is_approved = answer is True or type(answer).__name__ == "ToolApproved"
        log_event_of(span, names.APPROVAL_RECEIVED, {names.WAIT_ID: str(call_id), names.APPROVED: is_approved}, {})
    for call_id, answer in cast("Mapping[str, Any]", results.calls).items():
        log_event_of(span, names.INPUT_RECEIVED, {names.WAIT_ID: str(call_id)}, {names.VALUE_REF: answer})
