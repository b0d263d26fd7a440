"""`@playhead.cached`: keeps the results of a function for some time.

In a run, a cached call is a step of the run, whose result is recorded. A resumed run gets the recorded result, however
old it is; where the record has none, the function is called, and the cache is not read: what another run has cached
must not decide which calls a resumed run makes.
"""

import asyncio
import functools
import hashlib
import inspect
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from playhead.api.argument_keys import NotAKey, key_text
from playhead.api.observe import observe
from playhead.api.result_cache import Flight, FlightFailed, ResultCache
from playhead.calls.lifecycle import current_span
from playhead.calls.proxy import is_writing_tool
from playhead.calls.span import ObservedSpan
from playhead.kernel.guard import guarded, warn_once
from playhead.model import names

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# The keys that this thread or task is computing: a function that calls itself with the same arguments must not wait for
# itself.
_computing: ContextVar[frozenset[tuple[int, str]]] = ContextVar("playhead_computing", default=frozenset())


class CachedFunction(Protocol[P, R_co]):
    """A function with a cache."""

    cache: ResultCache
    """Its `statistics`, and `clear()`."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Returns a copy of the cached result, or calls the function."""
        ...


@overload
def cached(function: Callable[P, R], /) -> CachedFunction[P, R]: ...
@overload
def cached(
    *, ttl: float | timedelta | None = 300, max_items: int = 1_000, shared: bool = False
) -> Callable[[Callable[P, R]], CachedFunction[P, R]]: ...
def cached(
    function: Any = None,
    /,
    *,
    ttl: float | timedelta | None = 300,
    max_items: int = 1_000,
    shared: bool = False,
) -> Any:
    """Keeps a function's results: `@playhead.cached(ttl=300)`. Works on functions and coroutine functions.

    `ttl`: seconds or a timedelta after which a result is computed again; None: never. `max_items`: how many results are
    kept. `shared`: whether results are given to every user; otherwise to the user of the run for whom they were
    computed (`playhead.run(user=...)`). Statistics: `function.cache.statistics`.

    Arguments have to be plain values (texts, numbers, lists, dictionaries, dataclasses, ...): a call with other ones is
    made without the cache, with a warning. Results are copied. Errors are not kept.

    A tool that writes is not cached: one with `writes=True`, or an observed one that is not declared idempotent. Put
    `@cached` above `@observe`. Raises ValueError for a `ttl` or `max_items` below 1, TypeError for a generator.
    """
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    if (seconds is not None and not seconds > 0) or max_items < 1:
        raise ValueError(f"cached(ttl={ttl!r}, max_items={max_items!r}): both have to be above 0")

    def decorate(target: Callable[..., Any]) -> Any:
        return _cached(target, ResultCache(seconds, max_items), shared=shared)

    return decorate if function is None else decorate(function)


def _cached(target: Any, cache: ResultCache, *, shared: bool) -> Any:
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise TypeError(f"cached() was given the generator {target.__name__}: it takes functions that return a result")
    name = str(getattr(target, "__name__", None) or getattr(target, "name", None) or type(target).__name__)
    call: Any = target
    if is_writing_tool(target) or getattr(target, "writes", False) is True:
        warn_once(f"cached tool {name}", f"{name} is a tool that writes, so that its results are not cached")
    else:
        call = _in_runs(target, name, _CachedCalls(target, name, cache, shared=shared))
    wrapper = _as_called(target, call)
    wrapper.cache = cache
    return wrapper


def _as_called(target: Any, call: Any) -> Any:
    """Returns a function with the target's name and signature that calls `call`."""
    if inspect.iscoroutinefunction(target):

        async def called_async(*args: Any, **kwargs: Any) -> Any:
            return await call(*args, **kwargs)

        return functools.wraps(target)(called_async)

    def called(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    return functools.wraps(target)(called)


def _in_runs(target: Any, name: str, calls: "_CachedCalls") -> Any:
    """Returns the function that looks a call up; in a run, as a step with a recorded result."""
    plain = calls.call_async if inspect.iscoroutinefunction(target) else calls.call
    recorded = observe(name, kind="step", replay=True)(_as_called(target, plain))

    def call(*args: Any, **kwargs: Any) -> Any:
        # Outside a run, an observed step would begin one.
        return (plain if current_span() is None else recorded)(*args, **kwargs)

    return call


class _CachedCalls:
    """The calls of one function."""

    def __init__(self, target: Any, name: str, cache: ResultCache, *, shared: bool) -> None:
        self._target = target
        self._name = name
        self._cache = cache
        self._shared = shared
        self._signature: inspect.Signature | None = None
        with suppress(TypeError, ValueError):  # of a built-in function, nothing may be known
            self._signature = inspect.signature(target)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the cached result, or the function's."""
        key = self._key(args, kwargs)
        found = None if key is None else self._found(key)
        if key is None or (isinstance(found, Flight) and self._is_own(key)):
            return self._target(*args, **kwargs)
        if isinstance(found, tuple):
            return found[0]
        if isinstance(found, Flight):
            try:
                return self._waited(found.result.result())
            except FlightFailed:
                self._cache.waited(has_result=False)
                return self._target(*args, **kwargs)
        token = _computing.set(_computing.get() | {(id(self), key)})
        try:
            result = self._target(*args, **kwargs)
        except BaseException:
            self._cache.fail(key)
            raise
        finally:
            _computing.reset(token)
        self._cache.store(key, result)
        return result

    async def call_async(self, *args: Any, **kwargs: Any) -> Any:
        """The same for a coroutine function."""
        key = self._key(args, kwargs)
        found = None if key is None else self._found(key)
        if key is None or (isinstance(found, Flight) and self._is_own(key)):
            return await self._target(*args, **kwargs)
        if isinstance(found, tuple):
            return found[0]
        if isinstance(found, Flight):
            try:
                # Shielded: a caller that is cancelled must not cancel the value for the others.
                return self._waited(await asyncio.shield(asyncio.wrap_future(found.result)))
            except FlightFailed:
                self._cache.waited(has_result=False)
                return await self._target(*args, **kwargs)
        token = _computing.set(_computing.get() | {(id(self), key)})
        try:
            result = await self._target(*args, **kwargs)
        except BaseException:
            self._cache.fail(key)
            raise
        finally:
            _computing.reset(token)
        self._cache.store(key, result)
        return result

    def _found(self, key: str) -> tuple[Any] | Flight | None:
        found = self._cache.look_up(key)
        _note("miss" if found is None else "hit" if isinstance(found, tuple) else "wait")
        return found

    def _waited(self, value: object) -> Any:
        self._cache.waited(has_result=True)
        return self._cache.copy_of(value)

    def _is_own(self, key: str) -> bool:
        return (id(self), key) in _computing.get()

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Returns the digest of the arguments and of the tenant; None: the call is made without the cache."""
        span = current_span()
        if span is not None and span.run.replay is not None:
            _note("not read: the run is resumed")
            return None
        with guarded("look a call up in its cache"):
            try:
                text = key_text((None if self._shared else _tenant(span), self._arguments(args, kwargs)))
                return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            except NotAKey as error:
                warn_once(f"cached {self._name} {error}", f"{self._name} is called without its cache: {error}")
                self._cache.not_looked_up()
        return None

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._signature is None:
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:  # the function raises it, too
            return args, kwargs
        bound.apply_defaults()
        return bound.arguments


def _tenant(span: ObservedSpan | None) -> tuple[str, str] | None:
    """Whose result it is: the user of the run; in a process that was handed a part of a run, the run's."""
    if span is None:
        return None
    outermost = span
    while outermost.enclosing is not None:
        outermost = outermost.enclosing
    if names.RUN_ROOT not in outermost.attributes:
        return "run", span.run.id
    user = outermost.attributes.get(names.USER)
    return None if user is None else ("user", cast(str, user))


def _note(how: str) -> None:
    """Notes on the step what the cache did."""
    span = current_span()
    if span is not None:
        span.attributes[names.CACHE] = how
