"""pydantic-ai's function tools, and its agents, also those that tools of another agent start."""

from typing import Any

from playhead.api.calls.lifecycle import enter, fail, finish
from playhead.api.calls.span import ObservedSpan
from playhead.capture.frameworks import (
    Begin,
    Framework,
    agent,
    call_async,
    is_inside_run,
    is_observed,
    none_on_error,
    tool,
    wrap,
)
from playhead.model import names

SUPPORTS = "pydantic-ai-slim >= 2.0"


def _patch_toolset(module: Any) -> None:
    wrap(module.FunctionToolset, "call_tool", _call_tool)


def _patch_agent(module: Any) -> None:
    wrap(module.Agent, "iter", _iter)  # which `run`, `run_sync` and `run_stream` go through


_pydantic_ai = Framework({"pydantic_ai.toolsets.function": _patch_toolset, "pydantic_ai.agent": _patch_agent})
patch, unpatch = _pydantic_ai.patch, _pydantic_ai.unpatch


def _call_tool(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin, made = _tool(args, kwargs), wrapped(*args, **kwargs)
    return made if begin is None else call_async(begin, names.TOOL_RESULT_REF, made)


@none_on_error
def _tool(args: Any, kwargs: Any) -> Begin | None:
    if not _pydantic_ai.on or not is_inside_run():
        return None
    given = {**dict(zip(("name", "tool_args", "ctx", "tool"), args, strict=False)), **kwargs}
    schema = getattr(given["tool"].call_func, "__self__", None)
    if is_observed(getattr(schema, "function", None)):
        return None
    return tool(given["name"], given["tool_args"], given["ctx"].tool_call_id)


def _iter(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin, made = _agent(instance, args, kwargs), wrapped(*args, **kwargs)
    return made if begin is None else _Started(made, begin)


@none_on_error
def _agent(instance: Any, args: Any, kwargs: Any) -> Begin | None:
    if not _pydantic_ai.on:
        return None
    return agent(instance.name or "agent", args[0] if args else kwargs.get("user_prompt"))


@none_on_error
def _output(run: Any) -> Any:
    return getattr(getattr(run, "result", None), "output", None)


class _Started:
    """The block in which an agent runs."""

    def __init__(self, block: Any, begin: Begin):
        self._block = block
        self._begin = begin
        self._span: ObservedSpan | None = None
        self._run: Any = None

    async def __aenter__(self) -> Any:
        self._span = self._begin()
        if self._span is not None:
            enter(self._span)
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
            finish(self._span, names.OUTPUT_REF, _output(self._run))
        return handled

    def _failed(self, raised: BaseException) -> None:
        if self._span is not None:
            fail(self._span, raised)
