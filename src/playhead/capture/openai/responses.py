"""Responses of `openai`: reads requests and answers, joins and splits streamed events, puts another output into a
recorded answer, and records `responses.retrieve()`. Changes none of the program's objects.

With a `previous_response_id`, the server has the conversation, and the request does not contain it. Items that this run
sent and received are known, and complete the recorded context. A part `playhead.elsewhere` stands for unknown ones (a
response of another run, a conversation that the server keeps).

A response that runs in the background is polled by `retrieve()`: each poll is one call of operation `fetch_response`,
with the response's input. Tokens count once: in the first call that gets the ended response.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.calls.lifecycle import current_span
from playhead.calls.run import ActiveRun
from playhead.capture.client_methods import ClientApi
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.openai.chat import provider_of, response_format
from playhead.capture.openai.replay import restore
from playhead.capture.restoring import recorded_metadata
from playhead.capture.stainless import (
    LEFT_OUT,
    TRANSPORT,
    answer_json,
    as_list,
    end_with_result,
    request_json,
    schema_of_class,
    settings_of,
    usage_of,
)
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_responses as dialect
from playhead.dialect.parts import provider_edits
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    int_at,
    list_at,
    mapping_of,
    object_at,
    object_of,
    objects_at,
    text_at,
)
from playhead.model.message import Message

# --- requests and answers ---------------------------------------------------------------------------------------------

_NOT_SETTINGS = TRANSPORT | {"input", "instructions", "tools", "text_format"}
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_output_tokens": names.REQUEST_MAX_TOKENS,
    "stream": names.REQUEST_STREAM,
}
_USAGE = (
    ("", "input_tokens", names.INPUT_TOKENS),
    ("", "output_tokens", names.OUTPUT_TOKENS),
    ("input_tokens_details", "cached_tokens", names.CACHE_READ_TOKENS),
    ("input_tokens_details", "cache_write_tokens", names.CACHE_WRITE_TOKENS),
    ("output_tokens_details", "reasoning_tokens", names.REASONING_TOKENS),
)
_CALL_TYPES = frozenset({"function_call", "custom_tool_call"})
# Added by the client after parsing; the provider did not send them.
_PARSED = ("parsed", "parsed_arguments")
_ADDED = frozenset({*_PARSED, "content"})


def read_request(client: object, kwargs: Mapping[str, object], method: str = "create") -> ObservedRequest:
    """Reads a request from its keyword arguments (the client takes no positional ones)."""
    settings, attributes = settings_of(kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, response_format)
    tools, instructions, kind = kwargs.get("tools"), kwargs.get("instructions"), kwargs.get("text_format")
    if isinstance(kind, type):
        settings["text"] = {**mapping_of(kwargs.get("text")), "format": text_format(kind)}
    if not isinstance(instructions, str | None) and type(instructions).__name__ not in LEFT_OUT:
        settings["instructions"] = instructions
    above = current_span()
    earlier = previous_items(above.run if above is not None else None, kwargs)
    return ObservedRequest(
        provider=provider_of(client),
        operation="chat",
        model=str(kwargs.get("model", "")),
        messages=[*earlier, *_sent_items(kwargs)],
        to_message=to_message,
        from_message=dialect.from_message,
        tools=as_list(tools),
        system=instructions if isinstance(instructions, str) else None,
        settings=settings,
        attributes=attributes,
        shape={"dialect": dialect.NAME, "input": _form_of(kwargs.get("input")), "before": len(earlier)},
    )


def text_format(kind: type) -> object:
    """Returns the schema that the client sends for a class given as text format."""
    # Fails in another version of the library, or for a class that it does not take.
    with guarded("read the schema of a class", log=False):
        from openai.lib._parsing._responses import type_to_text_format_param  # noqa: PLC0415 - the library is the user's

        return type_to_text_format_param(kind)
    return schema_of_class(kind)


def _form_of(value: object) -> str:
    """Returns the form of `input` in the request: `text`, `items`, or `absent`."""
    if isinstance(value, str):
        return "text"
    return "items" if isinstance(value, Sequence) else "absent"


def read_response(response: object, run: ActiveRun, kwargs: Mapping[str, object]) -> ObservedResponse | None:
    """Reads a `Response`; None for anything else."""
    return _remembered(plain_response(response), run, kwargs)


def assemble(events: Sequence[object], run: ActiveRun, kwargs: Mapping[str, object]) -> ObservedResponse | None:
    """Reads the events of a stream; None if there are none."""
    return _remembered(plain_stream(events), run, kwargs)


def read_recorded(raw: Json, run: ActiveRun, kwargs: Mapping[str, object]) -> ObservedResponse | None:
    """Reads a recorded response, streamed or not."""
    return _remembered(raw, run, kwargs)


def _remembered(raw: Json | None, run: ActiveRun, kwargs: Mapping[str, object]) -> ObservedResponse | None:
    if raw is None:
        return None
    response = model_response(raw)
    remember(run, kwargs, _sent_items(kwargs), recorded_response(raw))
    return response


def plain_response(response: Any) -> Json | None:
    """Returns a `Response` as JSON values; None for anything else."""
    return _dumped(response) if hasattr(response, "output") else None


def plain_stream(events: Sequence[Any]) -> Json | None:
    """Returns the recorded form of a stream's events (or of the results of `copy_of_event`); None if there are none."""
    return {"stream": [copy_of_event(event) for event in events]} if events else None


def copy_of_event(event: Any) -> Json:
    """Returns the JSON of an event as received: programs change events in place, by adding deltas to earlier items."""
    received: Json = event
    return received if type(received) is dict else _dumped(event)


def recorded_response(raw: JsonMapping) -> Json:
    """Returns the recorded response, streamed or not, as one JSON object."""
    return joined_response(objects_at(raw, "stream")) if "stream" in raw else dict(raw)


def with_edit(
    kwargs: Mapping[str, object], messages: list[JsonValue] | None, system: str | None
) -> dict[str, object] | None:
    """Returns the arguments with other items or instructions; None if the server keeps some of the items."""
    changed = dict(kwargs)
    if messages is not None:
        if kwargs.get("previous_response_id") or kwargs.get("conversation"):
            return None
        changed["input"] = messages
    if system is not None:
        changed["instructions"] = system
    return changed


def model_response(raw: Json) -> ObservedResponse:
    """Reads a recorded response, or a recorded stream of events."""
    response = recorded_response(raw)
    output = objects_at(response, "output")
    read = [dialect.output_message(item) for item in output]
    reasonings = [reasoning for _, reasoning in read if reasoning is not None]
    attributes = usage_of(object_at(response, "usage"), _USAGE)
    attributes[names.FINISH_REASONS] = [_finish_reason(response, output)]
    for key, name in (("id", names.RESPONSE_ID), ("model", names.RESPONSE_MODEL)):
        if response.get(key):
            attributes[name] = response[key]
    reasoning = reasonings[0] if len(reasonings) == 1 else reasonings or None
    messages = [message for message, _ in read]
    return ObservedResponse(messages, raw, reasoning, attributes | provider_edits(messages))


def _finish_reason(response: JsonMapping, output: Sequence[JsonMapping]) -> str:
    """Returns the finish reason by its name in Chat Completions, else the response's own."""
    status = response.get("status") or "completed"
    if status == "incomplete":
        details = object_at(response, "incomplete_details")
        reason = details.get("reason") or status
        return "length" if reason == "max_output_tokens" else str(reason)
    if status == "completed":
        return "tool_calls" if any(item.get("type") in _CALL_TYPES for item in output) else "stop"
    return str(status)


def _sent_items(kwargs: Mapping[str, Any]) -> list[object]:
    """Returns the request's items as dictionaries; a text becomes a user message."""
    value = kwargs.get("input")
    items: Sequence[object] = kwargs.get("input", ())
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if not isinstance(value, Sequence):  # not given, or a value that the client refuses, too
        return []
    return [item if type(item) is dict else request_json(item) for item in items]


def to_message(native: JsonMapping) -> Message:
    """Returns the canonical message, without the parsed values that the client adds to its own objects."""
    if not _ADDED.isdisjoint(native) and native.get("type") != "reasoning":
        native = {key: value for key, value in native.items() if key not in _PARSED}
        if isinstance(content := native.get("content"), list):
            native["content"] = [_plain_part(part) for part in content]
    return dialect.to_message(native)


def _plain_part(part: JsonValue) -> JsonValue:
    fields = object_of(part)
    if _ADDED.isdisjoint(fields):
        return part
    return {key: value for key, value in fields.items() if key not in _PARSED}


def _dumped(value: Any) -> Json:
    """Returns the JSON of one of the client's objects, without the parsed values that the client adds."""
    if not hasattr(value, "model_dump"):
        return value
    native = answer_json(value)
    for item in _items_in(native):
        for holder in (item, *objects_at(item, "content")):
            for key in _PARSED:
                holder.pop(key, None)
    return native


def _items_in(native: Json) -> list[Json]:
    """Returns the items in a dumped object, which is an item, a response, or an event with one of them."""
    response = native.get("response")
    holder = response if isinstance(response, dict) else native
    items: list[JsonValue] = [native, native.get("item"), *list_at(holder, "output")]
    return [item for item in items if isinstance(item, dict)]


# --- the conversation before a request --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownResponse:
    """A response that this run has seen: the id of the previous response, the items sent since, and its output (empty
    while it runs in the background)."""

    previous: str | None
    sent: Sequence[object]
    output: Sequence[object]
    model: str
    is_ended: bool


def previous_items(run: ActiveRun | None, request: Mapping[str, object]) -> list[object]:
    """Returns the items of the conversation before those of this request."""
    conversation = request.get("conversation")
    if isinstance(conversation, dict | str):
        return [_elsewhere("conversation", request["conversation"])]
    turns: list[Sequence[object]] = []
    response_id = request.get("previous_response_id")
    while isinstance(response_id, str):
        response = known_response(run, response_id)
        if response is None:
            turns.append([_elsewhere("previous_response_id", response_id)])
            break
        response_id = response.previous
        turns.append([*response.sent, *response.output])
    return [item for items in reversed(turns) for item in items]


def items_asked(run: ActiveRun | None, response_id: str) -> list[object]:
    """Returns the input items of a response: the conversation before it, and the items sent with its request."""
    response = known_response(run, response_id)
    if response is None:
        return [_elsewhere("response_id", response_id)]
    return [*previous_items(run, {"previous_response_id": response.previous}), *response.sent]


def known_response(run: ActiveRun | None, response_id: str) -> KnownResponse | None:
    """Returns the response of this id; None if this run has not seen it."""
    return run.responses.get(response_id) if run is not None else None


def remember(run: ActiveRun, request: Mapping[str, object], sent: Sequence[object], response: JsonMapping) -> None:
    """Remembers a response, so that a later request can name it as the previous one."""
    previous = request.get("previous_response_id")
    # In a `conversation`, each response follows all earlier items, of which only a part is known.
    head = previous_items(run, request) if isinstance(request.get("conversation"), dict | str) else []
    _remember_output(run, response, previous if isinstance(previous, str) and not head else None, [*head, *sent])


def remember_retrieved(run: ActiveRun, response_id: str, response: JsonMapping) -> None:
    """Remembers the fetched state of a response that runs in the background."""
    remembered = known_response(run, response_id)
    if remembered is None:
        _remember_output(run, response, None, items_asked(run, response_id))
    else:
        _remember_output(run, response, remembered.previous, remembered.sent)


def _remember_output(run: ActiveRun, response: JsonMapping, previous: str | None, sent: Sequence[object]) -> None:
    name = response.get("id")
    if not isinstance(name, str):
        return
    output, model = list_at(response, "output"), str(response.get("model") or "")
    is_ended = response.get("status") not in ("queued", "in_progress")
    run.remember_response(name, KnownResponse(previous, sent, output, model, is_ended))


def _elsewhere(key: str, value: object) -> dict[str, object]:
    return {"role": "system", "content": [{"type": "playhead.elsewhere", key: value}]}


# --- events of a stream -----------------------------------------------------------------------------------------------

_END_STATUSES = frozenset({"completed", "incomplete", "failed", "cancelled"})
# Event with a piece of a text → where the piece belongs in its item: list, key of the index, empty part, key.
_TEXT_DELTAS = {
    "response.output_text.delta": ("content", "content_index", {"type": "output_text"}, "text"),
    "response.refusal.delta": ("content", "content_index", {"type": "refusal"}, "refusal"),
    "response.reasoning_text.delta": ("content", "content_index", {"type": "reasoning_text"}, "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", {"type": "summary_text"}, "text"),
}
_ARGUMENT_DELTAS = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}


def joined_response(events: Iterable[JsonMapping]) -> Json:
    """Returns the response in its unstreamed form, as far as it was received."""
    response: Json = {}
    items: dict[int, Json] = {}
    for event in events:
        response = object_at(event, "response") or response
        _add_event(items, event)
    if response.get("status") in _END_STATUSES and (response.get("output") or not items):
        return response
    return {**response, "output": [items[index] for index in sorted(items)]}


def _add_event(items: dict[int, Json], event: JsonMapping) -> None:
    index, kind = event.get("output_index"), str(event.get("type"))
    if not isinstance(index, int):
        return
    if isinstance(whole := event.get("item"), dict):
        items[index] = {**whole}  # a copy: pieces are added to it, and the event must not change
    elif kind in _ARGUMENT_DELTAS:
        item, key = items.setdefault(index, {}), _ARGUMENT_DELTAS[kind]
        item[key] = f"{item.get(key) or ''}{event.get('delta', '')}"
    elif kind in _TEXT_DELTAS:
        key, place, empty, text = _TEXT_DELTAS[kind]
        item = items.setdefault(index, {})
        part_index = int_at(event, place)
        parts: list[Json] = [dict(part) for part in objects_at(item, key)]
        while len(parts) <= part_index:
            parts.append({**empty})
        parts[part_index][text] = f"{parts[part_index].get(text) or ''}{event.get('delta', '')}"
        item[key] = [*parts]


def events_of(response: JsonMapping, piece_characters: int | None = None) -> list[Json]:
    """Returns the events of a stream of this response; texts and arguments in pieces of `piece_characters` (None:
    whole)."""
    begun: Json = {
        **response,
        "status": "in_progress",
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(objects_at(response, "output")):
        events += _item_events(item, index, piece_characters)
    events.append({"type": f"response.{response.get('status', 'completed')}", "response": dict(response)})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _item_events(item: JsonMapping, index: int, characters: int | None) -> Iterator[Json]:
    kind = item.get("type")
    where: Json = {"item_id": item.get("id"), "output_index": index}
    writer = _WRITERS.get(str(kind))
    begun: Json = {**item} if kind == "reasoning" else {**item, "status": "in_progress"}
    if writer is not None:
        begun[writer.key] = writer.empty
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    if writer is not None:
        yield from writer.write(item, where, characters)
    yield {"type": "response.output_item.done", "output_index": index, "item": dict(item)}


def _content_events(item: JsonMapping, where: Json, characters: int | None) -> Iterator[Json]:
    for index, part in enumerate(objects_at(item, "content")):
        refused = part["type"] == "refusal"
        name, key = ("refusal", "refusal") if refused else ("output_text", "text")
        more: Json = {} if refused else {"logprobs": []}
        here = {**where, "content_index": index}
        yield {"type": "response.content_part.added", **here, "part": {**part, key: ""}}
        for piece in _pieces(text_at(part, key), characters):
            yield {"type": f"response.{name}.delta", **here, "delta": piece, **more}
        yield {"type": f"response.{name}.done", **here, key: part[key], **more}
        yield {"type": "response.content_part.done", **here, "part": part}


def _summary_events(item: JsonMapping, where: Json, characters: int | None) -> Iterator[Json]:
    for index, part in enumerate(objects_at(item, "summary")):
        here = {**where, "summary_index": index}
        yield {"type": "response.reasoning_summary_part.added", **here, "part": {**part, "text": ""}}
        for piece in _pieces(text_at(part, "text"), characters):
            yield {"type": "response.reasoning_summary_text.delta", **here, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **here, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **here, "part": part}


def _argument_events(item: JsonMapping, where: Json, characters: int | None) -> Iterator[Json]:
    text = text_at(item, "arguments")
    for piece in _pieces(text, characters):
        yield {"type": "response.function_call_arguments.delta", **where, "delta": piece}
    yield {"type": "response.function_call_arguments.done", **where, "name": item.get("name"), "arguments": text}


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the events of one kind of item.  `key`: where the item has its content; `empty`: no content yet."""

    key: str
    empty: JsonValue
    write: Callable[[JsonMapping, Json, int | None], Iterator[Json]]


_WRITERS = {
    "message": _Writer("content", [], _content_events),
    "reasoning": _Writer("summary", [], _summary_events),
    "function_call": _Writer("arguments", "", _argument_events),
}


def _pieces(text: str, characters: int | None) -> list[str]:
    if not characters:
        return [text] if text else []
    return [text[start : start + characters] for start in range(0, len(text), characters)]


# --- answers with another output --------------------------------------------------------------------------------------

# Defaults for a call without a recorded answer: one that was in doubt.
_DEFAULTS: Json = {
    "id": "resp_playhead",
    "object": "response",
    "created_at": 0,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = {"output", "usage", "stream", "incomplete_details", "error", "status"}


def with_message(recorded: object, message: str | JsonMapping, *, model: str, streamed: bool) -> Json:
    """Returns the recorded response with this output: a text, a message or another item in OpenAI's form, or
    `{"output": [...]}`."""
    response = {**_DEFAULTS, "model": model, **recorded_metadata(recorded, _RECORDED_KEYS_REPLACED, joined_response)}
    response |= {"status": "completed", "error": None, "incomplete_details": None, "usage": None}
    response["output"] = [_output_item(item, index) for index, item in enumerate(_output_items(message))]
    return {"stream": [*events_of(response)]} if streamed else response


def _output_items(message: str | JsonMapping) -> Sequence[JsonValue | JsonMapping]:
    if isinstance(message, Mapping) and isinstance(output := message.get("output"), list) and "type" not in message:
        return output
    return [message]


def _output_item(value: JsonValue | JsonMapping, index: int) -> Json:
    if isinstance(value, Mapping) and value.get("type", "message") != "message":
        return {"id": f"item_playhead_{index}", **value}
    item: Json = {"content": value} if isinstance(value, str) else dict(mapping_of(value))
    if isinstance(item.get("content"), str):
        item["content"] = [{"type": "output_text", "text": item["content"], "annotations": []}]
    return {"id": f"msg_playhead_{index}", "type": "message", "role": "assistant", "status": "completed", **item}


# --- retrieve() -------------------------------------------------------------------------------------------------------

_TOKEN_COUNTS = (
    names.INPUT_TOKENS,
    names.OUTPUT_TOKENS,
    names.CACHE_READ_TOKENS,
    names.CACHE_WRITE_TOKENS,
    names.REASONING_TOKENS,
)


def _response_id_of(call: MethodCall) -> str:
    return str(call.args[0] if call.args else call.kwargs.get("response_id", ""))


def _named_arguments(call: MethodCall) -> dict[str, object]:
    """Returns the keyword arguments with the id, which the program may pass by position."""
    return {**call.kwargs, "response_id": _response_id_of(call)}


def _read_retrieval(call: MethodCall) -> ObservedRequest:
    response_id, above = _response_id_of(call), current_span()
    run = above.run if above is not None else None
    response = known_response(run, response_id)
    settings, attributes = settings_of(
        _named_arguments(call), TRANSPORT, {"stream": names.REQUEST_STREAM}, schema_of_class
    )
    return ObservedRequest(
        provider=provider_of(call.client),
        operation="fetch_response",
        model=response.model if response is not None else "",
        messages=items_asked(run, response_id),
        to_message=to_message,
        from_message=dialect.from_message,
        settings=settings,
        attributes=attributes,
        shape={"dialect": dialect.NAME, "input": "absent", "before": 0},
    )


def _remembered_retrieval(raw: Json | None, run: ActiveRun, call: MethodCall) -> ObservedResponse | None:
    if raw is None:
        return None
    response, remembered = model_response(raw), known_response(run, _response_id_of(call))
    if remembered is not None and remembered.is_ended:
        response.attributes = _without_tokens(response.attributes)
    remember_retrieved(run, _response_id_of(call), recorded_response(raw))
    return response


def _without_tokens(attributes: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in attributes.items() if name not in _TOKEN_COUNTS}


def _restore_retrieval(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    return restore(raw, _named_arguments(call), call.client, method=call.method, is_async=call.is_async, ending=ending)


def _retrieval_with_message(raw: object, message: str | JsonMapping, call: MethodCall) -> Json:
    return with_message(raw, message, model="", streamed=call.kwargs.get("stream") is True)


RETRIEVAL = ClientApi(
    read_request=_read_retrieval,
    is_streamed=lambda call: bool(call.kwargs.get("stream")),
    read_response=lambda response, run, call: _remembered_retrieval(plain_response(response), run, call),
    assemble=lambda events, run, call: _remembered_retrieval(plain_stream(events), run, call),
    read_recorded=_remembered_retrieval,
    restore=_restore_retrieval,
    with_message=_retrieval_with_message,
    with_edit=lambda call, messages, system: None,
    end_with_result=end_with_result,
)
