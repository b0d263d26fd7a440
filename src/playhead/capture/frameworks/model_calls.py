"""Records the calls of a framework's own model classes where no instrumented client inside records them.

A framework's module describes its models' methods in a `FrameworkModelApi`, and wraps them with `observing_model` and
the like. Who records a call is decided as follows:

- An instrumented client inside records the call: nothing is recorded here, since the client sees the request as it is
  sent.  This is known only when the client is called, so the span here is begun late: at the call's first result, its
  error or its end, but with the time at which the call really began.
- No instrumented client is called: the call is recorded here.  From then on, calls of the same class are recorded from
  their start, like a client's.  If a client is called inside one of them after all, the client's call is part of that
  one, and later calls of the class are begun late again.
- In a resumed run whose record has a call here, the call is answered from the record, before anything is called.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar
from weakref import WeakSet

from opentelemetry import context as otel

from playhead.calls import runtime
from playhead.calls.begin import CURRENT, NEXT_RUN
from playhead.calls.lifecycle import as_current, detach
from playhead.calls.replay import ResponseRestorer
from playhead.calls.span import ObservedSpan
from playhead.capture.model_call import (
    CallStart,
    InnerCallMark,
    ObservedModelCall,
    ObservedRequest,
    ObservedResponse,
    ResponseReplayer,
)
from playhead.capture.patching import Wrapper
from playhead.capture.restoring import kept_answer, recorded_chunks
from playhead.capture.wrapping import (
    MethodCall,
    StreamedCallRecording,
    wrap,
    wrap_async,
    wrap_stream,
    wrap_stream_async,
)
from playhead.errors import CannotRestore, RunStopped
from playhead.kernel.guard import guarded
from playhead.model.json_value import Json, JsonMapping, JsonValue, objects_at

# --- a framework's description of its models --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrameworkModelApi:
    """How one method of a framework's models is called, and what it returns.

    Messages are dictionaries as in Chat Completions, in requests and in edits, so that they have the same refs as
    through any client (`capture.frameworks.chat` helps).  "Raw" is the recorded form: an answer, or a chunk of one,
    as JSON values.  Any function may raise: the call is then recorded without what the function would have returned, or
    cannot be restored.
    """

    read_request: Callable[[MethodCall], ObservedRequest]
    """`ObservedRequest.name` should be the model's class: the call's name in the run."""
    with_messages: Callable[[MethodCall, list[JsonValue]], MethodCall | None]
    """Returns the call with other messages (as in Chat Completions); None if the call cannot be edited."""
    dump: Callable[[Any], JsonValue]
    """Returns the raw form of the method's result; for a method that streams, of one chunk."""
    load: Callable[[JsonValue], object]
    """Reverses `dump`: makes the framework's own object.  Raises CannotRestore."""
    read: Callable[[JsonValue], ObservedResponse | None]
    """Reads the raw answer; for a stream, the one that `join` returns."""
    from_message: Callable[[JsonMapping, MethodCall], JsonValue]
    """Makes a raw answer from a message in the form of Chat Completions."""
    join: Callable[[list[Json]], JsonValue] | None = None
    """Joins the raw chunks of a stream to one raw answer; None: the method does not stream."""
    split: Callable[[Any], Sequence[JsonValue]] = lambda raw: [raw]
    """Splits a raw answer into raw chunks."""
    is_client: bool = False
    """Whether the models call their providers themselves: then every call is recorded here, from its start."""

    def read_recorded(self, raw: JsonValue) -> ObservedResponse | None:
        """Reads a recorded answer; None if it is not an answer."""
        if self.join is None:
            return self.read(raw)
        read = self.read(self.join(objects_at(raw, "stream")))
        return None if read is None else replace(read, raw=raw)

    def restore(self, raw: JsonValue, ending: BaseException | None) -> object:
        """Rebuilds the method's result: the answer, or an iterator of its chunks that raises `ending` at its end.  If
        the method does not stream, raises `ending` itself, unless it is RunStopped.  Raises CannotRestore."""
        recorded = kept_answer(raw)
        if self.join is None and ending is not None and not isinstance(ending, RunStopped):
            raise ending
        try:
            if self.join is None:
                return self.load(raw)
            return _with_ending([self.load(chunk) for chunk in recorded_chunks(recorded)], ending)
        except Exception as error:
            raise CannotRestore(f"the recorded answer cannot be read ({type(error).__name__}: {error})") from error

    def with_message(self, message: str | JsonMapping, call: MethodCall) -> JsonValue:
        """Makes the recorded form of an answer with this message (a text, or a message as in Chat Completions)."""
        fields: JsonMapping = {"content": message} if isinstance(message, str) else message
        raw = self.from_message({"role": "assistant", **fields}, call)
        return raw if self.join is None else {"stream": [*self.split(raw)]}


def _with_ending(chunks: list[object], ending: BaseException | None) -> Iterator[object]:
    yield from chunks
    if ending is not None:
        raise ending


# --- one call ---------------------------------------------------------------------------------------------------------

# Bounds the memory of a stream without end.  No provider's answer has nearly as many chunks.
_MAX_CHUNKS = 200_000


class _KnownModelClasses:
    """Model classes of frameworks: those whose calls an instrumented client inside was seen to record, and those
    without."""

    with_client: ClassVar[WeakSet[type]] = WeakSet()
    without_client: ClassVar[WeakSet[type]] = WeakSet()

    @classmethod
    def records_itself(cls, kind: type) -> bool:
        """Whether calls of this class are recorded from their start: no client inside was seen to record them."""
        return kind in cls.without_client and kind not in cls.with_client


class FrameworkModelCall(StreamedCallRecording):
    """One call of a framework's model.  Its methods raise only RunStopped, in resumed runs; `answer` also raises the
    recorded error.

    Use: `begin`; if it `has_answer`, return `answer()`; else call the method of `call` inside `current()`, and then
    one of `end`, `end_stream` and `fail`.
    """

    __slots__ = ("_api", "_began", "_chunks", "_inner_call", "_is_decided", "_kind", "observed")

    def __init__(self, api: FrameworkModelApi, call: MethodCall):
        super().__init__(call)
        self._kind: type = type(call.client)
        self.observed: ObservedModelCall | None = None
        """The recorded call; None: not recorded here, or not known yet."""
        self._api = api
        self._began = CallStart.now()
        self._inner_call = InnerCallMark()
        self._is_decided = False
        self._chunks: list[JsonValue] = []

    def begin(self) -> None:
        """Begins to record at once if it is already known that the call is recorded here.  Raises RunStopped."""
        if self._api.is_client:
            self._start()
        elif _may_be_resumed():
            self._start(only_if_known=True)
        elif _KnownModelClasses.records_itself(self._kind):
            self._start()
        self._is_decided = self.observed is not None
        if self.observed is not None and self.observed.edited is not None:
            self.call = self.observed.edited

    @property
    def has_answer(self) -> bool:
        """Whether the record answers the call."""
        return self.observed is not None and self.observed.answer is not None

    def answer(self) -> Any:
        """Returns the recorded answer: the method's result, or an iterator of chunks.  Raises the recorded error."""
        observed = self.observed
        return None if observed is None or observed.answer is None else observed.unwrap(observed.answer)

    def current(self) -> AbstractContextManager[None]:
        """Returns the context in which to run the framework's method, or one step of its stream."""
        return self._inner_call.current() if self.observed is None else as_current(self.observed.span)

    def end(self, result: object) -> object:
        """Ends the call with the method's result, and returns it."""
        self.end_raw(lambda: self._api.dump(result))
        return result

    def end_raw(self, raw: Callable[[], JsonValue], *, aborted: bool = False) -> None:
        """Ends the call with the answer in its raw form; `aborted`: the reader stopped before the end of the stream."""
        self._decide()
        observed = self.observed
        if observed is not None:
            observed.end(lambda: self._api.read_recorded(raw()), aborted=aborted)
            self._note_inner_calls(observed)

    def note_first_chunk(self) -> None:
        """Notes that the answer has begun to arrive."""
        self._decide()
        if self.observed is not None:
            self.observed.first_chunk()

    def add_chunk(self, chunk: object) -> None:
        """Records a chunk of a stream."""
        self.note_first_chunk()
        observed = self.observed
        if observed is not None and len(self._chunks) < _MAX_CHUNKS and observed.span.run.recorded:
            self._keep(chunk)

    def _keep(self, chunk: object) -> None:
        with guarded("record a chunk of a model's answer"):  # now, since frameworks change chunks later
            self._chunks.append(self._api.dump(chunk))

    def end_stream(self, *, aborted: bool = False) -> None:
        """Ends the call with the chunks so far; `aborted`: the reader stopped before the end of the stream."""
        self._decide()
        observed = self.observed
        if observed is not None:
            observed.end(self._read_chunks, aborted=aborted)
            self._note_inner_calls(observed)

    def fail(self, raised: BaseException, raw: Callable[[], JsonValue] | None = None) -> None:
        """Ends the call with an error or a cancellation; GeneratorExit: the reader stopped early. `raw`: the part of
        the answer that had arrived, if the framework knows it; else the chunks are used.
        """
        if isinstance(raised, GeneratorExit):
            self.end_stream(aborted=True)
            return
        self._decide()
        observed = self.observed
        if observed is not None:
            read = self._read_chunks if self._chunks else None
            observed.fail(raised, read if raw is None else lambda: self._api.read_recorded(raw()))

    def _decide(self) -> None:
        """Decides, when the first result is there, whether the call is recorded here or by a client inside."""
        if self._is_decided:
            return
        self._is_decided = True
        with guarded("remember a model's class"):  # a class without weak references
            (_KnownModelClasses.with_client if self._inner_call.is_set else _KnownModelClasses.without_client).add(
                self._kind
            )
        if not self._inner_call.is_set:
            self._start(began=self._began)

    def _start(self, *, began: CallStart | None = None, only_if_known: bool = False) -> None:
        api, call = self._api, self.call
        self.observed = observed = ObservedModelCall.start(
            lambda: api.read_request(call),
            lambda _: ResponseReplayer(
                ResponseRestorer(api.restore, lambda _, message: api.with_message(message, call)),
                api.read_recorded,
                lambda messages, _: call if messages is None else api.with_messages(call, messages),
            ),
            began=began,
            only_if_known=only_if_known,
        )
        if observed is not None:
            detach(observed.span)  # it is current inside `current()`

    def _read_chunks(self) -> ObservedResponse | None:
        if not self._chunks:
            return None
        return self._api.read_recorded({"stream": self._chunks})

    def _note_inner_calls(self, observed: ObservedModelCall) -> None:
        if observed.span.inner_model_calls:
            _KnownModelClasses.with_client.add(self._kind)


def _may_be_resumed() -> bool:
    """Whether calls made here may be answered from a record: in a resumed run, or where one may begin."""
    runtime.recorder()  # reads from the environment whether a run is to be resumed
    where = otel.get_current()
    above = where.get(CURRENT)
    if isinstance(above, ObservedSpan):
        return above.run.replay is not None
    return above is None and (where.get(NEXT_RUN) is not None or runtime.current.next_run is not None)


# --- wrappers: plain, asynchronous, streamed --------------------------------------------------------------------------


def observing_model(api: FrameworkModelApi) -> Wrapper:
    """Returns the wrapper for a plain method that returns the answer."""
    return wrap(partial(_begin_model, api))


def observing_model_async(api: FrameworkModelApi) -> Wrapper:
    """Returns the wrapper for a coroutine method that returns the answer."""
    return wrap_async(partial(_begin_model, api))


def observing_model_stream(api: FrameworkModelApi) -> Wrapper:
    """Returns the wrapper for a method that returns an iterator of chunks."""
    return wrap_stream(partial(_begin_model, api))


def observing_model_stream_async(api: FrameworkModelApi) -> Wrapper:
    """Returns the wrapper for a method that returns an asynchronous iterator of chunks, or a coroutine of one."""
    return wrap_stream_async(partial(_begin_model, api))


def _begin_model(api: FrameworkModelApi, call: MethodCall) -> FrameworkModelCall:
    recording = FrameworkModelCall(api, call)
    recording.begin()
    return recording
