"""`messages.stream()`: a helper that sends its request when its `with` block is entered, and reads the stream.

The helper keeps the request to make in a private attribute, which all supported versions have.  We replace that by an
observed request.  In a version without the attribute, the helper works, and its calls are not recorded.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any

from playhead.capture.client_methods import ClientApi, recording_method, recording_method_async, with_iterators_read
from playhead.capture.patching import Wrapper
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.kernel.guard import guarded

_REQUEST = "__api_request"
# Bounds the helpers of other instrumentations around the client's.  There are three such instrumentations.
_MAX_LAYERS = 8


def observing_helper(api: ClientApi) -> Wrapper:
    """Returns the wrapper for `stream` of the plain client."""
    return _observing_helper(api, recording_method(api), _Request)


def observing_async_helper(api: ClientApi) -> Wrapper:
    """Returns the wrapper for `stream` of the asynchronous client, which also returns its helper at once."""
    return _observing_helper(api, recording_method_async(api), _AsyncRequest)


def _observing_helper(api: ClientApi, observe: Wrapper, kind: "type[_Request | _AsyncRequest]") -> Wrapper:
    def stream(function: Callable[..., object], called: MethodCall) -> object:
        args, kwargs = called.args, with_iterators_read(api, called.kwargs)
        helper = function(*args, **kwargs)
        with guarded("record a stream of anthropic"):  # another version
            holder, name = _held(helper)
            holder[name] = kind(function, kwargs, holder[name], lambda ask: observe(ask, called.client, args, kwargs))
        return helper

    return intercepted(stream)


def _held(helper: object) -> tuple[dict[str, Any], str]:
    """Returns the attributes of the client's own helper, and the name of its request among them.  Raises KeyError.

    Other instrumentations return their own helper, with the client's (or a third one's) in an attribute.
    """
    level: list[object] = [helper]
    for _ in range(_MAX_LAYERS):
        beneath: list[object] = []
        for candidate in level:
            attributes: dict[str, Any] = getattr(candidate, "__dict__", {})
            for owner in type(candidate).__mro__:
                name = f"_{owner.__name__.lstrip('_')}{_REQUEST}"
                if name in attributes:
                    return attributes, name
            beneath += [value for value in attributes.values() if _is_helper(value)]
        level = beneath
    raise KeyError(f"{type(helper).__name__} has no request")


def _is_helper(value: object) -> bool:
    return hasattr(type(value), "__enter__") or hasattr(type(value), "__aenter__")


class _Request:
    """Replaces the request of a plain helper; the helper calls it.

    `observe` calls the function that it gets, and records this call like one of the client's method. It gets `stream`,
    from whose result the helper reads.
    """

    def __init__(
        self,
        method: Callable[..., object],
        kwargs: Mapping[str, object],
        request: Callable[[], object],
        observe: Callable[[Callable[..., object]], object],
    ):
        self._method = method
        self._kwargs = kwargs
        self._request = request
        self._observe = observe

    def __call__(self) -> object:
        return self._observe(self.stream)

    def stream(self, *args: object, **kwargs: object) -> object:
        """Makes the helper's request. If a person has edited the arguments, makes the request of a new helper with
        them."""
        if _is_same(kwargs, self._kwargs):
            return self._request()
        holder, name = _held(self._method(*args, **kwargs))
        return holder[name]()


class _AsyncRequest:
    """Replaces the request of an asynchronous helper; the helper awaits it."""

    def __init__(
        self,
        method: Callable[..., object],
        kwargs: Mapping[str, object],
        request: Awaitable[object],
        observe: Callable[[Callable[..., Awaitable[object]]], Any],
    ):
        self._method = method
        self._kwargs = kwargs
        self._request = request
        self._observe = observe

    def __await__(self) -> Generator[Any, Any, object]:
        return self._ask().__await__()

    async def _ask(self) -> object:
        try:
            return await self._observe(self.stream)
        finally:
            # A coroutine.  With a recorded answer it is never awaited, and Python would warn of that.
            close = getattr(self._request, "close", None)
            if close is not None:
                close()

    async def stream(self, *args: Any, **kwargs: Any) -> Any:
        """Like `_Request.stream`."""
        if _is_same(kwargs, self._kwargs):
            return await self._request
        holder, name = _held(self._method(*args, **kwargs))
        return await holder[name]


def _is_same(kwargs: Mapping[str, object], others: Mapping[str, object]) -> bool:
    return kwargs.keys() == others.keys() and all(value is others[name] for name, value in kwargs.items())
