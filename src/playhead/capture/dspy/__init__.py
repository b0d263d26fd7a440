"""DSPy: its modules, and the tools that `ReAct` and other modules call. Models run on `litellm`, or on DSPy's own
client (`models.py`).

The outermost module is an agent, and so is every module with tools; any other module is a step. What DSPy answers from
its own cache is no call of a model, so it is not recorded.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol

from playhead.api.scope import propagate_to_thread
from playhead.calls.lifecycle import detach, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.dspy.models import MODELS
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    answered_wrappers,
    begun,
    call,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    recorded_step,
    step,
    tool,
    with_span,
    with_span_async,
)
from playhead.capture.frameworks.tracebacks import without_our_frames
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.errors import is_run_stopped
from playhead.model import names

SUPPORTS = "dspy >= 3.0"


class _DspyTool(Protocol):
    name: str
    func: object


class _DspyToolCall(Protocol):
    id: str | None
    name: str
    args: Mapping[str, object]


class _DspyToolCalls(Protocol):
    tool_calls: list[_DspyToolCall]


# --- modules ----------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _module(called: MethodCall) -> StartSpan:
    name, values = type(called.client).__name__, dict(called.kwargs)
    if called.args:
        values["args"] = list(called.args)
    if is_inside_run() and not getattr(called.client, "tools", None):
        return step(name, values)
    return agent(name, values)


def _finish_module(span: ObservedSpan, prediction: object, _: MethodCall) -> None:
    detach(span)
    finish(span, names.OUTPUT_REF, _output(prediction))


@log_errors_and_return_none
def _output(prediction: Any) -> object:
    """Returns the fields of a prediction; any other value as it is."""
    return prediction.toDict() if hasattr(prediction, "toDict") else prediction


@intercepted
def _execute_parallel(function: Callable[..., object], called: MethodCall) -> object:
    """Passes the current run on to the threads in which a program's function is called for each item."""
    arguments = called.arguments("function", "data")
    arguments["function"] = propagate_to_thread(arguments["function"])
    return function(**arguments)


# --- tools ------------------------------------------------------------------------------------------------------------

_requested: ContextVar[tuple[_DspyToolCall, ...]] = ContextVar("playhead_dspy_calls", default=())
"""The tool calls that a model has asked for with ids, and that are about to be made here."""


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    its_tool: _DspyTool = called.client
    if not is_inside_run() or is_observed(its_tool.func) or _is_end_of_module(its_tool.func):
        return None
    same = [call for call in _requested.get() if call.name == its_tool.name and call.args == called.kwargs]
    return tool(its_tool.name, called.kwargs, same[0].id if same else None)


def _is_end_of_module(function: object) -> bool:
    """Whether it is the framework's own tool with which a model ends: it only passes on the outputs."""
    return str(getattr(function, "__module__", "")).startswith("dspy.predict.")


@log_errors_and_return_none
def _asked_for(called: MethodCall) -> tuple[_DspyToolCall, ...]:
    calls: _DspyToolCalls = called.argument(0, "tool_calls")
    return tuple(calls.tool_calls)


@intercepted
def _with_ids(function: Callable[..., object], called: MethodCall) -> object:
    token = _requested.set(_asked_for(called) or ())
    try:
        return called.make(function)
    finally:
        _requested.reset(token)


@intercepted
async def _with_ids_async(function: Callable[..., Any], called: MethodCall) -> object:
    token = _requested.set(_asked_for(called) or ())
    try:
        return await called.make(function)
    finally:
        _requested.reset(token)


_call_tool, _acall_tool = answered_wrappers(_tool)


@intercepted
def _format_error(function: Callable[..., object], called: MethodCall) -> object:
    """Formats an error for the model, with the stack of calls: without our frames, so that the model is told the same
    as without Playhead.  The text is recorded, since an error that comes from the record has no stack."""
    error: object = called.args[0] if called.args else called.kwargs.get("error")
    if not isinstance(error, BaseException):
        return called.make(function)
    error.__traceback__ = without_our_frames(error.__traceback__)
    if not is_inside_run() or is_run_stopped(error):
        return called.make(function)
    return call(recorded_step("describe_error", {"error": str(error)}), names.OUTPUT_REF, function, called)


_TELL_ERRORS = (
    *((each, "format_error_for_lm") for each in ("react", "react_v2", "code_act", "program_of_thought", "rlm")),
    ("react", "_fmt_exc"),  # before 3.4
)

_REACT = "dspy.predict.react_v2"
_dspy = Instrumentation(
    [
        Wrap("dspy.primitives.module", "Module.__call__", with_span(begun(_module), _finish_module)),
        Wrap("dspy.primitives.module", "Module.acall", with_span_async(begun(_module), _finish_module)),
        Wrap("dspy.utils.parallelizer", "ParallelExecutor.execute", _execute_parallel),
        Wrap("dspy.adapters.types.tool", "Tool.__call__", _call_tool),
        Wrap("dspy.adapters.types.tool", "Tool.acall", _acall_tool),
        Wrap(_REACT, "ReActV2._execute_tool_calls", _with_ids, is_optional=True),
        Wrap(_REACT, "ReActV2._aexecute_tool_calls", _with_ids_async, is_optional=True),
        *(Wrap(f"dspy.predict.{module}", name, _format_error, is_optional=True) for module, name in _TELL_ERRORS),
        *MODELS,
    ]
)
patch, unpatch = _dspy.patch, _dspy.unpatch
