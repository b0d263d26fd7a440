"""Wraps a function so that each call is recorded; the wrapper behaves like the function (name, signature, pickling,
copying).
"""

import copy
import functools
import importlib
import inspect
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar, cast

import wrapt

from playhead.calls import functions
from playhead.calls.injected import describe_filled_in, injected_parameters, request_parameters, without_injected
from playhead.calls.span import ObservedSpan
from playhead.calls.steps import Steps, run_steps, run_steps_async
from playhead.kernel.guard import warn_once
from playhead.model import names
from playhead.model.digest import sha256

F = TypeVar("F", bound=Callable[..., Any])
_PLAIN, _COROUTINE, _GENERATOR, _ASYNC_GENERATOR = range(4)
# Our proxy classes claim this module, as the classes of functions and methods do. Of objects of other classes, Pydantic
# reads attributes (`from_attributes`): google-genai 1.x would take an observed function for a tool without a name.
_AS_OF_FUNCTIONS = "builtins"
_OWN_PARAMETER = {"self", "cls"}
# Python turns these into class methods implicitly, but only plain functions.
_CLASS_HOOKS = {"__init_subclass__", "__class_getitem__"}
# Not callable themselves, but reading them from an object returns a function.
_GIVE_FUNCTIONS: tuple[Any, ...] = (classmethod, functools.partialmethod, functools.singledispatchmethod)


class CallObserver(Protocol):
    """The part of an `observe(...)` that its wrappers use."""

    name: str | None
    """The function's name in the record; None: its own name."""
    kind: str | None
    capture_output: bool
    attributes: dict[str, Any]

    def output_name(self, kind: str) -> str:
        """Returns the name of the attribute for the result of a call of this kind."""
        ...

    def begin(self, name: str, arguments: dict[str, Any] | None, attributes: dict[str, Any]) -> ObservedSpan | None:
        """Creates the span of one call; None: the call is not recorded. Never raises."""
        ...

    def approve(self, name: str, arguments: Callable[[], dict[str, Any]]) -> Steps[None] | None:
        """Returns the steps (`calls.steps`) that wait until a person approves this call; None: it needs no approval."""
        ...


def observed(function: F, how: CallObserver, label: str | None = None) -> F:
    """Returns the function with each call recorded; of a property, each read is recorded. `label` is its name in the
    record; default: the name that `how` has, else the function's own."""
    target: Any = function
    if isinstance(target, property) and target.fget is not None:
        return cast(Any, target.getter(observed(target.fget, how)))
    if type(target) is functools.cached_property:
        return cast(Any, functools.cached_property(observed(target.func, how)))
    if isinstance(target, types.FunctionType) and target.__name__ in _CLASS_HOOKS:
        target = classmethod(target)
    return _proxy(target, how, label or how.name) if _is_function(target) else function


def is_writing_tool(function: object) -> bool:
    """Whether this is an observed tool that is not declared idempotent."""
    return isinstance(function, ObservedFunction) and function.is_writing_tool


def _proxy(function: Any, how: CallObserver, label: str | None) -> Any:
    inner = innermost(function)
    calls = _Calls(
        how,
        label or getattr(inner, "__name__", None) or type(function).__name__,
        _parameters(getattr(function, "__func__", function)),
        code_attributes(inner, how.kind),
        _kind_of(function),
        how.output_name(how.kind or "step") if how.capture_output else None,
        injected_parameters(function) if how.kind == "tool" else frozenset[str](),
        request_parameters(function),
    )
    if calls.kind != _PLAIN:
        made = ObservedFunction(function, calls.begun_later)
    else:
        begin = calls.begin if how.kind != "tool" else calls.begin_approved
        made = ObservedFunction(function, functions.plain_wrapper(begin, calls.output))
    made.observed_by(how)
    return made


@dataclass(frozen=True, slots=True)
class _Calls:
    """The calls of one observed function. `kind`: that of the callable (`_PLAIN` and so on). `output`: the attribute
    for the result; None: it is not recorded. `injected` parameters are filled by a framework, `filled_in` ones by
    FastAPI."""

    how: CallObserver
    name: str
    parameters: tuple[str, ...]
    attributes: dict[str, Any]
    kind: int
    output: str | None
    injected: frozenset[str]
    filled_in: dict[str, str | None]

    def begin(self, instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObservedSpan | None:
        """Creates the span of a call; None: it is not recorded."""
        try:
            return self.how.begin(self.name, *self._given(instance, args, kwargs))
        except RecursionError:  # too little stack left for the guard inside
            return None

    def begin_approved(self, instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObservedSpan | None:
        """The same, after a person has approved the call if a rule asks for that."""
        steps = self._approving(instance, args, kwargs)
        if steps is not None:
            run_steps(steps)
        return self.begin(instance, args, kwargs)

    def begun_later(
        self, wrapped: Callable[..., Any], instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Calls a function that returns something to await or iterate; the observed call begins with its first step.

        The object is created here, so that wrong arguments raise at once."""
        steps = self._approving(instance, args, kwargs) if self.how.kind == "tool" else None
        made = wrapped(*args, **kwargs)
        begin = functools.partial(self.begin, instance, args, kwargs)
        observing = _OBSERVE[self.kind](begin, self.output, made)
        return functions.with_name_of(_after_approval(self.kind, steps, observing, made), made)

    def _approving(self, instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Steps[None] | None:
        return self.how.approve(self.name, lambda: self._given(instance, args, kwargs)[0])

    def _given(
        self, instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the arguments by parameter name, and the attributes of the call."""
        arguments = _bind(self.parameters, instance, args, kwargs)
        if self.filled_in:
            arguments = describe_filled_in(arguments, self.filled_in)
        if not self.injected:
            return arguments, self.attributes
        arguments, call_id = without_injected(arguments, self.injected)
        return arguments, {**self.attributes, names.TOOL_CALL_ID: call_id} if call_id is not None else self.attributes


def _after_approval(call_kind: int, approving: Steps[None] | None, observing: object, made: object) -> Any:
    """Returns the object to await or iterate: the observed call, after its approval if it needs one."""
    return observing if approving is None else _APPROVED_FIRST[call_kind](approving, observing, made)


def _is_function(target: object) -> bool:
    """Whether the object can be observed; warns once when it cannot."""
    its_type = cast("type[Any]", type(target))
    is_field = hasattr(its_type, "__set__")
    if not is_field and (callable(target) or isinstance(target, _GIVE_FUNCTIONS)):
        return True
    description = f"a {its_type.__name__}"
    is_descriptor = is_field or hasattr(its_type, "__get__")
    instead = "put @observe below it, on the function" if is_descriptor else "decorate functions or methods"
    warn_once(f"observe {description}", f"observe() was given {description}, which is left as it is: {instead}")
    return False


_OBSERVE: dict[int, Callable[..., Any]] = {
    _COROUTINE: functions.call_async,
    _GENERATOR: functions.iterate,
    _ASYNC_GENERATOR: functions.iterate_async,
}


async def _approved_call(approving: Steps[None], observing: Awaitable[Any], made: Coroutine[Any, Any, Any]) -> Any:
    try:
        await run_steps_async(approving)
    except BaseException:
        cast(Any, observing).close()  # neither has begun
        made.close()
        raise
    return await observing


def _approved_steps(
    approving: Steps[None], observing: Generator[Any, Any, Any], made: object
) -> Generator[Any, Any, Any]:
    run_steps(approving)
    return (yield from observing)


async def _approved_items(
    approving: Steps[None], observing: AsyncGenerator[Any, Any], made: object
) -> AsyncGenerator[Any, Any]:
    await run_steps_async(approving)
    async for item in observing:
        yield item


_APPROVED_FIRST: dict[int, Callable[..., Any]] = {
    _COROUTINE: _approved_call,
    _GENERATOR: _approved_steps,
    _ASYNC_GENERATOR: _approved_items,
}


def _by_qualified_name(module: str, qualname: str) -> Any:
    """Returns the object with this qualified name. Used to unpickle static methods."""
    return functools.reduce(getattr, qualname.split("."), importlib.import_module(module))


class ObservedMethod(wrapt.BoundFunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """An observed bound method. Pickles and copies as methods do: as the object and a name."""

    __module__ = _AS_OF_FUNCTIONS

    def __reduce_ex__(self, protocol: object) -> Any:
        """Pickles as the object and the method's name."""
        method = cast(Any, self).__wrapped__
        if isinstance(method, types.MethodType):
            return getattr, (method.__self__, method.__name__)
        return _by_qualified_name, (method.__module__, method.__qualname__)

    def __copy__(self) -> Self:
        """Returns the method itself."""
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        """Returns the method of the copied object."""
        method = cast(Any, self).__wrapped__
        if isinstance(method, types.MethodType):
            return getattr(copy.deepcopy(method.__self__, memo), method.__name__)
        return self


class ObservedFunction(wrapt.FunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """An observed function. Pickles and copies by name, as functions do."""

    __module__ = _AS_OF_FUNCTIONS
    __bound_function_wrapper__ = ObservedMethod
    # wrapt keeps attributes with this prefix on the wrapper.
    _self_writes = False

    def observed_by(self, how: CallObserver) -> None:
        """Notes what `is_writing_tool` returns."""
        self._self_writes = how.kind == "tool" and names.IDEMPOTENT not in how.attributes

    @property
    def is_writing_tool(self) -> bool:
        """See the function of this name."""
        return self._self_writes

    def __reduce_ex__(self, protocol: object) -> str:
        """Pickles as the name by which the other process imports it."""
        return cast(Any, self).__wrapped__.__qualname__

    def __copy__(self) -> Self:
        """Returns the function itself."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Returns the function itself."""
        return self


def innermost(function: Any) -> Any:
    """Returns the function behind methods, partials and other decorators; its name and code describe the call."""
    while True:
        if isinstance(function, functools.partial | functools.partialmethod):
            function = function.func
        elif isinstance(function, classmethod | staticmethod | types.MethodType):
            function = cast(Any, function).__func__
        else:
            inner = inspect.unwrap(function)
            if inner is function:
                return function
            function = inner


def _kind_of(function: object) -> int:
    """Returns how the outermost callable has to be wrapped: plain function, coroutine, generator or asynchronous
    generator."""
    if isinstance(function, classmethod | staticmethod):
        function = cast(Any, function).__func__
    if inspect.isasyncgenfunction(function):
        return _ASYNC_GENERATOR
    if inspect.iscoroutinefunction(function) or _is_awaitable_generator(function):
        return _COROUTINE
    return _GENERATOR if inspect.isgeneratorfunction(function) else _PLAIN


def _is_awaitable_generator(function: object) -> bool:
    """Whether the function was made a coroutine function by `types.coroutine`."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & inspect.CO_ITERABLE_COROUTINE)


def _parameters(function: Any) -> tuple[str, ...]:
    """Returns the names of the positional parameters, without `*args`; empty if the signature is unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def _bind(
    parameters: tuple[str, ...], instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Returns the arguments by parameter name, without a method's `self`. Further positional ones are under `*args`."""
    if not args:
        return kwargs
    if instance is not None:
        parameters = parameters[1:]
    elif parameters and parameters[0] in _OWN_PARAMETER:
        parameters, args = parameters[1:], args[1:]
    bound = dict(zip(parameters, args, strict=False))
    if len(args) > len(parameters):
        bound["*args"] = list(args[len(parameters) :])
    return {**bound, **kwargs} if kwargs else bound


def code_attributes(function: object, kind: str | None) -> dict[str, Any]:
    """Returns the attributes that identify the called code. For an agent they include its import path, so that a test
    can start it."""
    attributes = {names.CODE: code} if (code := _fingerprint(function)) else {}
    if kind == "agent" and (module := getattr(function, "__module__", None)):
        attributes[names.CODE_FUNCTION] = f"{module}.{getattr(function, '__qualname__', '')}"
    return attributes


def _fingerprint(function: object) -> str | None:
    """Returns a hash of the function's code, the same in every process with the same Python version; None when there
    is no code."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    return sha256(_code_text(code).encode("utf-8", "replace")).hexdigest()[:16]


def _code_text(code: Any) -> str:
    """Returns the code as a text without line numbers, addresses and the order of sets: these change without a change
    of the code."""
    constants = [
        _code_text(const)
        if inspect.iscode(const)
        else repr(sorted(map(repr, const)))  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(const, frozenset)
        else repr(const)
        for const in code.co_consts
    ]
    return f"{code.co_code.hex()}{constants}{code.co_names}{code.co_varnames}"
