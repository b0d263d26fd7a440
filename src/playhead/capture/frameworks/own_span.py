"""Wrappers for a framework's methods that get a span of their own and run again on resume: only the calls inside are
answered from the record.

`begin` gets the object, args and kwargs of a call, and returns its span (None: the call is not recorded).  `end` gets
span, result, args and kwargs, and ends the span.  `fail` ends it with the exception, which is then raised again.
"""

from collections.abc import Callable
from typing import Any

from playhead.calls.lifecycle import enter, fail_and_detach
from playhead.calls.span import ObservedSpan
from playhead.capture.patching import Wrapper

BeginSpan = Callable[[Any, Any, Any], ObservedSpan | None]
EndSpan = Callable[[ObservedSpan, Any, Any, Any], None]
FailSpan = Callable[[ObservedSpan, BaseException], None]


def with_own_span(begin: BeginSpan, end: EndSpan, fail: FailSpan = fail_and_detach) -> Wrapper:
    """Returns the wrapper for a plain method."""

    def run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        span = begin(instance, args, kwargs)
        if span is None:
            return wrapped(*args, **kwargs)
        enter(span)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            fail(span, error)
            raise
        end(span, result, args, kwargs)
        return result

    return run


def with_own_span_async(begin: BeginSpan, end: EndSpan, fail: FailSpan = fail_and_detach) -> Wrapper:
    """Returns the wrapper for a method whose result is awaited."""

    async def run(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        span = begin(instance, args, kwargs)
        if span is None:
            return await wrapped(*args, **kwargs)
        enter(span)
        try:
            result = await wrapped(*args, **kwargs)
        except BaseException as error:
            fail(span, error)
            raise
        end(span, result, args, kwargs)
        return result

    return run
