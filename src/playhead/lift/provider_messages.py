"""Reads one message in any form of a provider or framework into our form.

A form is recognised by keys that only it has; an ambiguous message is read as Chat Completions, which most frameworks
write. Messages of LangChain and of the Vercel AI SDK, and Bedrock's blocks as Strands writes them for every model, are
read as the Chat Completions messages that are sent for them.
"""

from collections.abc import Iterable
from typing import Any, Final, cast

from playhead.dialect import anthropic, google_genai, openai_chat, openai_responses, otel_genai
from playhead.dialect.parts import extra_of
from playhead.model.canonical import canonical_json, parse_bounded
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_of, objects_of, text_at, value_at
from playhead.model.message import Message, Part

_RESPONSES_ITEMS: Final = frozenset({
    "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning", "compaction",
})  # fmt: skip
_ANTHROPIC_BLOCKS: Final = frozenset({
    "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result",
    "mcp_tool_use", "mcp_tool_result", "compaction", "container_upload",
})  # fmt: skip
_RESPONSES_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
# Telemetry that does not know whether a message has tool calls writes an empty list or null for them.
_CHAT_KEYS: Final = frozenset({"content", "tool_calls", "function_call", "refusal"})


def to_messages(natives: JsonValue) -> list[Message] | None:
    """Returns the messages of a list; None if an element is not a message."""
    if not isinstance(natives, list | tuple):
        return None
    listed = [plain_chat(native) for native in objects_of([*natives])]
    if listed and len(listed) == len(natives):
        if (chats := _bedrock_chats(listed)) is not None:
            return canonical_messages(map(openai_chat.to_message, chats))
        if any(is_anthropic(native) for native in listed):
            return canonical_messages(anthropic.to_messages(listed))
        if any(is_vercel(native) for native in listed):
            return canonical_messages(
                openai_chat.to_message(chat) for native in listed for chat in vercel_to_chat(native)
            )
    messages: list[Message] = []
    for native in natives:
        message = to_message(native)
        if message is None:
            return None
        messages.append(message)
    return canonical_messages(messages)


def to_message(native: JsonValue) -> Message | None:
    """Returns the message in canonical form; None if it is not a message."""
    if not isinstance(native, dict):
        return None
    return _read_message(native, answer=False)[0]


def to_answer(native: JsonValue) -> tuple[Message | None, JsonValue]:
    """Returns a model's answer without its reasoning (None: it is not a message), and the reasoning (None: there is
    none)."""
    if not isinstance(native, dict):
        return None, None
    return _read_message(native, answer=True)


def _read_message(native: Json, *, answer: bool) -> tuple[Message | None, JsonValue]:
    native = plain_chat(native)
    message = langchain_to_message(native)
    if message is not None:
        return message, None
    dialect = _dialect_of(native, answer=answer)
    if dialect is None:
        return None, None
    return dialect.output_message(native) if answer else (dialect.to_message(native), None)


def is_anthropic(native: JsonMapping) -> bool:
    """Whether a message has blocks, or a `stop_reason`, that only Anthropic's messages have."""
    content = native.get("content")
    return "stop_reason" in native or (isinstance(content, list) and any(map(_is_anthropic_block, content)))


def _is_anthropic_block(native: JsonValue) -> bool:
    if not isinstance(native, dict):
        return False
    kind = native.get("type")
    return (
        (isinstance(kind, str) and kind in _ANTHROPIC_BLOCKS)
        or "cache_control" in native
        or isinstance(native.get("source"), dict)
    )


def _dialect_of(native: JsonMapping, *, answer: bool) -> Any:
    parts = native.get("parts")
    if isinstance(parts, list):
        typed = any(isinstance(part, dict) and "type" in part for part in parts)
        return otel_genai if typed or not parts or native.get("role") in ("assistant", "system") else google_genai
    if is_anthropic(native):
        return anthropic
    kind = native.get("type")
    if isinstance(kind, str) and (
        kind in _RESPONSES_ITEMS or (kind == "message" and _has_responses_parts(native.get("content")))
    ):
        return openai_responses
    if _has_responses_parts(native.get("content")):
        return openai_responses
    if isinstance(native.get("role"), str) or (answer and not _CHAT_KEYS.isdisjoint(native)):
        return openai_chat
    return None


def _has_responses_parts(content: JsonValue) -> bool:
    if not isinstance(content, list):
        return False
    kinds = [part.get("type") for part in content if isinstance(part, dict)]
    return any(isinstance(kind, str) and kind in _RESPONSES_PARTS for kind in kinds)


# --- LangChain's messages ---------------------------------------------------------------------------------------------


_LANGCHAIN_ROLES = {
    "human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function",
    "HumanMessageChunk": "user", "AIMessageChunk": "assistant",
}  # fmt: skip
_LANGCHAIN_CLASSES = {
    "HumanMessage": "human", "HumanMessageChunk": "human", "AIMessage": "ai", "AIMessageChunk": "ai",
    "SystemMessage": "system", "SystemMessageChunk": "system", "ToolMessage": "tool", "ToolMessageChunk": "tool",
    "FunctionMessage": "function",
}  # fmt: skip


def langchain_fields(native: JsonMapping) -> tuple[str, JsonMapping] | None:
    """Returns the type of a message and its fields; None for any other object.

    LangChain writes messages as serialised objects (`lc`), as their dumps (`type`, `data`), and as plain fields.
    """
    kwargs, data, kind = native.get("kwargs"), native.get("data"), native.get("type")
    if native.get("lc") == 1 and isinstance(kwargs, dict) and isinstance(path := native.get("id"), list):
        named = _LANGCHAIN_CLASSES.get(text_at(path, -1))
        return None if named is None else (named, kwargs)
    if not isinstance(kind, str) or kind not in _LANGCHAIN_ROLES:
        return None
    if isinstance(data, dict):
        return kind, data
    return (kind, native) if "content" in native else None


def langchain_to_message(native: JsonMapping) -> Message | None:
    """Returns the message in canonical form; None if it is not a LangChain message. LangChain's own ids and response
    metadata are left out: they are not in the conversation."""
    read = langchain_fields(native)
    if read is None:
        return None
    kind, fields = read
    role = _LANGCHAIN_ROLES[kind]
    chat: Json = {"role": role}
    content = fields.get("content")
    calls = fields.get("tool_calls") or value_at(fields.get(_ADDITIONAL), "tool_calls")
    if content or not calls:
        chat["content"] = content
    if role == "tool":
        chat["tool_call_id"] = fields.get("tool_call_id")
    elif isinstance(fields.get("name"), str):
        chat["name"] = fields["name"]
    if isinstance(calls, list) and calls:
        chat["tool_calls"] = [_langchain_call(call) for call in calls]
    return openai_chat.to_message(chat)


def _langchain_call(call: JsonValue) -> JsonValue:
    if not isinstance(call, dict) or "args" not in call:
        return _plain_call(call)
    arguments = canonical_json(call.get("args")).decode("utf-8", "replace")
    return {"id": call.get("id"), "type": "function", "function": {"name": call.get("name"), "arguments": arguments}}


# --- Chat Completions as telemetry writes them ------------------------------------------------------------------------


_ADDITIONAL: Final = "additional_kwargs"  # LangChain's place for what its messages have no field for
_PROMOTED: Final = ("tool_calls", "function_call", "refusal", "reasoning_content")
# Fields of an event that is kept as a message. The last one holds the whole message as JSON text (Semantic Kernel).
_EVENT, _OF_EVENTS, EVENT_CONTENT = "event.name", "gen_ai.", "gen_ai.event.content"
_CALL_KEYS: Final = frozenset({"function", "id", "type"})
_CALLS_OF_FRAMEWORKS: Final = frozenset({"args", "toolName"})  # LangChain's and the AI SDK's tool calls
_SCHEMAS: Final = frozenset({"input_schema", "parameters"})  # of tools' definitions that have a name
_DECLARED: Final = frozenset({"toolSpec", "functionDeclarations", "function_declarations"})
_MESSAGE: Final = "message"
_OTHER_ROLES: Final = {"human": "user", "ai": "assistant"}
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function", "model", *_OTHER_ROLES})


def plain_chat(native: Json) -> Json:
    """Returns a message of Chat Completions without what telemetry adds to it or writes otherwise; any other message
    unchanged. Tool calls are in the provider's form, and not under `additional_kwargs`, nor the content of a message of
    role `tool`. Fields of events are left out, and so are the keys that OpenInference puts around each element of a
    list."""
    native = _with_usual_role(_without_surroundings(native))
    if not isinstance(native.get("role"), str):
        return native
    is_langchain = _ADDITIONAL in native
    if is_langchain:
        native = _with_promoted(native)
    calls, content = list_in(native.get("tool_calls")), native.get("content")
    if isinstance(calls, list) and calls:
        if not all(map(_is_plain_call, calls)):
            is_langchain = is_langchain or not _CALLS_OF_FRAMEWORKS.isdisjoint(object_of(calls[0]))
            native = {**native, "tool_calls": [_chat_call(call) for call in calls]}
        elif calls is not native["tool_calls"]:
            native = {**native, "tool_calls": calls}
        return _without_repeated_calls(native) if is_langchain else native
    if native["role"] == "tool" and isinstance(content, list) and content and all(map(_is_call, content)):
        return {"role": "assistant", "tool_calls": [_plain_call(call) for call in content]}
    return native


def _without_surroundings(native: Json) -> Json:
    inner = native.get(_MESSAGE)
    if isinstance(inner, dict) and len(native) == 1:
        native = _without_wrappers(inner)
    is_event = any(key == _EVENT or key.startswith(_OF_EVENTS) for key in native)
    return _without_event(native) if is_event else native


def _with_usual_role(native: Json) -> Json:
    role = native.get("role")
    if _ADDITIONAL in native and _is_result(native):
        return {**native, "role": "tool"}
    return {**native, "role": _OTHER_ROLES[role]} if isinstance(role, str) and role in _OTHER_ROLES else native


def _is_result(native: JsonMapping) -> bool:
    """Whether a message is a tool's result as LangChain's callbacks for Langfuse write it in JavaScript: its role is
    the tool's name, or absent."""
    role, additional = native.get("role"), native[_ADDITIONAL]
    is_named = role is None or (isinstance(role, str) and role not in _ROLES)
    return is_named and "content" in native and isinstance(additional, dict) and additional.keys() <= {"name"}


def _without_wrappers(fields: JsonMapping) -> Json:
    """Returns a message of OpenInference's nested attributes in the form of Chat Completions."""
    plain: Json = {key: value for key, value in fields.items() if key != "contents"}
    contents, calls = fields.get("contents"), fields.get("tool_calls")
    if isinstance(contents, list) and "content" not in fields:
        parts = [value_at(each, "message_content") or each for each in contents]
        is_text = len(parts) == 1 and object_of(parts[0]).keys() == {"type", "text"} and _part_type(parts[0]) == "text"
        plain["content"] = value_at(parts[0], "text") if is_text else parts
    if isinstance(calls, list):
        plain["tool_calls"] = [{"type": "function", **object_of(value_at(call, "tool_call") or call)} for call in calls]
    return plain


def list_in(value: JsonValue) -> JsonValue:
    """Returns the list of objects that a JSON text holds, as Langfuse's server keeps the AI SDK's tool calls and
    Strands' blocks; any other value unchanged."""
    if not isinstance(value, str) or not value.startswith("[{"):
        return value
    try:
        return parse_bounded(value)
    except ValueError:
        return value


def _chat_call(call: JsonValue) -> JsonValue:
    """Returns a tool call in the form of Chat Completions, from that of LangChain, of the AI SDK, or of OpenLLMetry's
    attributes."""
    if isinstance(call, dict) and "toolName" in call:
        return tool_call(call)
    if isinstance(call, dict) and "function" not in call and "arguments" in call and isinstance(call.get("name"), str):
        function = {"name": call["name"], "arguments": call["arguments"]}
        return _plain_call({"id": call.get("id"), "type": "function", "function": function})
    return _langchain_call(call)


def _without_repeated_calls(native: Json) -> Json:
    """Returns a message of LangChain without the blocks of its content that are tool calls, and without a content that
    is empty then."""
    content = native.get("content")
    if isinstance(content, list):
        content = [part for part in content if _part_type(part) != "tool_use"]
        if len(content) == 1 and _part_type(content[0]) == "text":
            content = value_at(content[0], "text")
    rest = {key: value for key, value in native.items() if key != "content"}
    return {**rest, "content": content} if content else rest


def _without_event(native: Json) -> Json:
    text = native.get(EVENT_CONTENT)
    if isinstance(text, str):
        try:
            fields = object_of(parse_bounded(text))
        except ValueError:
            return native
        fields = object_of(fields.get("message")) or fields
        role = fields.get("role")
        return {**fields, "role": role.lower() if isinstance(role, str) else native.get("role")}
    return {key: value for key, value in native.items() if key != _EVENT and not key.startswith(_OF_EVENTS)}


def _with_promoted(native: Json) -> Json:
    """Moves known fields of `additional_kwargs` to the message, and leaves out those that the message has."""
    additional = object_of(native[_ADDITIONAL])
    plain = {key: value for key, value in native.items() if key != _ADDITIONAL}
    calls = plain.get("tool_calls") or additional.get("tool_calls")
    for key in _PROMOTED:
        value = additional.get(key)
        if value is not None and not plain.get(key) and not (key == "function_call" and calls):
            plain[key] = value
    rest: Json = {
        key: value for key, value in additional.items() if key not in (*_PROMOTED, "name") and value is not None
    }
    if rest:
        plain[_ADDITIONAL] = rest
    return plain


def _is_plain_call(call: JsonValue) -> bool:
    return isinstance(value_at(value_at(call, "function"), "arguments"), str) or value_at(call, "type") == "custom"


def _is_call(value: JsonValue) -> bool:
    return isinstance(value, dict) and value.keys() == _CALL_KEYS and value["type"] == "function"


def _plain_call(call: JsonValue) -> JsonValue:
    """Returns a tool call with its arguments as JSON text. Exports of Langfuse have them parsed."""
    function = value_at(call, "function")
    if not isinstance(call, dict) or not isinstance(function, dict):
        return call
    arguments = function.get("arguments")
    if arguments is None or isinstance(arguments, str):
        return call
    text = canonical_json(arguments).decode("utf-8", "replace")
    return {**call, "function": {**function, "arguments": text}}


def tool_definition(native: JsonValue) -> JsonValue:
    """Returns the definition of a tool, in any provider's form, that LangChain's callbacks for Langfuse write as a
    message of role `tool`; None for any other value."""
    content = object_of(value_at(native, "content"))
    if value_at(native, "role") != "tool" or value_at(native, "tool_call_id") is not None:
        return None
    is_function = content.get("type") == "function" and isinstance(content.get("function"), dict)
    is_named = isinstance(content.get("name"), str) and not _SCHEMAS.isdisjoint(content)
    return content if is_function or is_named or not _DECLARED.isdisjoint(content) else None


# --- Bedrock's content blocks -----------------------------------------------------------------------------------------


_BEDROCK_BLOCKS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "cachePoint"})


def bedrock_to_chat(role: str, blocks: JsonValue) -> list[Json] | None:
    """Returns the messages for a list of blocks (`{"text": ...}`, `{"toolUse": ...}`, `{"toolResult": ...}`), which are
    recognised by their single key; None for any other value. Each tool result becomes a message of its own."""
    listed = objects_of(blocks)
    if not isinstance(blocks, list) or not blocks or len(listed) != len(blocks):
        return None
    if not all(len(block) == 1 and _BEDROCK_BLOCKS.issuperset(block) for block in listed):
        return None
    results = [_bedrock_result(block["toolResult"]) for block in listed if "toolResult" in block]
    native: Json = {"role": "assistant" if role == "assistant" else "user" if role == "tool" else role}
    content = [_bedrock_content(block) for block in listed if "toolUse" not in block and "toolResult" not in block]
    calls = [_bedrock_call(block["toolUse"]) for block in listed if "toolUse" in block]
    if len(content) == 1 and content[0].get("type") == "text" and len(content[0]) == 2:
        native["content"] = content[0]["text"]
    elif content:
        native["content"] = [*content]
    if calls:
        native["tool_calls"] = [*calls]
    return [*results, native] if content or calls else results


def _bedrock_chats(natives: list[Json]) -> list[Json] | None:
    """Returns the messages for a list of messages that all have Bedrock's blocks, as lists or as JSON text (events of
    Strands, as Langfuse keeps them); None for any other list."""
    chats: list[Json] = []
    for native in natives:
        role, blocks = native.get("role"), native.get("content")
        chat = bedrock_to_chat(role, list_in(blocks)) if isinstance(role, str) else None
        if chat is None:
            return None
        chats += chat
    return chats


def _bedrock_content(block: Json) -> Json:
    return (
        {"type": "text", "text": block["text"]} if isinstance(block.get("text"), str) else {"type": "bedrock", **block}
    )


def _bedrock_call(use: JsonValue) -> Json:
    fields = object_of(use)
    arguments = canonical_json(fields.get("input")).decode("utf-8", "replace")
    function = {"name": fields.get("name"), "arguments": arguments}
    return {"id": fields.get("toolUseId"), "type": "function", "function": function}


def _bedrock_result(result: JsonValue) -> Json:
    fields = object_of(result)
    return {"role": "tool", "tool_call_id": fields.get("toolUseId"), "content": only_text(fields.get("content"))}


def only_text(content: JsonValue) -> JsonValue:
    """Returns the text of a list with a single text block; any other value unchanged."""
    if isinstance(content, list) and len(content) == 1:
        only: JsonValue = content[0]
        if isinstance(only, dict) and only.keys() == {"text"}:
            return only["text"]
    return content


# --- messages of the Vercel AI SDK ------------------------------------------------------------------------------------


_VERCEL_TOOL_PARTS: Final = frozenset({"tool-call", "tool-result"})


def is_vercel(native: JsonMapping) -> bool:
    """Whether a message has parts that only the Vercel AI SDK writes."""
    content = native.get("content")
    return isinstance(content, list) and any(_part_type(part) in _VERCEL_TOOL_PARTS for part in content)


def vercel_to_chat(native: JsonMapping) -> list[Json]:
    """Returns the messages that the SDK sends to the provider: one per tool result, and one for the other parts, in
    which a single text becomes a plain string."""
    role, content = native.get("role"), native.get("content")
    if not isinstance(content, list):
        return [{"role": role, "content": content}]
    parts = [part for part in content if isinstance(part, dict)]
    results = [_vercel_result(part) for part in parts if _part_type(part) == "tool-result"]
    calls = [tool_call(part) for part in parts if _part_type(part) == "tool-call"]
    texts = [part for part in parts if _part_type(part) not in _VERCEL_TOOL_PARTS]
    chat: Json = {"role": role}
    if len(texts) == 1 and _part_type(texts[0]) == "text":
        chat["content"] = texts[0].get("text")
    elif texts:
        chat["content"] = [*texts]
    if calls:
        chat["tool_calls"] = [*calls]
    return [*results, chat] if texts or calls else results


def tool_call(part: JsonMapping) -> Json:
    """Returns a tool call in the form of Chat Completions."""
    value = part.get("input", part.get("args"))
    arguments = value if isinstance(value, str) else canonical_json(value).decode("utf-8", "replace")
    function = {"name": part.get("toolName"), "arguments": arguments}
    return {"id": part.get("toolCallId"), "type": "function", "function": function}


def _vercel_result(part: JsonMapping) -> Json:
    output: JsonValue = part.get("output", part.get("result"))
    if isinstance(output, dict) and "value" in output:  # {"type": "text", "value": ...}
        output = output["value"]
    if not isinstance(output, str):
        output = canonical_json(output).decode("utf-8", "replace")
    return {"role": "tool", "tool_call_id": part.get("toolCallId"), "content": output}


def _part_type(part: JsonValue) -> str | None:
    kind = value_at(part, "type")
    return kind if isinstance(kind, str) else None


# --- what telemetry adds to messages ----------------------------------------------------------------------------------


_SPELLINGS = ("encoded", "key")
_RESULT_TYPE = "tool_call_response"


def canonical_messages(messages: Iterable[Message]) -> list[Message]:
    """Returns the messages as they were sent to the provider, as far as that is known, so that one conversation has one
    thread.

    Removes what telemetry adds: whether a tool's arguments were text or structured, the key of a tool's result, and the
    tool's name in it. Several tool results in one message become one message each, of role `tool`.
    """
    result: list[Message] = []
    for message in messages:
        parts = message["parts"]
        if any(part.get("type") == _RESULT_TYPE or "extra" in part for part in parts):
            result += _split_results(message, [_without_additions(part) for part in parts])
        else:
            result.append(message)
    return result


def _without_additions(part: Part) -> Part:
    extra = extra_of(part)
    spelled = any(key in extra for key in _SPELLINGS)
    named = part.get("type") == _RESULT_TYPE and "name" in part
    if not spelled and not named and not (part.get("type") == _RESULT_TYPE and isinstance(part.get("response"), list)):
        return part
    plain = {key: value for key, value in part.items() if key != "extra" and not (named and key == "name")}
    if part.get("type") == _RESULT_TYPE and "response" in part:
        plain["response"] = only_text(part.get("response"))
    rest = {key: value for key, value in extra.items() if key not in _SPELLINGS}
    return {**plain, "extra": rest} if rest else plain


def _split_results(message: Message, parts: list[Part]) -> list[Message]:
    """Splits a message into one per tool result and one for the other parts."""
    others = [part for part in parts if part.get("type") != _RESULT_TYPE]
    results = [part for part in parts if part.get("type") == _RESULT_TYPE]
    if message["role"] not in ("user", "tool") or not results or (len(parts) == 1 and message["role"] == "tool"):
        return [cast(Message, {**message, "parts": parts})]
    beyond = {key: value for key, value in message.items() if key not in ("role", "parts")}
    split: list[Message] = [cast(Message, {**beyond, "role": "tool", "parts": [part]}) for part in results]
    return [*split, cast(Message, {**message, "parts": others})] if others else split


# --- a tool's result --------------------------------------------------------------------------------------------------


def tool_result(value: JsonValue) -> tuple[str | None, JsonValue]:
    """Unwraps a tool's result from the LangChain message in which a framework puts it. Returns the id of the tool call
    and the result; (None, value) if the value is not such a message."""
    read: JsonValue = value
    if isinstance(value, str) and value.startswith("{"):
        try:
            read = parse_bounded(value)
        except ValueError:
            return None, value
    if not isinstance(read, dict):
        return None, value
    # OpenLLMetry wraps the message in the arguments of a callback.
    inner = read.get("output") if read.keys() <= {"output", "kwargs"} else read
    fields = langchain_fields(inner) if isinstance(inner, dict) else None
    if fields is None or fields[0] != "tool":
        return None, value
    call_id = fields[1].get("tool_call_id")
    return call_id if isinstance(call_id, str) else None, fields[1].get("content")
