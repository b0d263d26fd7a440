"""Messages of `anthropic`: reads requests and answers, joins and splits streamed events, rebuilds recorded answers, and
changes answers and requests as a person asks. Changes none of the program's objects.

A beta of the API keeps the messages of a `thread` at the server, so that the request does not contain them. Those that
this run sent and received are known, and complete the recorded context; a block `playhead.elsewhere` stands for unknown
ones (a thread of another run).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from playhead.calls.lifecycle import current_span
from playhead.calls.run import ActiveRun
from playhead.capture import stainless
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.restoring import recorded_metadata
from playhead.capture.stainless import (
    LEFT_OUT,
    TRANSPORT,
    AnswerForm,
    DumpedModel,
    answer_json,
    request_json,
    schema_of_class,
    settings_of,
    usage_of,
)
from playhead.dialect import anthropic as dialect
from playhead.dialect.parts import provider_edits
from playhead.kernel.guard import guarded
from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    int_at,
    list_at,
    object_at,
    object_of,
    objects_at,
    text_at,
    value_at,
)

# --- requests and answers ---------------------------------------------------------------------------------------------

# Sent as headers.
_HEADER_ARGUMENTS = frozenset({"betas", "user_profile_id", "workspace_id"})
_NOT_SETTINGS = TRANSPORT | {"messages", "tools", "system"}
_NOT_SENT_AS_GIVEN = _HEADER_ARGUMENTS | {"output_format"}
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "stream": names.REQUEST_STREAM,
}
_USAGE = (
    ("", "output_tokens", names.OUTPUT_TOKENS),
    ("", "cache_read_input_tokens", names.CACHE_READ_TOKENS),
    ("", "cache_creation_input_tokens", names.CACHE_WRITE_TOKENS),
    ("output_tokens_details", "thinking_tokens", names.REASONING_TOKENS),
)
_INPUT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
# Anthropic's reason → the reason's name in Chat Completions; others are kept.
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_PLATFORMS = {"Bedrock": "aws.bedrock", "Vertex": "gcp.vertex_ai", "Foundry": "azure.ai.inference"}
_SHAPE = {"dialect": dialect.NAME}
_CUT_SYSTEM = frozenset({str, list, tuple})


def read_request(client: object, kwargs: Mapping[str, Any], method: str = "create") -> ObservedRequest:
    """Reads a request from its keyword arguments (the client takes no positional ones)."""
    arguments = kwargs
    if not kwargs.keys().isdisjoint(_NOT_SENT_AS_GIVEN):
        arguments = _with_output_format({key: value for key, value in kwargs.items() if key not in _HEADER_ARGUMENTS})
    settings, attributes = settings_of(arguments, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, schema_of_class)
    if method == "stream":
        settings["stream"] = attributes[names.REQUEST_STREAM] = True
    system = kwargs.get("system")
    if system is not None and type(system) not in _CUT_SYSTEM and type(system).__name__ not in LEFT_OUT:
        settings["system"] = system
    (messages, whole), shape = sent_messages(kwargs), _SHAPE
    if "thread" in kwargs and isinstance(kwargs["thread"], Mapping):
        above = current_span()
        earlier = earlier_messages(above.run if above is not None else None, kwargs)
        messages, whole, shape = [*earlier, *messages], 0, {**_SHAPE, "before": len(earlier)}
    return ObservedRequest(
        provider=provider_of(client),
        operation="chat",
        model=str(kwargs.get("model", "")),
        messages=messages,
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=_tool_definitions(kwargs.get("tools")),
        settings=settings,
        attributes=attributes,
        shape=shape,
        uncut_prefix=whole,
    )


def sent_messages(kwargs: Mapping[str, Any]) -> tuple[Sequence[object], int]:
    """Returns the system prompt and the messages as the client sends them, cut (see `dialect.anthropic`), and the
    number of leading messages that are known to need no cutting."""
    system = kwargs.get("system")
    prompt = system if type(system) is str else _sent_content(system) if type(system) in _CUT_SYSTEM else None
    natives = kwargs.get("messages") or ()
    messages: list[JsonValue] = kwargs["messages"] if type(natives) is list else [*natives]
    begin = _known_turns(messages, prompt)
    cut = dialect.split_plain_turns(messages, prompt, begin)
    return (dialect.split_turns(map(_sent, messages), prompt), 0) if cut is None else cut


def _known_turns(messages: list[JsonValue], prompt: object) -> list[Any] | None:
    """Returns the prompt and the first messages, as far as an earlier call of the run began with the same ones and they
    need no cutting; None if there are none.  Comparing with the earlier call takes half the time of checking each
    block.

    Returns the remembered copies, which the recorder recognizes without comparing them again.
    """
    span = current_span()
    if span is None:
        return None
    first = 0 if prompt is None else 1
    for thread in span.run.threads.threads[:]:
        begin: list[Any] = thread.messages[:]
        if thread.uncut_prefix < len(begin):
            thread.uncut_prefix = whole = dialect.count_uncut(begin, thread.uncut_prefix)
            del begin[whole:]
        if len(begin) > first and _begins_with(messages, prompt, begin):
            for index in thread.numeric:  # in Python `1 == True`, so the recorder has to compare these itself
                if first <= index < len(begin):
                    begin[index] = messages[index - first]
            return begin
    return None


def _begins_with(messages: list[JsonValue], prompt: object, begin: list[Any]) -> bool:
    if (begin[0].get("role") == "system") is (prompt is None):
        return False
    with guarded("compare messages", log=False):  # it is the user's code, and may raise anything
        if prompt is None:
            return messages[: len(begin)] == begin
        return begin[0]["content"] == prompt and len(begin[0]) == 2 and [begin[0], *messages[: len(begin) - 1]] == begin
    return False


def _sent(message: Any) -> JsonMapping:
    native: JsonMapping = message
    if type(message) is not dict:
        native = request_json(message)
    content = native.get("content")
    if type(content) is str or content is None:
        return native
    sent = _sent_content(content)
    return native if sent is content else {**native, "content": sent}


def _sent_content(content: Any) -> JsonValue:
    """Returns content blocks as dictionaries; any other content unchanged."""
    blocks: list[JsonValue] = content
    if not isinstance(content, list | tuple):
        return content
    if all(type(block) is dict and block.get("type") != "tool_result" for block in blocks):
        return blocks
    return [_sent_block(block) for block in blocks]


def _sent_block(block: JsonValue) -> JsonValue:
    sent: JsonValue = block if type(block) is dict else request_json(block)
    fields = object_of(sent)
    inner = fields.get("content")
    if type(inner) is not list or all(type(item) is dict for item in inner):
        return sent
    return {**fields, "content": [request_json(item) for item in inner]}


def _tool_definitions(tools: Any) -> list[JsonValue] | None:
    """Returns the tool definitions as sent; function tools make their definition themselves. None if there are none."""
    if tools is None or type(tools).__name__ in LEFT_OUT:
        return None
    given: list[JsonValue] = tools
    definitions = given if type(tools) is list else [*given]
    return (
        definitions
        if all(type(tool) is dict for tool in definitions)
        else [_tool_definition(tool) for tool in definitions]
    )


def _tool_definition(tool: Any) -> JsonValue:
    return tool.to_dict() if type(tool) is not dict and hasattr(tool, "to_dict") else request_json(tool)


def _with_output_format(kwargs: Json) -> Json:
    """Returns the arguments with the schema that the client sends for the class in `output_format`."""
    kind = kwargs.pop("output_format", None)
    if kind is None or type(kind).__name__ in LEFT_OUT:
        return kwargs
    config = kwargs.get("output_config")
    settings = object_of(config)
    return {**kwargs, "output_config": {**settings, "format": output_format(kind)}}


def output_format(kind: Any) -> Any:
    """Returns the schema that the client sends for a class."""
    # Fails in another version of the library, or for a class that it does not take.
    with guarded("read the schema of a class", log=False):
        # The library is the user's.
        from anthropic.lib._parse._transform import transform_schema  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]
        from pydantic import TypeAdapter  # noqa: PLC0415

        return {"type": "json_schema", "schema": transform_schema(TypeAdapter(kind).json_schema())}
    return schema_of_class(kind) if isinstance(kind, type) else kind


def read_response(response: Any, run: ActiveRun, kwargs: Mapping[str, object]) -> ObservedResponse | None:
    """Reads a `Message`; None for anything else."""
    if not hasattr(response, "content") or not hasattr(response, "stop_reason"):
        return None
    return _response(_dumped(response), run, kwargs)


def assemble(events: Sequence[Any], run: ActiveRun, kwargs: Mapping[str, object]) -> ObservedResponse | None:
    """Reads the events of a stream, or the results of `copy_of_event`; None if there are none."""
    return _streamed_response([copy_of_event(event) for event in events], run, kwargs) if events else None


def copy_of_event(event: Any) -> Json:
    """Returns the JSON of an event as received: programs change events in place, by adding deltas to earlier blocks."""
    received: Json = event
    return received if type(received) is dict else _dumped(event)


def read_recorded(raw: Json, run: ActiveRun | None, kwargs: Mapping[str, object]) -> ObservedResponse:
    """Reads a recorded response, streamed or not.  `run`: keeps the messages of a `thread`; None: they are not kept."""
    return (
        _streamed_response(objects_at(raw, "stream"), run, kwargs) if "stream" in raw else _response(raw, run, kwargs)
    )


def with_edit(kwargs: Mapping[str, object], messages: Sequence[Any] | None) -> dict[str, object] | None:
    """Returns the arguments with these cut messages, joined again; None if the server keeps some of the messages."""
    if messages is None:
        return dict(kwargs)
    if isinstance(kwargs.get("thread"), Mapping):
        return None
    system, joined = dialect.merge_turns(messages)
    changed: dict[str, object] = {**kwargs, "messages": joined}
    if system is None:
        changed.pop("system", None)
    else:
        changed["system"] = system
    return changed


def provider_of(client: object) -> str:
    """Returns the name of the provider whose API a resource of the client calls."""
    owner: object = getattr(client, "_client", None)
    return _provider_of_kind(type(owner))


@lru_cache(maxsize=256)
def _provider_of_kind(kind: type) -> str:
    platform = next((platform for key, platform in _PLATFORMS.items() if key in kind.__name__), None)
    return platform or str(getattr(kind, "_gen_ai_provider_name", "anthropic"))


def _streamed_response(events: list[Json], run: ActiveRun | None, kwargs: Mapping[str, object]) -> ObservedResponse:
    response = _response(joined_message(events), run, kwargs)
    return ObservedResponse(response.messages, {"stream": events}, response.reasoning, response.attributes)


def _response(answer: Json, run: ActiveRun | None, kwargs: Mapping[str, object]) -> ObservedResponse:
    message, reasoning = dialect.output_message(answer)
    usage = object_at(answer, "usage")
    attributes = usage_of(usage, _USAGE)
    if usage.get("input_tokens") is not None:
        attributes[names.INPUT_TOKENS] = sum(int_at(usage, key) for key in _INPUT_COUNTS)
    attributes |= _compaction_usage(usage)
    stopped = text_at(answer, "stop_reason")
    attributes[names.FINISH_REASONS] = [_FINISH_REASONS.get(stopped, stopped)] if stopped else []
    for key, name in (("id", names.RESPONSE_ID), ("model", names.RESPONSE_MODEL)):
        if answer.get(key):
            attributes[name] = answer[key]
    attributes |= provider_edits([message], answer)
    if run is not None and "thread" in kwargs and isinstance(kwargs["thread"], Mapping):
        remember(run, kwargs, sent_messages(kwargs)[0], answer)
    return ObservedResponse([message], answer, reasoning, attributes)


def _compaction_usage(usage: JsonMapping) -> dict[str, object]:
    """Returns the tokens of the provider's own summaries of the context, which the counts at the top leave out."""
    summaries = [each for each in objects_at(usage, "iterations") if each.get("type") == "compaction"]
    if not summaries:
        return {}
    return {
        names.COMPACTION_INPUT_TOKENS: sum(int_at(each, key) for each in summaries for key in _INPUT_COUNTS),
        names.COMPACTION_OUTPUT_TOKENS: sum(int_at(each, "output_tokens") for each in summaries),
    }


def _dumped(value: DumpedModel) -> Json:
    """Returns the JSON of one of the client's objects, without the parsed values that the client adds."""
    native = answer_json(value)
    for block in objects_at(native, "content"):
        block.pop("parsed_output", None)
    return native


# --- messages that the server keeps -----------------------------------------------------------------------------------


def earlier_messages(run: ActiveRun | None, request: Mapping[str, object]) -> list[object]:
    """Returns the messages of the thread before those of this request, cut (see `dialect.anthropic`)."""
    message_id = _previous_message_id(request)
    turns: list[Sequence[object]] = []
    while message_id is not None:
        entry = run.responses.get(message_id) if run is not None else None
        if entry is None:
            turns.append(
                [{"role": "system", "content": [{"type": "playhead.elsewhere", "previous_message_id": message_id}]}]
            )
            break
        message_id, messages = entry
        turns.append(messages)
    return [message for messages in reversed(turns) for message in messages]


def remember(run: ActiveRun, request: Mapping[str, object], sent: Sequence[object], answer: JsonMapping) -> None:
    """Remembers the answer of a thread's turn, so that the next turn can continue from it."""
    name = answer.get("id")
    if not isinstance(request.get("thread"), Mapping) or not isinstance(name, str):
        return
    reply = {"role": "assistant", "content": answer.get("content")}
    run.remember_response(name, (_previous_message_id(request), [*sent, reply]))


def _previous_message_id(request: Mapping[str, object]) -> str | None:
    thread = request.get("thread")
    message_id = value_at(thread, "previous_message_id")
    return message_id if isinstance(message_id, str) else None


# --- events of a stream -----------------------------------------------------------------------------------------------

# Type of a delta with a piece of a text → the block's key for that text.
_TEXT_DELTAS = {"text_delta": "text", "thinking_delta": "thinking"}
_NO_TOKENS = {"input_tokens": 0, "output_tokens": 0}


def joined_message(events: Iterable[JsonMapping]) -> Json:
    """Returns the message in its unstreamed form, as far as it was received."""
    message: Json = {}
    blocks: dict[int, Json] = {}
    inputs: dict[int, str] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message |= object_at(event, "message")
            case "content_block_start":
                blocks[int_at(event, "index")] = {**object_at(event, "content_block")}
            case "content_block_delta":
                index = int_at(event, "index")
                _add_delta(blocks.setdefault(index, {}), object_at(event, "delta"), inputs, index)
            case "message_delta":
                _add_message_delta(message, event)
            case _:
                pass  # the end of a block or of the message, and unknown events
    for index, text in inputs.items():
        blocks[index]["input"] = _parsed_input(text)
    message["content"] = [blocks[index] for index in sorted(blocks)]
    return message


def _add_delta(block: Json, delta: JsonMapping, inputs: dict[int, str], index: int) -> None:
    kind = str(delta.get("type"))
    if kind in _TEXT_DELTAS:
        key = _TEXT_DELTAS[kind]
        block[key] = text_at(block, key) + text_at(delta, key)
    elif kind == "input_json_delta":
        inputs[index] = inputs.get(index, "") + text_at(delta, "partial_json")
    elif kind == "citations_delta":
        block["citations"] = [*list_at(block, "citations"), delta.get("citation")]
    else:  # not in pieces: a signature, a compaction
        block |= {key: value for key, value in delta.items() if key != "type"}


def _add_message_delta(message: Json, event: JsonMapping) -> None:
    """Applies a `message_delta` event to the message.  Its token counts are totals; counts that it does not have are
    kept."""
    message |= object_at(event, "delta")
    usage = object_at(event, "usage")
    counted = {key: value for key, value in usage.items() if value is not None}
    message["usage"] = {**object_at(message, "usage"), **counted}
    for key, value in event.items():
        if key not in ("type", "delta", "usage") and value is not None:
            message[key] = value


def _parsed_input(text: str) -> JsonValue:
    """Parses a tool's input; returns the text itself if the stream broke off in the middle of it."""
    try:
        return parse_json(text) if text else {}
    except ValueError:
        return text


def events_of(message: JsonMapping, characters: int | None = None) -> list[Json]:
    """Returns the events of a stream of this message; texts in pieces of `characters` (None: whole)."""
    usage: Json = {**_NO_TOKENS, **object_at(message, "usage")}
    ending = {"stop_reason": message.get("stop_reason"), "stop_sequence": message.get("stop_sequence")}
    begun: Json = {**message, "content": [], **dict.fromkeys(ending), "usage": {**usage, "output_tokens": 1}}
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(objects_at(message, "content")):
        started, deltas = _deltas(block, characters)
        events.append({"type": "content_block_start", "index": index, "content_block": started})
        events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": ending, "usage": usage})
    events.append({"type": "message_stop"})
    return events


def _deltas(block: JsonMapping, characters: int | None) -> tuple[Json, list[Json]]:
    """Returns the block of a `content_block_start`, and the deltas that complete it."""
    match block.get("type"):
        case "text":
            deltas: list[Json] = [
                {"type": "text_delta", "text": piece} for piece in _pieces(text_at(block, "text"), characters)
            ]
            return {**block, "text": ""}, deltas
        case "thinking":
            texts = _pieces(text_at(block, "thinking"), characters)
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in texts]
            if "signature" in block:
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            texts = _pieces(_input_text(block.get("input")), characters)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in texts]
        case _:
            return dict(block), []


def _input_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def _pieces(text: str, characters: int | None) -> Iterator[str]:
    size = characters or max(len(text), 1)
    for start in range(0, len(text), size):
        yield text[start : start + size]


# --- recorded answers -------------------------------------------------------------------------------------------------

_MESSAGE_FORM = AnswerForm(
    "anthropic", "content", "anthropic.types", "Message", names_events=True, request_id="request-id"
)
_BETA_FORM = AnswerForm(
    "anthropic", "content", "anthropic.types.beta", "BetaMessage", names_events=True, request_id="request-id"
)


def restore(
    raw: object,
    kwargs: Mapping[str, object],
    client: object,
    *,
    method: str,
    is_async: bool,
    ending: BaseException | None = None,
) -> object:
    """Rebuilds what `client.method(**kwargs)` returned from `raw`; for `stream`, the stream that its helper reads.

    See `stainless.restore`.  Raises CannotRestore.
    """
    streamed = method == "stream" or kwargs.get("stream") is True
    if method == "stream":
        kwargs = {key: value for key, value in kwargs.items() if key != "output_format"} | {"stream": True}
        method = "create"
    return stainless.restore(
        raw, _form_of(client), kwargs, client, method=method, streamed=streamed, is_async=is_async, ending=ending
    )


def _form_of(resource: object) -> AnswerForm:
    modules_of = [kind.__module__ for kind in type(resource).__mro__]
    return _BETA_FORM if any("beta" in name for name in modules_of) else _MESSAGE_FORM


# Defaults for a call without a recorded answer: one that was in doubt.
_DEFAULTS = {"id": "msg_playhead", "type": "message", "role": "assistant"}
# True of the recorded answer only, so not copied.
_RECORDED_KEYS_REPLACED = {"content", "usage", "stop_reason", "stop_sequence", "stop_details", "stream"}


def with_message(recorded: object, message: Any, *, model: str, streamed: bool) -> Json:
    """Returns the recorded answer with this message: a text, a list of blocks, or a message in Anthropic's form."""
    fields: Mapping[str, Any] = message
    if not isinstance(message, Mapping):
        fields = {"content": message}
    content = fields.get("content")
    blocks: list[JsonValue] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    calls = any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)
    answer: Json = {
        **_DEFAULTS,
        "model": model,
        **recorded_metadata(recorded, _RECORDED_KEYS_REPLACED, joined_message),
    }
    answer |= {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    answer["usage"] = {"input_tokens": 0, "output_tokens": 0}
    answer |= {**fields, "content": blocks}
    return {"stream": [*events_of(answer)]} if streamed else answer
