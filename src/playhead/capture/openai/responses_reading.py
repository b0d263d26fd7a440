"""Reads requests and answers of Responses for the capture stage, as `chat_reading` does for Chat Completions."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from playhead.calls.lifecycle import current_span
from playhead.calls.run import ActiveRun
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.capture.openai.chat_reading import provider_of, response_format
from playhead.capture.openai.responses_events import whole_response
from playhead.capture.openai.responses_history import previous_items, remember
from playhead.capture.stainless.reading import (
    LEFT_OUT,
    TRANSPORT,
    answer_json,
    described,
    dumped,
    listed,
    settings_of,
    usage_of,
)
from playhead.dialect import openai_responses as dialect
from playhead.dialect.parts import provider_edits
from playhead.model import names
from playhead.model.message import Message
from playhead.model.objects.interrupts import let_through

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
_CALLS = frozenset({"function_call", "custom_tool_call"})
# Added by the client after parsing; the provider did not send them.
_PARSED = ("parsed", "parsed_arguments")
_ADDED = frozenset({*_PARSED, "content"})


def read_request(client: Any, kwargs: Mapping[str, Any], method: str = "create") -> ModelRequest:
    """Reads a request from its keyword arguments (the client takes no positional ones)."""
    settings, attributes = settings_of(kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, response_format)
    tools, instructions, kind = kwargs.get("tools"), kwargs.get("instructions"), kwargs.get("text_format")
    if isinstance(kind, type):
        settings["text"] = {**(kwargs.get("text") or {}), "format": text_format(kind)}
    if not isinstance(instructions, str | None) and type(instructions).__name__ not in LEFT_OUT:
        settings["instructions"] = instructions
    above = current_span()
    earlier = previous_items(above.run if above is not None else None, kwargs)
    return ModelRequest(
        provider=provider_of(client),
        operation="chat",
        model=str(kwargs.get("model", "")),
        messages=[*earlier, *_sent(kwargs)],
        to_message=to_message,
        from_message=dialect.from_message,
        tools=listed(tools),
        system=instructions if isinstance(instructions, str) else None,
        settings=settings,
        attributes=attributes,
        shape={"dialect": dialect.NAME, "input": _form_of(kwargs.get("input")), "before": len(earlier)},
    )


def text_format(kind: type) -> Any:
    """Returns the schema that the client sends for a class given as text format."""
    try:
        from openai.lib._parsing._responses import type_to_text_format_param  # noqa: PLC0415 - the library is the user's

        return type_to_text_format_param(kind)
    except BaseException as error:  # noqa: BLE001 - another version of the library, or a class that it does not take
        let_through(error)
        return described(kind)


def _form_of(value: Any) -> str:
    """Returns the form of `input` in the request: `text`, `items`, or `absent`."""
    if isinstance(value, str):
        return "text"
    return "items" if isinstance(value, Sequence) else "absent"


def read_response(response: Any, run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse | None:
    """Reads a `Response`; None for anything else."""
    return _remembered(plain_response(response), run, kwargs)


def assemble(events: list[Any], run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse | None:
    """Reads the events of a stream; None if there are none."""
    return _remembered(plain_stream(events), run, kwargs)


def read_recorded(raw: dict[str, Any], run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse | None:
    """Reads a recorded response, streamed or not."""
    return _remembered(raw, run, kwargs)


def _remembered(raw: dict[str, Any] | None, run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse | None:
    if raw is None:
        return None
    response = model_response(raw)
    remember(run, kwargs, _sent(kwargs), whole(raw))
    return response


def plain_response(response: Any) -> dict[str, Any] | None:
    """Returns a `Response` as JSON values; None for anything else."""
    return _dumped(response) if hasattr(response, "output") else None


def plain_stream(events: list[Any]) -> dict[str, Any] | None:
    """Returns the recorded form of a stream's events (or of the results of `kept_event`); None if there are none."""
    return {"stream": [kept_event(event) for event in events]} if events else None


def kept_event(event: Any) -> Any:
    """Returns the JSON of an event as received: programs change events in place, by adding deltas to earlier items."""
    return event if type(event) is dict else _dumped(event)  # pyright: ignore[reportUnknownVariableType]


def whole(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the recorded response, streamed or not, as one JSON object."""
    return whole_response(raw["stream"]) if "stream" in raw else dict(raw)


def with_edit(kwargs: Mapping[str, Any], messages: list[Any] | None, system: str | None) -> dict[str, Any] | None:
    """Returns the arguments with other items or instructions; None if the server keeps some of the items."""
    changed: dict[str, Any] = dict(kwargs)
    if messages is not None:
        if kwargs.get("previous_response_id") or kwargs.get("conversation"):
            return None
        changed["input"] = messages
    if system is not None:
        changed["instructions"] = system
    return changed


def model_response(raw: dict[str, Any]) -> ModelResponse:
    """Reads a recorded response, or a recorded stream of events."""
    response = whole(raw)
    output = cast(list[dict[str, Any]], response.get("output") or [])
    read = [dialect.output_message(item) for item in output]
    reasonings = [reasoning for _, reasoning in read if reasoning is not None]
    attributes: dict[str, Any] = usage_of(response.get("usage") or {}, _USAGE)
    attributes[names.FINISH_REASONS] = [_finish_reason(response, output)]
    for key, name in (("id", names.RESPONSE_ID), ("model", names.RESPONSE_MODEL)):
        if response.get(key):
            attributes[name] = response[key]
    reasoning = reasonings[0] if len(reasonings) == 1 else reasonings or None
    messages = [message for message, _ in read]
    return ModelResponse(messages, raw, reasoning, attributes | provider_edits(messages))


def _finish_reason(response: Mapping[str, Any], output: Sequence[Mapping[str, Any]]) -> str:
    """Returns the finish reason by its name in Chat Completions, else the response's own."""
    status = response.get("status") or "completed"
    if status == "incomplete":
        details: Mapping[str, Any] = response.get("incomplete_details") or {}
        reason = details.get("reason") or status
        return "length" if reason == "max_output_tokens" else str(reason)
    if status == "completed":
        return "tool_calls" if any(item.get("type") in _CALLS for item in output) else "stop"
    return str(status)


def _sent(kwargs: Mapping[str, Any]) -> list[Any]:
    """Returns the request's items as dictionaries; a text becomes a user message."""
    value = kwargs.get("input")
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if not isinstance(value, Sequence):  # not given, or a value that the client refuses, too
        return []
    return [item if type(item) is dict else dumped(item) for item in cast(Sequence[Any], value)]


def to_message(native: Mapping[str, Any]) -> Message:
    """Returns the canonical message, without the parsed values that the client adds to its own objects."""
    if not _ADDED.isdisjoint(native) and native.get("type") != "reasoning":
        native = {key: value for key, value in native.items() if key not in _PARSED}
        if isinstance(content := native.get("content"), list):
            native["content"] = [_plain_part(part) for part in cast("list[Any]", content)]
    return dialect.to_message(native)


def _plain_part(part: Any) -> Any:
    fields = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    if _ADDED.isdisjoint(fields):
        return cast("object", part)
    return {key: value for key, value in fields.items() if key not in _PARSED}


def _dumped(value: Any) -> Any:
    """Returns the JSON of one of the client's objects, without the parsed values that the client adds."""
    if not hasattr(value, "model_dump"):
        return value
    native: dict[str, Any] = answer_json(value)
    for item in _items_in(native):
        for holder in (item, *(item.get("content") or ())):
            if isinstance(holder, dict):
                for key in _PARSED:
                    cast(dict[str, Any], holder).pop(key, None)
    return native


def _items_in(native: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the items in a dumped object, which is an item, a response, or an event with one of them."""
    response = native.get("response")
    holder = cast(dict[str, Any], response) if isinstance(response, dict) else native
    items: list[Any] = [native, native.get("item"), *(holder.get("output") or ())]
    return [cast(dict[str, Any], item) for item in items if isinstance(item, dict)]
