"""Records pydantic-ai's models if no instrumented client inside them records the call: `FunctionModel`, `TestModel`,
models of users and of unknown providers."""

import json
from collections.abc import AsyncIterator
from functools import cache
from typing import Any, cast

from playhead.capture.client_methods import MethodCall
from playhead.capture.frameworks.chat import chat_request, chat_response
from playhead.capture.frameworks.model import FrameworkModelCall
from playhead.capture.frameworks.model_api import FrameworkModelApi
from playhead.capture.frameworks.model_methods import observing_model_async
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.capture.patching import WrapSubclasses
from playhead.capture.pydantic_ai.model_messages import chat_messages, model_messages, response_of
from playhead.kernel.guard import swallowed
from playhead.model import names
from playhead.model.objects.interrupts import let_through

_ORDERED = "$ordered"
_FINISH_REASONS = {"tool_call": "tool_calls"}


def _given(call: MethodCall) -> dict[str, Any]:
    positions = ("messages", "model_settings", "model_request_parameters", "run_context")
    return {**dict(zip(positions, call.args, strict=False)), **call.kwargs}


def _read_request(call: MethodCall) -> ModelRequest:
    arguments, model = _given(call), call.client
    parameters = arguments["model_request_parameters"]
    settings = dict(cast("dict[str, Any]", arguments.get("model_settings") or {}))
    if call.method == "request_stream":
        settings["stream"] = True
    if parameters.output_mode != "text":
        settings["output_mode"] = parameters.output_mode
    return chat_request(
        model,
        provider=str(model.system),
        model_name=str(model.model_name),
        messages=chat_messages(arguments["messages"]),
        tools=[_definition(tool) for tool in (*parameters.function_tools, *parameters.output_tools)],
        settings=settings,
    )


def _definition(tool: Any) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": function}


def _with_messages(call: MethodCall, messages: list[Any]) -> MethodCall:
    arguments = _given(call)
    arguments["messages"] = model_messages(messages, arguments["messages"])
    return MethodCall(call.client, call.method, (), arguments, call.is_async)


def _dump(response: Any) -> Any:
    from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - imported by the program

    raw = ModelMessagesTypeAdapter.dump_python([response], mode="json", warnings=False)[0]
    # As texts: the record does not keep the order of keys, and a model must get its arguments back in its own order.
    raw["parts"] = [
        {**part, "args": {_ORDERED: json.dumps(part["args"])}} if isinstance(part.get("args"), dict) else part
        for part in raw["parts"]
    ]
    return raw


def _load(raw: Any) -> Any:
    from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - as above

    parts = [
        {**part, "args": json.loads(part["args"][_ORDERED])}
        if isinstance(part.get("args"), dict) and _ORDERED in part["args"]
        else part
        for part in raw["parts"]
    ]
    return ModelMessagesTypeAdapter.validate_python([{**raw, "parts": parts}])[0]


def _read(raw: Any) -> ModelResponse:
    response = _load(raw)
    usage, reason = response.usage, response.finish_reason
    details = cast("dict[str, int]", usage.details or {})
    counts = {
        names.INPUT_TOKENS: usage.input_tokens or None,
        names.OUTPUT_TOKENS: usage.output_tokens or None,
        names.CACHE_READ_TOKENS: usage.cache_read_tokens or None,
        names.CACHE_WRITE_TOKENS: usage.cache_write_tokens or None,
        names.REASONING_TOKENS: details.get("reasoning_tokens"),
        names.AUDIO_INPUT_TOKENS: usage.input_audio_tokens or None,
        names.AUDIO_OUTPUT_TOKENS: usage.output_audio_tokens or None,
    }
    return chat_response(
        raw,
        chat_messages([response])[0],
        usage=counts,
        finish_reason=_FINISH_REASONS.get(reason, reason),
        model_name=response.model_name,
        response_id=response.provider_response_id,
    )


_WHOLE = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=_dump,
    load=_load,
    read=_read,
    from_message=lambda message, call: _dump(response_of(message)),
)


# --- streams: a block with an iterable of events in it ----------------------------------------------------------------


def _load_stream(raw: Any) -> tuple[Any, list[Any]]:
    events = _events_adapter().validate_python(raw["stream"])
    return _load(raw["response"]), events


def _events_adapter() -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - as above
    from pydantic_ai.messages import ModelResponseStreamEvent  # noqa: PLC0415 - as above

    return TypeAdapter(list[ModelResponseStreamEvent])


def _read_stream(raw: Any) -> ModelResponse:
    read = _read(raw["response"])
    return ModelResponse(read.messages, raw, read.reasoning, read.attributes)


def _stream_of(message: Any, _call: MethodCall) -> Any:
    from pydantic_ai.messages import PartStartEvent  # noqa: PLC0415 - as above

    response = response_of(message)
    events = [PartStartEvent(index=index, part=part) for index, part in enumerate(response.parts)]
    return {"stream": _events_adapter().dump_python(events, mode="json"), "response": _dump(response)}


_STREAMED = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=lambda raw: raw,
    load=_load_stream,
    read=_read_stream,
    from_message=_stream_of,
)


class _ObservedStreamBlock:
    """Records the stream that is open inside the context manager of `request_stream`."""

    def __init__(self, wrapped: Any, call: MethodCall):
        self._wrapped = wrapped
        self._recording = FrameworkModelCall(_STREAMED, call)
        self._block: Any = None
        self._response: Any = None
        self._events: list[Any] = []
        self._is_whole = False

    async def __aenter__(self) -> Any:
        recording = self._recording
        recording.begin()
        if recording.has_answer:
            return _recorded_stream(recording.answer(), recording.asked)
        call = recording.asked
        try:
            with recording.current():
                self._block = self._wrapped(*call.args, **call.kwargs)
                response = await self._block.__aenter__()
        except BaseException as error:
            recording.fail(error)
            raise
        self._watch(response)
        return response

    async def __aexit__(self, kind: Any, raised: BaseException | None, trace: Any) -> Any:
        if self._block is None:
            return None
        try:
            with self._recording.current():
                handled = await self._block.__aexit__(kind, raised, trace)
        except BaseException as error:
            self._recording.fail(error, self._raw)
            raise
        if raised is not None and not handled and isinstance(raised, Exception):
            self._recording.fail(raised, self._raw)
        else:
            self._recording.end_raw(self._raw, aborted=not self._is_whole)
        return handled

    def _watch(self, response: Any) -> None:
        """Records the events of the model class; the framework's own part of the stream is not changed."""
        try:
            self._response, events = response, response._get_event_iterator
            response._get_event_iterator = lambda: self._watched(events())
        except BaseException as error:  # noqa: BLE001 - the guard: another version
            let_through(error)
            swallowed("record a stream of pydantic-ai", error)

    async def _watched(self, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            while True:
                with self._recording.current():
                    event = await anext(events, None)
                if event is None:
                    break
                self._recording.note_first_chunk()
                self._keep(event)
                yield event
            self._is_whole = True
        finally:
            await cast("Any", events).aclose()

    def _keep(self, event: Any) -> None:
        if self._recording.observed is None:
            return
        try:  # now, since later events extend this event's part
            [dumped] = _events_adapter().dump_python([event], mode="json", warnings=False)
            self._events.append(dumped)
        except BaseException as error:  # noqa: BLE001 - the guard
            let_through(error)
            swallowed("record an event of a stream", error)

    def _raw(self) -> Any:
        return {"stream": self._events, "response": _dump(self._response.get())}


def _recorded_stream(answer: tuple[Any, list[Any]], call: MethodCall) -> Any:
    response, events = answer
    parameters = _given(call)["model_request_parameters"]
    return _recorded_stream_class()(response, model_request_parameters=parameters, replay_events=events)


@cache
def _recorded_stream_class() -> Any:
    """Returns a subclass of the framework's class of recorded streams that also yields the events which the framework
    adds to a model's: end of a part, begin of the final result."""
    from pydantic_ai.models import CompletedStreamedResponse, StreamedResponse  # noqa: PLC0415 - as above

    class RecordedStreamedResponse(CompletedStreamedResponse):
        def __aiter__(self) -> Any:
            return StreamedResponse.__aiter__(self)

        async def _get_event_iterator(self) -> AsyncIterator[Any]:
            for event in cast("Any", self)._replay_events:
                self._parts_manager.apply_event(event)
                yield event

    return RecordedStreamedResponse


def _request_stream(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return _ObservedStreamBlock(wrapped, MethodCall(instance, wrapped.__name__, args, kwargs, is_async=True))


MODELS = (
    WrapSubclasses(
        "pydantic_ai.models",
        "Model",
        {"request": observing_model_async(_WHOLE), "request_stream": _request_stream},
    ),
)
