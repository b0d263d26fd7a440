"""Records the methods of a client that call a model, of any provider: plain, asynchronous, streamed.

A capture module describes each API of its library (`ClientApi`) and wraps the methods with `recording_method(api)` or
`recording_method_async(api)`.  One call of a method is one model call, whatever it retries inside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from typing import Any

from playhead.calls.recorded_answer import wait_for_slot
from playhead.calls.replay import ResponseRestorer
from playhead.calls.run import ActiveRun
from playhead.capture.model_call import (
    ObservedModelCall,
    ObservedRequest,
    ObservedResponse,
    ResponseReplayer,
    record_sent_body,
)
from playhead.capture.patching import Wrapper
from playhead.capture.streams import StreamRecording, observed_stream
from playhead.capture.wrapping import CallRecording, MethodCall, wrap, wrap_async
from playhead.kernel.guard import guarded
from playhead.model.json_value import Json, JsonValue

EndCall = Callable[["ClientApi", ObservedModelCall, Any, MethodCall], object]
"""Ends the call with the method's result (already awaited); if that is a stream, the stream ends the call later.
Returns the value for the program.

May raise: the call then ends without an answer, and the program gets the result unchanged."""


def end_with_result(api: "ClientApi", observed: ObservedModelCall, result: object, call: MethodCall) -> object:
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

    read_request: Callable[[MethodCall], ObservedRequest]
    is_streamed: Callable[[MethodCall], bool]
    """Whether the result is a stream of chunks."""
    read_response: Callable[[Any, ActiveRun, MethodCall], ObservedResponse | None]
    """Reads an unstreamed answer; None if the result is not an answer."""
    assemble: Callable[[list[Any], ActiveRun, MethodCall], ObservedResponse | None]
    """Reads the answer from the chunks received so far; None if they are not an answer."""
    read_recorded: Callable[[Json, ActiveRun, MethodCall], ObservedResponse | None]
    """Reads the answer from the `raw` of a recorded ObservedResponse, streamed or not."""
    restore: Callable[[object, MethodCall, BaseException | None], object]
    """Rebuilds the method's result from `raw`; returns an awaitable of it if the call `is_async`.  A stream raises the
    error (None: there is none) after its last chunk.  Raises CannotRestore."""
    with_message: Callable[[object, Any, MethodCall], object]
    """Returns the recorded `raw` (None: nothing is recorded) with this message as the model's answer."""
    with_edit: Callable[[MethodCall, list[JsonValue] | None, str | None], MethodCall | None]
    """Returns the call with other messages, and another system prompt if the API has it outside the messages; None for
    either: unchanged.  Returns None if the call cannot be edited."""
    end_with_result: EndCall = field(default=end_with_result)
    keep_chunk: Callable[[Any], object] | None = None
    """Returns a copy, or the JSON, of a chunk to keep for `assemble`, for clients whose programs change chunks.  None:
    chunks are kept as they are."""
    one_shot: tuple[str, ...] = ()
    """Names of arguments that may be iterators.  They are replaced by lists, since both we and the client read them."""


class MethodRecording(CallRecording):
    """One recorded call of a client's method."""

    __slots__ = ("_api", "observed")

    def __init__(self, api: ClientApi, observed: ObservedModelCall, call: MethodCall):
        super().__init__(call if observed.edited is None else observed.edited)
        self._api = api
        self.observed = observed

    @property
    def has_answer(self) -> bool:
        return self.observed.answer is not None

    def answer(self) -> object:
        return None if self.observed.answer is None else self.observed.unwrap(self.observed.answer)

    async def answer_async(self) -> object:
        if self.observed.answer is not None:
            await wait_for_slot(self.observed.span, self.observed.answer)
        result = self.answer()
        return await result if isawaitable(result) else result

    def end(self, result: object) -> object:
        """If the result is a stream, the stream ends the call later."""
        observed = self.observed
        with guarded("record a model's answer"):
            if observed.span.sent_body is not None:
                record_sent_body(observed.span)  # before the program can change its messages while it reads a stream
            return self._api.end_with_result(self._api, observed, result, self.call)
        observed.end(lambda: None)
        return result

    def fail(self, raised: BaseException) -> None:
        self.observed.fail(raised)


def recording_method(api: ClientApi) -> Wrapper:
    """Returns the wrapper for a plain method."""
    return wrap(partial(begin_method, api))


def recording_method_async(api: ClientApi) -> Wrapper:
    """Returns the wrapper for a method whose result is awaited."""
    return wrap_async(partial(begin_method, api))


def begin_method(api: ClientApi, call: MethodCall) -> MethodRecording | None:
    """Begins to record a call of a client's method; None: it is not recorded.  Raises RunStopped, in resumed runs."""
    if api.one_shot:
        call.kwargs = with_iterators_read(api, call.kwargs)
    observed = ObservedModelCall.start(lambda: api.read_request(call), lambda run: _recorded(api, run, call))
    return None if observed is None else MethodRecording(api, observed, call)


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
            kwargs = {**kwargs, name: [*value]}
    return kwargs


_READ_ANEW = frozenset({list, tuple, str})


def _is_one_shot(value: object) -> bool:
    return not isinstance(value, Sequence) and hasattr(value, "__next__")
