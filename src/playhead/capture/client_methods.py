"""Records the methods of a client that call a model, of any provider: plain, asynchronous, streamed.

A capture module describes each API of its library (`ClientApi`) and wraps the methods with `observing(api)` or
`observing_async(api)`.  One call of a method is one model call, whatever it retries inside.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, cast

from playhead.api.calls.recorded_answer import wait_for_turn
from playhead.api.guard import swallowed
from playhead.api.replaying import ResponseRestorer
from playhead.api.run import ActiveRun
from playhead.capture.model_call import ObservedModelCall, ResponseReplayer
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.capture.patching import Wrapper
from playhead.capture.sent_request import record_sent_body
from playhead.capture.streams import StreamRecording, observed_stream
from playhead.model.objects.interrupts import let_through


@dataclass(slots=True)  # not frozen: that costs a microsecond of each call
class MethodCall:
    """A call of a client's method, or of a function (`client` is None).

    The arguments are those to call it with; clients differ in whether they take them by position or by name.
    """

    client: Any
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    is_async: bool = False

    def with_kwargs(self, kwargs: dict[str, Any]) -> "MethodCall":
        """The same call with other keyword arguments."""
        return replace(self, kwargs=kwargs)


RecordResult = Callable[["ClientApi", ObservedModelCall, Any, MethodCall], Any]
"""Ends the call with what the method returned (awaited), or leaves that to the stream; returns what the program gets.

May raise: the call then ends without an answer, and the program gets the result as it is."""


def record_result(api: "ClientApi", observed: ObservedModelCall, result: Any, asked: MethodCall) -> Any:
    """`RecordResult` of most clients: the result is the answer, or an iterator of the answer's chunks."""
    run = observed.span.run
    if api.is_streamed(asked):
        recording = StreamRecording(observed, lambda seen: api.assemble(seen, run, asked), api.keep_chunk)
        return observed_stream(result, recording)
    observed.end(lambda: api.read_response(result, run, asked))
    return result


@dataclass(frozen=True, slots=True)
class ClientApi:
    """One API of a client: how its requests and answers are read, and how recorded ones are given back.

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
    """Rebuilds what the method returned from `raw`, or an awaitable of it if the call `is_async`.  A stream raises the
    error, if there is one, after its last chunk.  Raises CannotRestore."""
    with_message: Callable[[Any, Any, MethodCall], Any]
    """The recorded `raw` (None: there is none), with this message as the model's answer."""
    with_edit: Callable[[MethodCall, list[Any] | None, str | None], MethodCall | None]
    """The call with other messages, and another system prompt if the API has it outside the messages (None:
    unchanged).  Returns None if the call cannot be edited."""
    record_result: RecordResult = field(default=record_result)
    keep_chunk: Callable[[Any], Any] | None = None
    """Returns the copy or the JSON of a chunk that is kept for `assemble`, for clients whose programs change chunks.
    None: the chunk itself is kept."""
    one_shot: tuple[str, ...] = ()
    """Names of arguments that may be iterators.  Both we and the client read them, so they are replaced by lists."""


def observing(api: ClientApi) -> Wrapper:
    """The wrapper for a plain method."""

    def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        asked = MethodCall(instance, wrapped.__name__, args, with_lists(api, kwargs))
        observed = begin_call(api, asked)
        if observed is None:
            return wrapped(*args, **asked.kwargs)
        if observed.answer is not None:
            return observed.unwrap(observed.answer)
        if observed.edited is not None:
            asked = observed.edited
        try:
            return end_call(api, observed, wrapped(*asked.args, **asked.kwargs), asked)
        except BaseException as error:
            observed.fail(error)
            raise

    return call


def observing_async(api: ClientApi) -> Wrapper:
    """The wrapper for a method whose result is awaited."""

    async def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        asked = MethodCall(instance, wrapped.__name__, args, with_lists(api, kwargs), is_async=True)
        observed = begin_call(api, asked)
        if observed is None:
            return await wrapped(*args, **asked.kwargs)
        if observed.answer is not None:
            await wait_for_turn(observed.span, observed.answer)
            given = observed.unwrap(observed.answer)
            return await given if isawaitable(given) else given
        if observed.edited is not None:
            asked = observed.edited
        try:
            return end_call(api, observed, await wrapped(*asked.args, **asked.kwargs), asked)
        except BaseException as error:
            observed.fail(error)
            raise

    return call


def begin_call(api: ClientApi, asked: MethodCall) -> ObservedModelCall | None:
    """Begins to record the call; None: it is not recorded.  Raises RunStopped, in resumed runs.

    If the call has an `answer`, `unwrap` that instead of calling the method; if it has `edited`, make that MethodCall
    instead.
    """
    return ObservedModelCall.start(lambda: api.read_request(asked), lambda run: _recorded(api, run, asked))


def end_call(api: ClientApi, observed: ObservedModelCall, result: Any, asked: MethodCall) -> Any:
    """Ends the call, or leaves that to the stream that it returned. Returns what the program gets."""
    try:
        if observed.span.sent_body is not None:
            record_sent_body(observed.span)  # before the program can change its messages while it reads a stream
        return api.record_result(api, observed, result, asked)
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("record a model's answer", error)
        observed.end(lambda: None)
        return result


def _recorded(api: ClientApi, run: ActiveRun, asked: MethodCall) -> ResponseReplayer:
    """For a resumed or forked run: turns a recorded answer to this call into the client's objects."""
    return ResponseReplayer(
        ResponseRestorer(
            lambda raw, ending: api.restore(raw, asked, ending),
            lambda raw, message: api.with_message(raw, message, asked),
        ),
        lambda raw: api.read_recorded(raw, run, asked),
        lambda messages, system: api.with_edit(asked, messages, system),
    )


def with_lists(api: ClientApi, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Replaces one-shot iterators among the arguments by lists."""
    for name in api.one_shot:
        value = kwargs.get(name)
        if value is not None and type(value) not in _READ_ANEW and _is_one_shot(value):
            kwargs = {**kwargs, name: list(cast(Iterable[Any], value))}
    return kwargs


_READ_ANEW = frozenset({list, tuple, str})


def _is_one_shot(value: Any) -> bool:
    return not isinstance(value, Sequence) and hasattr(value, "__next__")
