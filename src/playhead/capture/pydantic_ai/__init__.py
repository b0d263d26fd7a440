"""pydantic-ai: function tools, agents (also those that tools of another agent start), output validators, models without
an instrumented client, and tools that wait for a person."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from playhead.calls.lifecycle import enter, fail, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    Named,
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
from playhead.capture.wrapping import MethodCall
from playhead.model import names

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.tools import DeferredToolResults, RunContext
    from pydantic_ai.toolsets.function import FunctionToolsetTool

SUPPORTS = "pydantic-ai-slim >= 2.0"


class _OutputValidator(Protocol):
    function: object


_StartedRun: TypeAlias = "tuple[StartSpan, DeferredToolResults | None, Sequence[ModelMessage]]"
"""The `StartSpan` of an agent's span, the results of deferred tools that it gets, and the conversation so far."""


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    if not is_inside_run():
        return None
    parameters = called.arguments("name", "tool_args", "ctx", "tool")
    its_tool: FunctionToolsetTool[object] = parameters["tool"]
    context: RunContext[object] = parameters["ctx"]
    schema: object = getattr(its_tool.call_func, "__self__", None)
    if is_observed(getattr(schema, "function", None)):
        return None
    return tool(parameters["name"], parameters["tool_args"], context.tool_call_id)


@log_errors_and_return_none
def _agent(called: MethodCall) -> _StartedRun:
    starting: Named = called.client
    begin = agent(starting.name or "agent", called.argument(0, "user_prompt"))
    return begin, called.kwargs.get("deferred_tool_results"), called.kwargs.get("message_history") or ()


@log_errors_and_return_none
def _validator(called: MethodCall) -> StartSpan | None:
    validator: _OutputValidator = called.client
    if not is_inside_run() or is_observed(validator.function):
        return None
    name = getattr(validator.function, "__name__", "output validator")
    return guardrail(name, {"output": called.argument(0, "result")})


@log_errors_and_return_none
def _output(run: object) -> object:
    return getattr(getattr(run, "result", None), "output", None)


class _StartedAgent:
    """Records the agent that runs inside the context manager of `Agent.iter`."""

    def __init__(self, started: _StartedRun, block: AbstractAsyncContextManager[object, bool | None]):
        self._block = block
        self._begin, self._results, self._messages = started
        self._span: ObservedSpan | None = None
        self._run: object = None

    async def __aenter__(self) -> object:
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

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
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
