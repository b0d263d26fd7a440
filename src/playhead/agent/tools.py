"""Tools: functions that a model may ask for.

    @playhead.tool(writes=True)
    def edit_file(path: str, old: str, new: str) -> str:
        "Replaces a text in a file."

The program calls them as before; such calls are observed, too.
"""

import asyncio
import inspect
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from pydantic_core import to_json

from playhead.agent.signatures import FilledIn, ToolSignature, signature_of
from playhead.api.observe import ObserveOptions, observe
from playhead.api.promises.asking import ToolRule, approved_first, needs_rule, rule_or_always
from playhead.api.result_cache import ResultCache
from playhead.api.scope import propagate_to_thread
from playhead.calls.functions import call_async
from playhead.calls.proxy import code_attributes
from playhead.calls.steps import run_steps_async
from playhead.capture.frameworks.observing import is_observed
from playhead.model import names
from playhead.models.model import ModelTool, ToolCallRequest

_ASKS: ToolRule = "always"
_NEVER_ASKS: ToolRule = "none"
P = ParamSpec("P")
R = TypeVar("R")


class Tool(Generic[P, R]):
    """A function that a model may ask for; `tool` makes it. Calling it calls the function, as an observed call.

    `writes`: whether it changes something: True needs approval under the rule "writes"; False: it may be executed again
    when a resumed run does not know whether it was; None: neither. `approval`: its own rule, see `playhead.observe`.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        writes: bool | None = None,
        approval: ToolRule | None = None,
    ) -> None:
        self.name = name or getattr(function, "__name__", type(function).__name__)
        if writes and isinstance(getattr(function, "cache", None), ResultCache):
            raise ValueError(f"tool {self.name}: results of a tool that writes are not cached: take @cached off")
        self.writes = writes
        self.approval: ToolRule | None = None if approval is None else rule_or_always(approval)
        self._description = description
        self._function: Callable[..., Any] = function
        self._is_method = False
        self._is_class_method = isinstance(function, classmethod)
        idempotent = writes is False
        self._records_itself = is_observed(function)
        observed = observe(kind="tool", name=self.name, idempotent=idempotent, approval=approval)
        self._observed = function if self._records_itself else observed(function)
        self._options = ObserveOptions(None, "tool", True, True, None, {}, None)
        self._attributes = code_attributes(inspect.unwrap(function), "tool")
        if idempotent:
            self._attributes[names.IDEMPOTENT] = True
        update_wrapper(self, function, updated=())  # without the function's own attributes

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function, as an observed call."""
        return self._observed(*args, **kwargs)

    def __set_name__(self, owner: type, name: str) -> None:
        """Notes that this is a method: its first parameter is the object."""
        self._is_method = not isinstance(self._function, staticmethod)

    def __get__(self, instance: object, owner: type | None = None) -> "Tool[..., R]":
        """Returns the tool that calls the method of this object or class."""
        if not self._is_method or (instance is None and not self._is_class_method):
            return self
        bound: Callable[..., R] = getattr(self._function, "__get__")(instance, owner)  # noqa: B009 - of any descriptor
        return Tool(bound, name=self.name, description=self._description, writes=self.writes, approval=self.approval)

    def __repr__(self) -> str:
        """Returns `Tool(name)`."""
        return f"Tool({self.name})"

    @cached_property
    def signature(self) -> ToolSignature:
        """Its parameters. Read with the first use, when all types are defined. Raises TypeError."""
        return signature_of(self._function, is_method=self._is_method)

    @property
    def definition(self) -> ModelTool:
        """What the model is told of it."""
        return ModelTool(self.name, self._description or self.signature.description, self.signature.schema)

    # --- a call that a model asks for -------------------------------------------------------------------------------

    async def approve(self, call: ToolCallRequest, rule: ToolRule | None) -> None:
        """Waits until a person approves of the call, if the tool's own rule, else `rule`, else the process's asks for
        that. Raises Denied."""
        if self.approval is not None:
            rule = self.approval
        elif rule == "writes":
            rule = _ASKS if self.writes else _NEVER_ASKS
        if needs_rule(rule):
            steps = approved_first(rule, self.name, _by_name(call), idempotent=self.writes is False)
            await run_steps_async(steps)

    async def run(self, call: ToolCallRequest, context: FilledIn, *, in_thread: bool) -> Any:
        """Makes the call, observed, or returns its recorded result. `in_thread`: a function that is no coroutine runs
        in another thread. Raises what the function raises, and ToolArgumentsInvalid."""
        arguments = _by_name(call)
        attributes = {**self._attributes, names.TOOL_CALL_ID: call.id} if call.id else self._attributes

        async def body() -> Any:
            values = self.signature.read(call.arguments)
            if self.signature.context is not None:
                values[self.signature.context] = context
            if in_thread and not inspect.iscoroutinefunction(self._function):
                result = await asyncio.to_thread(propagate_to_thread(self._function), **values)
            else:
                result = self._function(**values)
            return await result if inspect.isawaitable(result) else result

        if self._records_itself:  # an @observe of the program's, with its own options
            return await body()
        return await call_async(
            lambda: self._options.begin(self.name, arguments, attributes), names.TOOL_RESULT_REF, body()
        )


def _by_name(call: ToolCallRequest) -> dict[str, Any]:
    """Returns the arguments by name; a value that is no object under the name `input`."""
    return {**call.arguments} if isinstance(call.arguments, dict) else {"input": call.arguments}


def result_text(result: object) -> str:
    """Returns a tool's result as the model is given it: a text as it is, anything else as JSON; what JSON cannot hold,
    by `str`."""
    return result if isinstance(result, str) else to_json(result, fallback=str).decode("utf-8", "replace")


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    writes: bool | None = None,
    approval: ToolRule | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    writes: bool | None = None,
    approval: ToolRule | None = None,
) -> Any:
    """Makes a function, a coroutine function or a method a tool for `Agent` and `LlmTask`.

    Name, parameters and description come from the signature and the docstring (a section `Args:`, or `:param name:`);
    types are checked with pydantic. A parameter of the type `AgentContext` is filled in by the agent. `writes`: True if
    the tool changes something, False if it may be executed twice. `approval`: as in `playhead.observe`.
    """

    def made(function: Callable[..., Any]) -> Tool[..., Any]:
        return Tool(function, name=name, description=description, writes=writes, approval=approval)

    return made if function is None else made(function)


def as_tool(given: "Tool[..., Any] | Callable[..., Any]") -> Tool[..., Any]:
    """Returns a tool as it is, and a plain function as a tool."""
    return cast("Tool[..., Any]", given) if isinstance(given, Tool) else Tool(given)
