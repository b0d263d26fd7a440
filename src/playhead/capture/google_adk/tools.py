"""Tools of Google's ADK, of every class.

A tool may also change what its agent does next: the session's state, which agent goes on, whether a person has to
confirm.  These changes are recorded with the result, as `tool_context.actions`, and made again when the record answers
the call.
"""

from contextvars import ContextVar
from typing import Any, cast

from playhead.capture.frameworks import Begin, call_async, is_inside_run, is_observed, none_on_error, tool
from playhead.capture.patching import WrapSubclasses
from playhead.model import names

_ACTIONS = "tool_context.actions"
_OWN_IDS = "adk-"  # prefix of the ids of calls without an id from the model: not sent to it, different in each run
_current_call: ContextVar[Any] = ContextVar("playhead_google_adk_call", default=None)


@none_on_error
def _tool(instance: Any, kwargs: Any) -> Begin | None:
    context = kwargs["tool_context"]
    if not is_inside_run() or is_observed(getattr(instance, "func", None)):
        return None
    if context is _current_call.get():  # the same call again: a class's method calls that of the class above it
        return None
    call_id = str(context.function_call_id or "")
    is_agent = any(kind.__name__ == "AgentTool" for kind in type(instance).__mro__)
    return tool(str(instance.name), kwargs["args"], "" if call_id.startswith(_OWN_IDS) else call_id, is_agent=is_agent)


class _AdkToolCall:
    """One call of a tool."""

    def __init__(self, context: Any, wrapped: Any, args: Any, kwargs: Any):
        self._context = context
        self._made = lambda: wrapped(*args, **kwargs)
        self._has_run = False
        self._result: Any = None

    async def record(self, begin: Begin) -> Any:
        """Calls the tool and returns its result, recorded; or returns the recorded result."""
        recorded = await call_async(begin, self._run(), names.TOOL_RESULT_REF)
        return self._result if self._has_run else _apply(recorded, self._context)

    async def _run(self) -> Any:
        before = _read_actions(self._context)
        token = _current_call.set(self._context)
        try:
            self._result = result = await self._made()
        finally:
            _current_call.reset(token)
        self._has_run = True
        after = _read_actions(self._context) or {}
        changed = {name: value for name, value in after.items() if before is None or value != before.get(name)}
        return {"result": result, _ACTIONS: changed} if changed else result


@none_on_error
def _read_actions(context: Any) -> dict[str, Any]:
    return context.actions.model_dump(mode="json")


def _apply(recorded: Any, context: Any) -> Any:
    """Makes the recorded changes of the tool again, and returns its result."""
    if not isinstance(recorded, dict) or _ACTIONS not in recorded:
        return cast(Any, recorded)
    fields = cast("dict[str, Any]", recorded)
    _change(context, fields[_ACTIONS])
    return fields.get("result")


@none_on_error
def _change(context: Any, changed: dict[str, Any]) -> None:
    actions: Any = context.actions
    kind = cast(Any, type(actions))
    for name, value in changed.items():
        if name == "state_delta":
            context.state.update(value)
        else:
            setattr(actions, name, getattr(kind.model_validate({name: value}), name))


def _run_async(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _tool(instance, kwargs)
    if begin is None:
        return wrapped(*args, **kwargs)
    return _AdkToolCall(kwargs["tool_context"], wrapped, args, kwargs).record(begin)


TOOLS = (WrapSubclasses("google.adk.tools.base_tool", "BaseTool", {"run_async": _run_async}),)
