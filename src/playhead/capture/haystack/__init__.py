"""Haystack: pipelines and their components, agents, and the tools that agents call.

Models run on clients that are recorded themselves, such as `openai`. A pipeline and an agent are agents; a component is
a step, and one that retrieves is a retriever, which the record answers.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, MutableMapping
from functools import partial
from importlib import import_module
from typing import Any

from playhead.calls.functions import EventStreamReader, iterate_async
from playhead.calls.lifecycle import current_span, detach, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    as_items,
    begun,
    call,
    call_async,
    is_inside_run,
    log_errors_and_return_none,
    record_returned,
    retriever,
    step,
    with_span,
    with_span_async,
)
from playhead.capture.haystack.tools import TOOLS
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import object_of

SUPPORTS = "haystack-ai >= 2.20"


# --- pipelines and agents ---------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _pipeline(called: MethodCall) -> StartSpan:
    metadata = object_of(getattr(called.client, "metadata", None))
    return agent(str(metadata.get("name") or type(called.client).__name__), called.argument(0, "data"))


def _finish_pipeline(span: ObservedSpan, outputs: object, _: MethodCall) -> None:
    detach(span)
    finish(span, names.OUTPUT_REF, outputs)


# The last of a generator's items has all outputs.  A pipeline is never answered from the record: its calls are.
_OUTPUTS = EventStreamReader(lambda _, outputs: outputs, lambda _: [])


def _iterate_pipeline(begin: StartSpan, outputs: AsyncGenerator[object, None]) -> object:
    return iterate_async(begin, names.OUTPUT_REF, outputs, _OUTPUTS)


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan:
    around = current_span()
    as_tool = around.attributes.get(names.TOOL_NAME) if around is not None and around.kind == "tool" else None
    name: object = as_tool or getattr(called.client, "__component_name__", None) or type(called.client).__name__
    return agent(str(name), _question(called))


def _question(called: MethodCall) -> object:
    """Returns the text of the last message, else all arguments."""
    messages = as_items(called.argument(0, "messages"))
    text = getattr(messages[-1], "text", None) if messages else None
    return text if isinstance(text, str) else dict(called.kwargs)


def _finish_agent(span: ObservedSpan, outputs: Mapping[str, object], _: MethodCall) -> None:
    detach(span)
    finish(span, names.OUTPUT_REF, _answer(outputs))


@log_errors_and_return_none
def _answer(outputs: Mapping[str, object]) -> object:
    """Returns the text of an agent's last message, else all outputs."""
    text: object = getattr(outputs.get("last_message"), "text", None)
    return outputs if text is None else text


# --- components -------------------------------------------------------------------------------------------------------


class _ComponentRun:
    """One execution of a component by a pipeline."""

    def __init__(self, called: MethodCall):
        arguments = called.arguments("component_name", "component", "component_inputs", "component_visits")
        self.name: str = arguments["component_name"]
        self.inputs: Mapping[str, object] = arguments.get("component_inputs") or arguments.get("inputs") or {}
        self.visits: MutableMapping[str, int] = arguments["component_visits"]
        component: Mapping[str, object] = arguments["component"]
        self.kind: type = type(component["instance"])
        self.has_run = False
        # Before Haystack 3, an agent runs its model and its tools as components, without sockets.
        self.is_part_of_agent = list(component) == ["instance"]

    @property
    def is_agent(self) -> bool:
        return any(kind.__module__ == "haystack.components.agents.agent" for kind in self.kind.__mro__)

    @property
    def is_retriever(self) -> bool:
        return self.kind.__name__.endswith(("Retriever", "WebSearch"))

    def make(self, function: Callable[..., object], called: MethodCall) -> object:
        self.has_run = True
        return called.make(function)

    def result(self, outputs: object) -> object:
        """Returns the outputs.  If they come from the record, counts the execution as the pipeline does."""
        if not self.has_run:
            self.visits[self.name] += 1
        return outputs


@log_errors_and_return_none
def _component(called: MethodCall) -> _ComponentRun | None:
    run = _ComponentRun(called)
    return run if is_inside_run() and not run.is_agent and not run.is_part_of_agent else None


def _as_outputs(outcome: object) -> object:
    """Converts texts that a fork sets as a retriever's result to the documents that it returns."""
    if isinstance(outcome, Mapping):
        return outcome  # pyright: ignore[reportUnknownVariableType]
    make: Callable[..., object] = import_module("haystack").Document
    return {"documents": [make(content=item) if isinstance(item, str) else item for item in as_items(outcome)]}


def _step(called: MethodCall) -> StartSpan | None:
    run = _component(called)
    return None if run is None else step(run.name, run.inputs, node=run.name)


def _finish_component(span: ObservedSpan, outputs: object, _: MethodCall) -> None:
    detach(span)
    finish(span, names.OUTPUT_REF, outputs)


_step_plain = with_span(begun(_step), _finish_component)
_step_awaited = with_span_async(begun(_step), _finish_component)


@intercepted
def _run_component(function: Callable[..., Any], called: MethodCall) -> object:
    run = _component(called)
    if run is None or not run.is_retriever:
        return _step_plain(function, called.client, called.args, called.kwargs)
    made = partial(run.make, function, called)
    bare = MethodCall(called.client, called.method, (), {})
    return run.result(call(retriever(run.name, run.inputs), names.OUTPUT_REF, made, bare, _as_outputs))


@intercepted
async def _run_component_async(function: Callable[..., Any], called: MethodCall) -> object:
    run = _component(called)
    if run is None or not run.is_retriever:
        return await _step_awaited(function, called.client, called.args, called.kwargs)
    begin = retriever(run.name, run.inputs)
    return run.result(await call_async(begin, _made(run, function, called), names.OUTPUT_REF, _as_outputs))


async def _made(run: _ComponentRun, function: Callable[..., Any], called: MethodCall) -> object:
    run.has_run = True
    return await called.make(function)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_PIPELINE, _AGENT = "haystack.core.pipeline.pipeline", "haystack.components.agents.agent"
_ASYNC_PIPELINE = "haystack.core.pipeline.async_pipeline"  # before Haystack 3

_iterated = record_returned(_pipeline, _iterate_pipeline)
_haystack = Instrumentation(
    [
        Wrap(_PIPELINE, "Pipeline.run", with_span(begun(_pipeline), _finish_pipeline)),
        Wrap(_PIPELINE, "Pipeline.run_async_generator", _iterated, is_optional=True),
        Wrap(_PIPELINE, "Pipeline._run_component", _run_component, is_optional=True),
        Wrap(_PIPELINE, "Pipeline._run_component_async", _run_component_async, is_optional=True),
        Wrap(_ASYNC_PIPELINE, "AsyncPipeline.run_async_generator", _iterated, is_optional=True),
        Wrap(_ASYNC_PIPELINE, "AsyncPipeline._run_component_async", _run_component_async, is_optional=True),
        Wrap(_AGENT, "Agent.run", with_span(begun(_agent), _finish_agent)),
        Wrap(_AGENT, "Agent.run_async", with_span_async(begun(_agent), _finish_agent)),
        *TOOLS,
    ]
)
patch, unpatch = _haystack.patch, _haystack.unpatch
