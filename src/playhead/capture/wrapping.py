"""Wrappers that record the calls of a function, by the kind of function: plain, awaited, and those that return chunks.

What is recorded of a call, and how it ends, is said by its `CallRecording`. Here is the order in which that is asked:
begin; return the recorded answer if there is one; else call the function, and end the recording with its result or its
error, which is raised again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from playhead.capture.patching import Wrapper

T = TypeVar("T")


@dataclass(slots=True)  # not frozen: that costs a microsecond of each call
class MethodCall:
    """A call of a client's method, or of a function (`client` is None), with the arguments to pass.

    Client and arguments come from a library or a program, so their types are unknown here. A reader states the type
    that it needs: `task: Task = call.argument(0, "task")`, with a protocol of the attributes that it reads.
    """

    client: Any
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    is_async: bool = False

    def argument(self, position: int, name: str) -> Any:
        """Returns an argument that may be passed by position or by name; None if it is not passed."""
        return self.args[position] if len(self.args) > position else self.kwargs.get(name)

    def arguments(self, *positional: str) -> dict[str, Any]:
        """Returns the arguments by name.  `positional`: names of the parameters that may be passed by position."""
        return {**dict(zip(positional, self.args, strict=False)), **self.kwargs}

    def make(self, function: Callable[..., T]) -> T:
        """Calls the function with these arguments."""
        return function(*self.args, **self.kwargs)

    def with_kwargs(self, kwargs: dict[str, Any]) -> "MethodCall":
        """Returns the same call with other keyword arguments."""
        return replace(self, kwargs=kwargs)


_CURRENT_ALREADY = nullcontext()


class CallRecording:
    """One call of a wrapped function that is recorded. Only `answer` and `answer_async` may raise."""

    __slots__ = ("call",)

    def __init__(self, call: MethodCall):
        """`call`: the call to make.  A recording may replace it by another one, with edited arguments."""
        self.call = call

    @property
    def has_answer(self) -> bool:
        """Whether the record answers the call: the function is then not called."""
        return False

    def answer(self) -> object:
        """Returns the recorded result, or raises the recorded error."""

    async def answer_async(self) -> object:
        """The same, for a function whose result is awaited."""
        return self.answer()

    def current(self) -> AbstractContextManager[None]:
        """Context for the function, or for one step of its stream, if the call is not current already."""
        return _CURRENT_ALREADY

    def end(self, result: object) -> object:
        """Ends the call with the function's result; returns the value for the program."""
        return result

    def fail(self, raised: BaseException) -> None:
        """Ends the call with an error or a cancellation; also called if a signal's handler raises during `end`."""


class StreamedCallRecording(CallRecording):
    """One call of a function that returns chunks.

    `fail` with GeneratorExit: the reader stopped early.
    """

    __slots__ = ()

    def answer(self) -> Any:
        """Returns an iterable of the recorded chunks."""

    def add_chunk(self, chunk: object) -> None:
        """Records a chunk."""

    def end_stream(self) -> None:
        """Ends the call with the chunks so far."""


Begin = Callable[[MethodCall], CallRecording | None]
"""Begins to record a call; None: it is not recorded.  May raise what the program is to get.

May replace the arguments of the MethodCall, also if it returns None, where a value can be read only once."""
BeginStream = Callable[[MethodCall], StreamedCallRecording]


def intercepted(handle: Callable[[Callable[..., Any], MethodCall], object]) -> Wrapper:
    """Returns the wrapper that passes each call to `handle`, with the function, and returns what `handle` returns."""

    def run(
        wrapped: Callable[..., object], instance: object, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        return handle(wrapped, MethodCall(instance, getattr(wrapped, "__name__", ""), args, kwargs))

    return run


def wrap(begin: Begin) -> Wrapper:
    """Returns the wrapper for a plain function."""

    def run(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        call = MethodCall(instance, wrapped.__name__, args, kwargs)
        recording = begin(call)
        if recording is None:
            return wrapped(*call.args, **call.kwargs)
        if recording.has_answer:
            return recording.answer()
        call = recording.call
        try:
            with recording.current():
                result = wrapped(*call.args, **call.kwargs)
            return recording.end(result)
        except BaseException as error:
            recording.fail(error)
            raise

    return run


def wrap_async(begin: Begin) -> Wrapper:
    """Returns the wrapper for a function whose result is awaited."""

    async def run(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        call = MethodCall(instance, wrapped.__name__, args, kwargs, is_async=True)
        recording = begin(call)
        if recording is None:
            return await wrapped(*call.args, **call.kwargs)
        if recording.has_answer:
            return await recording.answer_async()
        call = recording.call
        try:
            with recording.current():
                result = await wrapped(*call.args, **call.kwargs)
            return recording.end(result)
        except BaseException as error:
            recording.fail(error)
            raise

    return run


_END = object()


def wrap_stream(begin: BeginStream) -> Wrapper:
    """Returns the wrapper for a function that returns an iterator of chunks."""

    def run(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> Iterator[object]:
        recording = begin(MethodCall(instance, wrapped.__name__, args, kwargs))
        if recording.has_answer:
            yield from recording.answer()
            return
        call = recording.call
        chunks: Any = None
        try:
            with recording.current():
                chunks = iter(wrapped(*call.args, **call.kwargs))
            while True:
                with recording.current():
                    chunk = next(chunks, _END)
                if chunk is _END:
                    break
                recording.add_chunk(chunk)
                yield chunk
        except BaseException as error:
            if isinstance(error, GeneratorExit) and hasattr(chunks, "close"):
                chunks.close()
            recording.fail(error)
            raise
        recording.end_stream()

    return run


def wrap_stream_async(begin: BeginStream) -> Wrapper:
    """Returns the wrapper for a function that returns an asynchronous iterator of chunks, or a coroutine of one."""

    async def run(
        wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> AsyncIterator[object]:
        recording = begin(MethodCall(instance, wrapped.__name__, args, kwargs, is_async=True))
        if recording.has_answer:
            for chunk in recording.answer():
                yield chunk
            return
        call = recording.call
        chunks: Any = None
        leaving = False
        try:
            with recording.current():
                made = wrapped(*call.args, **call.kwargs)
                chunks = aiter(await made if asyncio.iscoroutine(made) else made)
            while True:
                with recording.current():
                    chunk = await anext(chunks, _END)
                if chunk is _END:
                    break
                recording.add_chunk(chunk)
                leaving = True
                yield chunk
                leaving = False
        except BaseException as error:
            if isinstance(error, GeneratorExit) and hasattr(chunks, "aclose"):
                await chunks.aclose()
            # An event loop that shuts down cancels generators whose reader stopped early.
            recording.fail(GeneratorExit() if leaving else error)
            raise
        recording.end_stream()

    return run
