"""pydantic-ai: function tools, agents (also those that tools of another agent start), output validators, models without
an instrumented client, and tools that wait for a person."""

from typing import Any

from playhead.calls.lifecycle import enter, fail, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    answered_wrappers,
    guardrail,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    record_returned,
    tool,
)
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.pydantic_ai.deferred import note_requests, note_results
from playhead.capture.pydantic_ai.models import MODELS
from playhead.model import names

SUPPORTS = "pydantic-ai-slim >= 2.0"


@log_errors_and_return_none
def _tool(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    if not is_inside_run():
        return None
    parameters = {**dict(zip(("name", "tool_args", "ctx", "tool"), args, strict=False)), **kwargs}
    schema = getattr(parameters["tool"].call_func, "__self__", None)
    if is_observed(getattr(schema, "function", None)):
        return None
    return tool(parameters["name"], parameters["tool_args"], parameters["ctx"].tool_call_id)


@log_errors_and_return_none
def _agent(instance: Any, args: Any, kwargs: Any) -> "tuple[StartSpan, Any, Any]":
    """Returns the `StartSpan` of the agent's span, the results of deferred tools that the agent gets, and the
    conversation so far."""
    begin = agent(instance.name or "agent", args[0] if args else kwargs.get("user_prompt"))
    return begin, kwargs.get("deferred_tool_results"), kwargs.get("message_history")


@log_errors_and_return_none
def _validator(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    if not is_inside_run() or is_observed(instance.function):
        return None
    output = args[0] if args else kwargs.get("result")
    return guardrail(getattr(instance.function, "__name__", "output validator"), {"output": output})


@log_errors_and_return_none
def _output(run: Any) -> Any:
    return getattr(getattr(run, "result", None), "output", None)


class _StartedAgent:
    """Records the agent that runs inside the context manager of `Agent.iter`."""

    def __init__(self, started: "tuple[StartSpan, Any, Any]", block: Any):
        self._block = block
        self._begin, self._results, self._messages = started
        self._span: ObservedSpan | None = None
        self._run: Any = None

    async def __aenter__(self) -> Any:
        self._span = self._begin()
        if self._span is not None:
            enter(self._span)
            note_results(self._span, self._results, self._messages)
        try:
            self._run = await self._block.__aenter__()
        except BaseException as error:
            self._failed(error)
            raise
        return self._run

    async def __aexit__(self, kind: Any, raised: BaseException | None, trace: Any) -> Any:
        try:
            handled = await self._block.__aexit__(kind, raised, trace)
        except BaseException as error:
            self._failed(error)
            raise
        if raised is not None and not handled:
            self._failed(raised)
        elif self._span is not None:
            note_requests(self._span, self._run)
            finish(self._span, names.OUTPUT_REF, _output(self._run))
        return handled

    def _failed(self, raised: BaseException) -> None:
        if self._span is not None:
            fail(self._span, raised)


_, _call_tool = answered_wrappers(_tool)
_, _validate = answered_wrappers(_validator, names.OUTPUT_REF)
_iter = record_returned(_agent, _StartedAgent)

_pydantic_ai = Instrumentation(
    [
        Wrap("pydantic_ai.toolsets.function", "FunctionToolset.call_tool", _call_tool),
        Wrap("pydantic_ai.agent", "Agent.iter", _iter),  # which `run`, `run_sync` and `run_stream` go through
        Wrap("pydantic_ai._output", "OutputValidator.validate", _validate, is_optional=True),
        *MODELS,
    ]
)
patch, unpatch = _pydantic_ai.patch, _pydantic_ai.unpatch
