"""Shared by the modules of agent frameworks: observes tools where the framework calls them, and agents where they
start.

A framework is patched when the program imports it, and not before. A tool whose function is under `@observe` is
recorded by that. Each agent has a span: the outermost one is a run, agents that start inside are agents of that run.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, ParamSpec, TypeVar, cast

from playhead.api.calls.lifecycle import current_span
from playhead.api.calls.span import ObservedSpan
from playhead.api.functions import wrappers
from playhead.api.functions.proxy import ObservedFunction
from playhead.api.guard import swallowed
from playhead.api.observe import Observation
from playhead.capture.patching import Wrapper
from playhead.model import names
from playhead.model.objects.interrupts import let_through

P = ParamSpec("P")
T = TypeVar("T")
Begin = Callable[[], ObservedSpan | None]

_TOOL = Observation(None, "tool", True, True, None, {}, None)
_AGENT = Observation(None, "agent", True, True, None, {}, None)


def none_on_error(read: Callable[P, T]) -> Callable[P, T | None]:
    """Decorator for functions that inspect a framework's objects: any error is logged, and the result is None."""

    @functools.wraps(read)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return read(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - the guard
            let_through(error)
            swallowed(f"observe what {read.__module__.rpartition('.')[2]} does", error)
            return None

    return quiet


def is_observed(function: Any) -> bool:
    """Whether calls of the function are recorded already, by `@observe`."""
    return any(isinstance(layer, ObservedFunction) for layer in _layers(function))


def _layers(function: Any) -> Iterator[Any]:
    while function is not None:
        yield function
        inner = getattr(function, "__func__", None) or getattr(function, "func", None)
        function = inner or (None if isinstance(function, ObservedFunction) else getattr(function, "__wrapped__", None))


def tool(name: str, arguments: dict[str, Any], call_id: Any, *, is_agent: bool = False) -> Begin:
    """Begins the span of a tool call, with its arguments and the id of the model's request.

    `is_agent`: the tool only runs an agent, so if it was cut off it is called again and can go on.
    """
    more: dict[str, Any] = {names.TOOL_CALL_ID: call_id} if isinstance(call_id, str) and call_id else {}
    if is_agent:
        more[names.IDEMPOTENT] = True
    return lambda: _TOOL.begin(name, arguments, more)


def agent(name: str, agent_input: Any) -> Begin:
    """Begins the span of an agent: a run if there is none, else an agent of the current run. `agent_input`: its input,
    or None.
    """
    return lambda: _AGENT.begin(name, None if agent_input is None else {"input": agent_input}, {})


def recorded_result(read: Callable[[Any, Any, Any], T | None], record: Callable[[T, Any], Any]) -> Wrapper:
    """A wrapper that gives what the function returned (a coroutine, a stream, a block) to `record`, and returns that.

    `read` looks at the object, args and kwargs of the call, and says what to record, e.g. a `Begin`; None: nothing.
    """

    def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        what, made = read(instance, args, kwargs), wrapped(*args, **kwargs)
        return made if what is None else record(what, made)

    return wrapper


def is_inside_run() -> bool:
    """Whether a recorded call is current here."""
    return current_span() is not None


def call(begin: Begin, output: str, wrapped: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls a plain function, recorded; or returns the recorded answer."""
    span = begin()
    return wrapped(*args, **kwargs) if span is None else wrappers.call(span, output, wrapped, args, kwargs)


def call_async(begin: Begin, made: Awaitable[Any], output: str) -> Awaitable[Any]:
    """Awaits a framework's coroutine, recorded; or returns the recorded answer."""
    coroutine = made if inspect.iscoroutine(made) else _awaited(made)
    return wrappers.call_async(begin, output, cast("Coroutine[Any, Any, Any]", coroutine))


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made
