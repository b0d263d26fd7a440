"""Records the methods of a client that call a model, of any provider: plain, asynchronous, streamed.

A capture module describes each API of its library (`ClientApi`) and wraps the methods with `recording_method(api)` or
`recording_method_async(api)`.  One call of a method is one model call, whatever it retries inside.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, cast

from playhead.calls.recorded_answer import wait_for_slot
from playhead.calls.replay import ResponseRestorer
from playhead.calls.run import ActiveRun
from playhead.capture.model_call import (
    ModelRequest,
    ModelResponse,
    ObservedModelCall,
    ResponseReplayer,
    record_sent_body,
)
from playhead.capture.patching import Wrapper
from playhead.capture.streams import StreamRecording, observed_stream
from playhead.kernel.guard import guarded


@dataclass(slots=True)  # not frozen: that costs a microsecond of each call
class MethodCall:
    """A call of a client's method, or of a function (`client` is None), with the arguments to pass.

    Clients differ in whether they take arguments by position or by name.
    """

    client: Any
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    is_async: bool = False

    def with_kwargs(self, kwargs: dict[str, Any]) -> "MethodCall":
        """Returns the same call with other keyword arguments."""
        return replace(self, kwargs=kwargs)


EndCall = Callable[["ClientApi", ObservedModelCall, Any, MethodCall], Any]
"""Ends the call with the method's result (already awaited); if that is a stream, the stream ends the call later.
Returns the value for the program.

May raise: the call then ends without an answer, and the program gets the result unchanged."""


def end_with_result(api: "ClientApi", observed: ObservedModelCall, result: Any, call: MethodCall) -> Any:
    """The `EndCall` of most clients: the result is the answer, or an iterator of the answer's chunks."""
    run = observed.span.run
    if api.is_streamed(call):
        recording = StreamRecording(observed, lambda seen: api.assemble(seen, run, call), api.keep_chunk)
        return observed_stream(result, recording)
    observed.end(lambda: api.read_response(result, run, call))
    return result


@dataclass(frozen=True, slots=True)
class ClientApi:
    """One API of a client: how requests and answers are read, and how recorded answers are restored.

    The `read_...` functions and `assemble` may raise: the call is then recorded without what they would have read.
    """

    read_request: Callable[[MethodCall], ModelRequest]
    is_streamed: Callable[[MethodCall], bool]
    """Whether the result is a stream of chunks."""
    read_response: Callable[[Any, ActiveRun, MethodCall], ModelResponse | None]
    """Reads an unstreamed answer; None if the result is not an answer."""
    assemble: Callable[[list[Any], ActiveRun, MethodCall], ModelResponse | None]
    """Reads the answer from the chunks received so far; None if they are not an answer."""
    read_recorded: Callable[[Any, ActiveRun, MethodCall], ModelResponse | None]
    """Reads the answer from the `raw` of a recorded ModelResponse, streamed or not."""
    restore: Callable[[Any, MethodCall, BaseException | None], Any]
    """Rebuilds the method's result from `raw`; returns an awaitable of it if the call `is_async`.  A stream raises the
    error (None: there is none) after its last chunk.  Raises CannotRestore."""
    with_message: Callable[[Any, Any, MethodCall], Any]
    """Returns the recorded `raw` (None: nothing is recorded) with this message as the model's answer."""
    with_edit: Callable[[MethodCall, list[Any] | None, str | None], MethodCall | None]
    """Returns the call with other messages, and another system prompt if the API has it outside the messages; None for
    either: unchanged.  Returns None if the call cannot be edited."""
    end_with_result: EndCall = field(default=end_with_result)
    keep_chunk: Callable[[Any], Any] | None = None
    """Returns a copy, or the JSON, of a chunk to keep for `assemble`, for clients whose programs change chunks.  None:
    chunks are kept as they are."""
    one_shot: tuple[str, ...] = ()
    """Names of arguments that may be iterators.  They are replaced by lists, since both we and the client read them."""


def recording_method(api: ClientApi) -> Wrapper:
    """Returns the wrapper for a plain method."""

    def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        method_call = MethodCall(instance, wrapped.__name__, args, with_iterators_read(api, kwargs))
        observed = begin_call(api, method_call)
        if observed is None:
            return wrapped(*args, **method_call.kwargs)
        if observed.answer is not None:
            return observed.unwrap(observed.answer)
        if observed.edited is not None:
            method_call = observed.edited
        try:
            return end_call(api, observed, wrapped(*method_call.args, **method_call.kwargs), method_call)
        except BaseException as error:
            observed.fail(error)
            raise

    return call


def recording_method_async(api: ClientApi) -> Wrapper:
    """Returns the wrapper for a method whose result is awaited."""

    async def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        method_call = MethodCall(instance, wrapped.__name__, args, with_iterators_read(api, kwargs), is_async=True)
        observed = begin_call(api, method_call)
        if observed is None:
            return await wrapped(*args, **method_call.kwargs)
        if observed.answer is not None:
            await wait_for_slot(observed.span, observed.answer)
            result = observed.unwrap(observed.answer)
            return await result if isawaitable(result) else result
        if observed.edited is not None:
            method_call = observed.edited
        try:
            return end_call(api, observed, await wrapped(*method_call.args, **method_call.kwargs), method_call)
        except BaseException as error:
            observed.fail(error)
            raise

    return call


def begin_call(api: ClientApi, call: MethodCall) -> ObservedModelCall | None:
    """Begins to record the call; returns None if the call is not recorded.  Raises RunStopped, in resumed runs.

    If the result has an `answer`, `unwrap` that instead of calling the method; if it has `edited`, make that MethodCall
    instead.
    """
    return ObservedModelCall.start(lambda: api.read_request(call), lambda run: _recorded(api, run, call))


def end_call(api: ClientApi, observed: ObservedModelCall, result: Any, call: MethodCall) -> Any:
    """Ends the call; if the result is a stream, the stream ends it later. Returns the value for the program."""
    with guarded("record a model's answer"):
        if observed.span.sent_body is not None:
            record_sent_body(observed.span)  # before the program can change its messages while it reads a stream
        return api.end_with_result(api, observed, result, call)
    observed.end(lambda: None)
    return result


def _recorded(api: ClientApi, run: ActiveRun, call: MethodCall) -> ResponseReplayer:
    """Returns the functions that make the client's objects from a recorded answer to this call, for resumed and forked
    runs."""
    return ResponseReplayer(
        ResponseRestorer(
            lambda raw, ending: api.restore(raw, call, ending),
            lambda raw, message: api.with_message(raw, message, call),
        ),
        lambda raw: api.read_recorded(raw, run, call),
        lambda messages, system: api.with_edit(call, messages, system),
    )


def with_iterators_read(api: ClientApi, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Replaces one-shot iterators among the arguments by lists."""
    for name in api.one_shot:
        value = kwargs.get(name)
        if value is not None and type(value) not in _READ_ANEW and _is_one_shot(value):
            kwargs = {**kwargs, name: list(cast(Iterable[Any], value))}
    return kwargs


_READ_ANEW = frozenset({list, tuple, str})


def _is_one_shot(value: Any) -> bool:
    return not isinstance(value, Sequence) and hasattr(value, "__next__")
