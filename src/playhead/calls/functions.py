"""Wrappers for each kind of callable: plain functions, coroutines, generators, asynchronous generators.

A generator's span lasts from its first step to its end, and is current only while the generator runs. Between steps
the consumer's context is current, so that other calls there get the right parent however the generator is left.
"""

import sys
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass, replace
from typing import Any

from opentelemetry.context import Context

from playhead.calls.asyncio_here import is_cancelled_error
from playhead.calls.lifecycle import abort, attach, detach, enter, fail, fail_and_detach, finish, pause
from playhead.calls.recorded_answer import recorded_answer, recorded_answer_async
from playhead.calls.replay import ReplayAnswer
from playhead.calls.span import ObservedSpan
from playhead.kernel.guard import guarded
from playhead.model.objects.kinds import plan_of
from playhead.model.objects.plain_forms import class_of

StartSpan = Callable[[], ObservedSpan | None]
BeginCall = Callable[[Any, tuple[Any, ...], dict[str, Any]], ObservedSpan | None]
"""Returns the span of a call with this instance (of a method, else None) and these arguments."""
Wrapper = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
Fit = Callable[[Any], Any]
"""Converts an outcome that a person set into what the function returns in its framework. If it raises, the outcome is
returned as it was set."""

# Bounds for the items kept until a generator ends, since it may be endless.
_MAX_ITEMS = 10_000
_MAX_BYTES = 64 * 2**20
_SIZED = frozenset({str, bytes, bytearray, list, tuple, dict, set, int, float})
_OBJECT_BYTES, _TABLE_BYTES = 1024, 2**20


@dataclass(frozen=True, slots=True)
class EventStreamReader:
    """Reads a generator whose items are a framework's events. One event holds the result; only that is recorded.

    The functions must not raise errors of their own.
    """

    result: Callable[[ObservedSpan, Any], Any]
    """Returns the result in an event, or NO_RESULT. The last result counts."""
    restore: Callable[[Any], list[Any]]
    """Returns the events to yield instead of the function's, for a recorded result or one that a person set."""


NO_RESULT: Any = object()


def plain_wrapper(begin: BeginCall, output: str | None, fit: Fit | None = None) -> Wrapper:
    """Returns the function that wrapt calls in place of a plain function, which it calls as an observed call. `begin`
    returns the span of the call; None: it is not recorded. If the function returns a coroutine, that is observed.

    All of it is one function, since a recursive function may call itself only as often as there is room for the frames
    of each call.
    """

    def wrapper(wrapped: Callable[..., Any], instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        span = begin(instance, args, kwargs)
        if span is None:
            return wrapped(*args, **kwargs)
        answer = recorded_answer(span)
        if answer is not None:
            return _replayed(span, output, answer, fit)
        try:  # around everything, since a signal's handler may raise anywhere and the call must not stay current
            enter(span)
            result = wrapped(*args, **kwargs)
            if type(result) is types.CoroutineType:
                return with_name_of(_awaited(span, output, result, pause(span)), result)  # pyright: ignore[reportUnknownArgumentType]
            finish(span, output, result)
        except BaseException as error:
            try:  # not `fail_and_detach`, at whose beginning a handler may raise, too
                fail(span, error)
            finally:
                detach(span)
            raise
        return result

    return wrapper


def call(
    span: ObservedSpan,
    output: str | None,
    function: Callable[..., Any],
    args: Any,
    kwargs: Any,
    fit: Fit | None = None,
) -> Any:
    """Calls a plain function as the call of this span, which has not been entered; see `plain_wrapper`."""

    def begun(instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ObservedSpan:
        return span

    return plain_wrapper(begun, output, fit)(function, None, args, kwargs)


def _replayed(span: ObservedSpan, output: str | None, answer: ReplayAnswer, fit: Fit | None = None) -> Any:
    """Returns the recorded outcome, or the one that a person set, instead of executing the function. The latter is
    recorded in this run."""
    if answer.is_new:
        if fit is not None and answer.error is None and answer.items is None:
            answer = replace(answer, value=_fitted(fit, answer.value))
        try:
            enter(span)
            if answer.error is not None:
                fail(span, answer.error)
            else:
                finish(span, output, answer.value if answer.items is None else answer.items)
        except BaseException as error:
            fail_and_detach(span, error)
            raise
    return answer.unwrap()


def _fitted(fit: Fit, value: object) -> Any:
    with guarded("give an outcome in its framework's form"):
        return fit(value)
    return value


def with_name_of(ours: Any, name: Any) -> Any:
    """Returns our coroutine or generator with the name of the wrapped one, for `repr`, tasks and Python's warnings."""
    ours.__name__, ours.__qualname__ = name.__name__, name.__qualname__
    return ours


async def _awaited(
    span: ObservedSpan, output: str | None, coroutine: Awaitable[Any], where: Context | None = None
) -> Any:
    """Awaits the coroutine as the observed call. `where`: the context that `pause` returned, if the call has already
    begun."""
    try:
        if where is None:
            _enter_or_close(span, coroutine)
        else:
            attach(span, where)
        result = await coroutine
        finish(span, output, result)
    except BaseException as error:
        if isinstance(coroutine, types.CoroutineType):  # needed if it was not started; otherwise does nothing
            coroutine.close()
        try:  # not `fail_and_detach`, at whose beginning a handler may raise, too
            fail(span, error)
        finally:
            detach(span)
        raise
    return result


def _enter_or_close(span: ObservedSpan, coroutine: Awaitable[Any]) -> None:
    """Calls `enter`. If it raises, closes the coroutine, since Python would warn that it was never awaited."""
    try:
        enter(span)
    except BaseException:
        if isinstance(coroutine, Coroutine):
            coroutine.close()
        raise


def call_async(
    begin: StartSpan, output: str | None, coroutine: Coroutine[Any, Any, Any], fit: Fit | None = None
) -> Awaitable[Any]:
    """Returns an awaitable that runs the coroutine as an observed call. Cancellation is recorded as an outcome of its
    own."""
    return _call_async(begin, output, _Unstarted(coroutine), fit)


async def _call_async(begin: StartSpan, output: str | None, unstarted: "_Unstarted", fit: Fit | None) -> Any:
    coroutine, unstarted.coroutine = unstarted.coroutine, None
    assert coroutine is not None  # noqa: S101 - a coroutine begins once
    span = begin()
    if span is None:
        return await coroutine
    try:
        answer = await recorded_answer_async(span)
    except BaseException:
        coroutine.close()
        raise
    if answer is not None:
        coroutine.close()
        return _replayed(span, output, answer, fit)
    return await _awaited(span, output, coroutine)


class _Unstarted:
    """Holds a coroutine that has not been started, so that Python warns about one un-awaited coroutine and not two."""

    __slots__ = ("coroutine",)

    def __init__(self, coroutine: Coroutine[Any, Any, Any]):
        self.coroutine: Coroutine[Any, Any, Any] | None = coroutine

    def __del__(self) -> None:
        if self.coroutine is not None:
            self.coroutine.close()


def iterate(begin: StartSpan, output: str | None, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Runs a generator. Values, exceptions and `close` of the consumer are passed on to the observed generator."""
    span = begin()
    if span is None:
        return (yield from steps)
    answer = recorded_answer(span)
    items: list[Any] = []
    if answer is not None:
        items = _items(span, output, answer)
        yield from items
        if not answer.continues_live():
            steps.close()
            return None
    watch = _GeneratorRecording(span, output)
    raised: BaseException | None = None
    sent: Any = None
    try:
        enter(span)
        _skip_delivered_items(items, steps, watch)
        while True:
            where = watch.pause(steps.send(sent) if raised is None else steps.throw(raised))
            sent, raised = None, None
            try:
                sent = yield watch.pop()
            except BaseException as error:  # noqa: BLE001 - thrown in by the consumer, for the generator to see
                raised = error
            watch.resume(where)
    except StopIteration as stop:
        watch.end(aborted=isinstance(raised, GeneratorExit), returned=stop.value)
        return stop.value
    except BaseException as error:
        watch.fail(error)
        raise
    finally:
        detach(span)
        raised = None  # its traceback refers to this frame


async def iterate_async(
    begin: StartSpan,
    output: str | None,
    steps: AsyncGenerator[Any, Any],
    reader: EventStreamReader | None = None,
    fit: Fit | None = None,
) -> AsyncGenerator[Any, Any]:
    """Runs an asynchronous generator. If it is dropped without being closed, its span ends when it is collected.

    `reader`: for items that are a framework's events. Without it, the items together are the result.
    """
    span = begin()
    answer = await recorded_answer_async(span) if span is not None else None
    items: list[Any] = []
    if span is not None and answer is not None:
        items = _items(span, output, answer, fit) if reader is None else reader.restore(_replayed(span, output, answer))
        for item in items:
            yield item
        if not answer.continues_live():
            await steps.aclose()
            return
    watch = _GeneratorRecording(span, output, reader)
    leaving = False
    try:
        if span is not None:
            enter(span)
        step = await _skip_delivered_items_async(items, steps, watch)
        while True:
            leaving, where = False, watch.pause(await step)
            try:
                step = steps.asend((yield watch.pop()))
            except BaseException as error:  # noqa: BLE001 - thrown in by the consumer, for the generator to see
                # A loop that shuts down closes or cancels generators that were left: the consumer has gone.
                leaving = isinstance(error, GeneratorExit) or is_cancelled_error(error)
                step = steps.athrow(error)
            watch.resume(where)
    except StopAsyncIteration:
        watch.end(aborted=leaving)
    except BaseException as error:
        if leaving and is_cancelled_error(error):
            watch.end(aborted=True)
        watch.fail(error)
        raise
    finally:
        _detach_recorded(span)


def _skip_delivered_items(items: list[Any], steps: Generator[Any, Any, Any], recording: "_GeneratorRecording") -> None:
    """Steps a generator past the items that the consumer already has from the record."""
    for item in items:
        next(steps)
        recording.keep(item)


async def _skip_delivered_items_async(
    items: list[Any], steps: AsyncGenerator[Any, Any], recording: "_GeneratorRecording"
) -> Awaitable[Any]:
    """The same as `_skip_delivered_items`, asynchronous. Returns the awaitable of the next step."""
    step = _first_step(steps)
    for item in items:
        await step
        recording.keep(item)
        step = steps.asend(None)
    return step


def _detach_recorded(span: ObservedSpan | None) -> None:
    if span is not None:
        detach(span)


def _items(span: ObservedSpan, output: str | None, answer: ReplayAnswer, fit: Fit | None = None) -> list[Any]:
    """Returns the recorded items of a generator. For an outcome that a person set: the items of a list or tuple, else
    the value as the only item.
    """
    value = _replayed(span, output, answer, fit)
    if answer.items is not None:
        return answer.items
    return list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]


def _first_step(steps: AsyncGenerator[Any, Any]) -> Awaitable[Any]:
    """Returns the first step, taken without asyncio's hooks for generators: a loop that shuts down closes every
    generator that it knows, and must know only our outer generator, not the user's inside it.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return steps.__anext__()
    finally:
        sys.set_asyncgen_hooks(*hooks)


class _GeneratorRecording:
    """Collects the items of a generator, up to a limit, and ends its span once.

    The generator's frame holds the only reference: if the generator is collected without being closed, `__del__` ends
    the span.
    """

    __slots__ = ("item", "items", "more", "output", "reader", "result", "room", "span")

    def __init__(self, span: ObservedSpan | None, output: str | None, reader: EventStreamReader | None = None) -> None:
        self.span = span
        self.output = output
        self.item: Any = None
        self.reader = reader
        self.result = NO_RESULT
        wanted = span is not None and span.run.recorded and span.recorder.content and output is not None
        self.items: list[Any] | None = [] if wanted and reader is None else None
        self.more = 0
        self.room = _MAX_BYTES

    def pause(self, item: object) -> Context | None:
        """Records a yielded value, and makes the consumer's context current until `resume`. Returns our context."""
        self.item = item
        if self.span is None:
            return None
        self.keep(item)
        return pause(self.span)

    def keep(self, item: object) -> None:
        """Adds a value to the recorded items, if there is room, or reads the result from an event."""
        if self.span is not None and self.reader is not None:
            result = self.reader.result(self.span, item)
            self.result = self.result if result is NO_RESULT else result
        if self.items is not None:
            self.room -= _bytes_of(item)
            if len(self.items) < _MAX_ITEMS and self.room > 0:
                self.items.append(item)
            else:
                self.more += 1

    def pop(self) -> Any:
        """Returns the paused item once, so that a suspended generator does not keep it alive."""
        item, self.item = self.item, None
        return item

    def resume(self, where: Context | None) -> None:
        if self.span is not None:
            attach(self.span, where)

    def end(self, *, aborted: bool, returned: object = None) -> None:
        span = self.span
        if span is not None:
            output = self.output if self.items is not None or self.result is not NO_RESULT else None
            lost = "it gave more than is recorded" if self.more else None
            if returned is not None:
                lost = "it also returned a value, and a record of what a generator gave has no place for that"
            try:
                (abort if aborted else finish)(span, output, self._output(), self.items, lost)
            finally:
                detach(span)
            self.span = None

    def fail(self, raised: BaseException) -> None:
        if isinstance(raised, GeneratorExit):
            self.end(aborted=True)
        span = self.span
        if span is not None:
            try:
                fail(span, raised, "it raised after it had given something" if self.items or self.more else None)
            finally:
                detach(span)
            self.span = None

    def __del__(self) -> None:
        self.end(aborted=True)

    def _output(self) -> Any:
        """Returns the output to record: texts joined into one, other items as a list, with the number of items that are
        not recorded; with a reader, the result that it has read."""
        items = self.items
        if self.reader is not None:
            return self.result
        if self.more:
            return {"items": items, "items_not_recorded": self.more}
        if items and all(type(item) is str for item in items):
            return "".join(items)
        return items


def _bytes_of(item: Any) -> int:
    """Estimates the memory of an item in bytes, without what it refers to. Calls no code of the user's classes, which
    may take long."""
    kind = class_of(item)
    if kind in _SIZED:
        return sys.getsizeof(item)
    with guarded("read the size of an item", log=False):  # a library's own code, or the user's in a subclass
        if not plan_of(kind).family:
            return _OBJECT_BYTES
        return int(item.nbytes)
    return _TABLE_BYTES
