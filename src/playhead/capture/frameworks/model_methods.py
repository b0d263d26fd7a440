"""Wrappers that record the methods of frameworks' models: plain, asynchronous, streamed."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, cast

from playhead.capture.client_methods import MethodCall
from playhead.capture.frameworks.model import FrameworkModelCall
from playhead.capture.frameworks.model_api import FrameworkModelApi
from playhead.capture.patching import Wrapper


def observing_model(api: FrameworkModelApi) -> Wrapper:
    """Returns the wrapper for a plain method that returns the answer."""

    def call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        recording = FrameworkModelCall(api, MethodCall(instance, wrapped.__name__, args, kwargs))
        recording.begin()
        if recording.has_answer:
            return recording.answer()
        method_call = recording.asked
        try:
            with recording.current():
                result = wrapped(*method_call.args, **method_call.kwargs)
        except BaseException as error:
            recording.fail(error)
            raise
        recording.end(result)
        return result

    return call


def observing_model_async(api: FrameworkModelApi) -> Wrapper:
    """Returns the wrapper for a coroutine method that returns the answer."""

    async def call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        recording = FrameworkModelCall(api, MethodCall(instance, wrapped.__name__, args, kwargs, is_async=True))
        recording.begin()
        if recording.has_answer:
            return recording.answer()
        method_call = recording.asked
        try:
            with recording.current():
                result = await wrapped(*method_call.args, **method_call.kwargs)
        except BaseException as error:
            recording.fail(error)
            raise
        recording.end(result)
        return result

    return call


def observing_model_stream(api: FrameworkModelApi) -> Wrapper:
    """Returns the wrapper for a method that returns an iterator of chunks."""

    def call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Iterator[Any]:
        recording = FrameworkModelCall(api, MethodCall(instance, wrapped.__name__, args, kwargs))
        recording.begin()
        if recording.has_answer:
            yield from recording.answer()
            return
        method_call = recording.asked
        chunks: Any = None
        try:
            with recording.current():
                chunks = iter(wrapped(*method_call.args, **method_call.kwargs))
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

    return call


def observing_model_stream_async(api: FrameworkModelApi) -> Wrapper:
    """Returns the wrapper for a method that returns an asynchronous iterator of chunks, or a coroutine of one."""

    async def call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> AsyncIterator[Any]:
        recording = FrameworkModelCall(api, MethodCall(instance, wrapped.__name__, args, kwargs, is_async=True))
        recording.begin()
        if recording.has_answer:
            for chunk in cast("Iterable[Any]", recording.answer()):
                yield chunk
            return
        method_call = recording.asked
        chunks: Any = None
        leaving = False
        try:
            with recording.current():
                made = wrapped(*method_call.args, **method_call.kwargs)
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

    return call


_END: Any = object()
