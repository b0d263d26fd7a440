"""LangChain's chat models: reads requests and answers, and rebuilds recorded answers as LangChain's own objects.

The wrapped methods are those that a model class implements (`_generate`, `_stream`), so that LangChain's own part of a
call, which calls callbacks and joins chunks, runs for recorded answers, too.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from playhead.capture.frameworks.chat import chat_request, chat_response
from playhead.capture.frameworks.model_calls import (
    FrameworkModelApi,
    observing_model,
    observing_model_async,
    observing_model_stream,
    observing_model_stream_async,
)
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.patching import WrapSubclasses
from playhead.capture.wrapping import MethodCall
from playhead.model import names
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    int_at,
    list_of,
    object_at,
    object_of,
    objects_at,
    objects_of,
    text_at,
    value_at,
)

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

T = TypeVar("T")

_POSITIONS = ("messages", "stop", "run_manager")
_NOT_SETTINGS = frozenset({"messages", "run_manager", "tools", "stop", "functions"})
_REASONING = frozenset({"thinking", "reasoning", "redacted_thinking"})


# --- requests ---------------------------------------------------------------------------------------------------------


def _read_request(call: MethodCall) -> ObservedRequest:
    arguments = call.arguments(*_POSITIONS)
    about: Mapping[str, object] = call.client._get_ls_params(stop=arguments.get("stop"), **_options(arguments))
    settings = {"temperature": about.get("ls_temperature"), "max_tokens": about.get("ls_max_tokens")}
    streams = call.method in ("_stream", "_astream")
    return chat_request(
        call.client,
        provider=str(about.get("ls_provider") or "langchain"),
        model_name=str(about.get("ls_model_name") or type(call.client).__name__),
        messages=chat_messages(arguments["messages"]),
        tools=arguments.get("tools") or arguments.get("functions"),
        settings=settings | _options(arguments) | {"stop": arguments.get("stop"), "stream": True if streams else None},
    )


def _options(arguments: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if name not in _NOT_SETTINGS}


def _with_messages(call: MethodCall, messages: list[JsonValue]) -> MethodCall:
    changed = langchain_messages(objects_of(messages))
    if call.args:
        return MethodCall(call.client, call.method, (changed, *call.args[1:]), call.kwargs, call.is_async)
    return call.with_kwargs({**call.kwargs, "messages": changed})


def langchain_messages(natives: Iterable[JsonMapping]) -> "list[BaseMessage]":
    """Converts messages of Chat Completions to LangChain's own objects."""
    from langchain_core.messages import convert_to_messages  # noqa: PLC0415 - imported by the program

    return convert_to_messages([{"content": "", **native} for native in natives])


def chat_messages(messages: "Iterable[BaseMessage]") -> list[Json]:
    """Converts LangChain's messages to the form of Chat Completions, without their ids, which differ in each run."""
    from langchain_core.messages.utils import convert_to_openai_messages  # noqa: PLC0415 - as above

    return [_plain(native) for native in convert_to_openai_messages(list(messages))]


def _plain(native: Json) -> Json:
    """Returns a message as LangChain's own OpenAI client sends it, with reasoning in `reasoning_content`."""
    if native.get("role") == "tool":
        native.pop("name", None)
    content = native.get("content")
    if content in ("", []) and native.get("tool_calls"):
        del native["content"]
    blocks = list_of(content)
    thoughts = [block for block in objects_of(blocks) if _kind(block) in _REASONING]
    if not thoughts:
        return native
    rest = [block for block in blocks if block not in thoughts]
    native["content"] = text_at(rest[0], "text") if len(rest) == 1 and _kind(rest[0]) == "text" else rest
    native["reasoning_content"] = "".join(
        str(thought.get("thinking") or thought.get("reasoning") or "") for thought in thoughts
    )
    return native


def _kind(block: JsonValue) -> JsonValue:
    return value_at(block, "type")


# --- answers ----------------------------------------------------------------------------------------------------------


def _dump(answer: "ChatResult") -> Json:
    """Converts a ChatResult to JSON values."""
    generations: list[JsonValue] = [_dump_generation(generation) for generation in answer.generations]
    about: dict[str, Any] | None = answer.llm_output
    return {"generations": generations, "llm_output": about}


def _dump_generation(generation: "ChatGeneration") -> Json:
    message = generation.message
    data: Json = message.model_dump(mode="json", warnings=False)
    # As texts: the record does not keep the order of keys, and a model must get its arguments back in its own order.
    data["tool_calls"] = [{**call, "args": json.dumps(call["args"])} for call in objects_at(data, "tool_calls")]
    about: dict[str, Any] | None = generation.generation_info
    return {"message": {"type": message.type, "data": data}, "generation_info": about}


def _load(raw: JsonValue) -> "ChatResult":
    from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415 - as above

    generations = [_loaded_generation(generation, ChatGeneration) for generation in objects_at(raw, "generations")]
    about = value_at(raw, "llm_output")
    return ChatResult(generations=generations, llm_output=about if isinstance(about, dict) else None)


def _load_chunk(raw: JsonValue) -> "ChatGenerationChunk":
    from langchain_core.outputs import ChatGenerationChunk  # noqa: PLC0415 - as above

    return _loaded_generation(object_of(raw), ChatGenerationChunk)


def _loaded_generation(raw: Json, kind: Callable[..., T]) -> T:
    from langchain_core.messages import messages_from_dict  # noqa: PLC0415 - as above

    recorded = object_at(raw, "message")
    data = object_at(recorded, "data")
    calls = [{**call, "args": json.loads(text_at(call, "args"))} for call in objects_at(data, "tool_calls")]
    [message] = messages_from_dict([{**recorded, "data": {**data, "tool_calls": calls}}])
    return kind(message=message, generation_info=raw.get("generation_info"))


def _read(raw: JsonValue) -> ObservedResponse | None:
    generations = objects_at(raw, "generations")
    if not generations:
        return None
    result = _load(raw)
    first, *others = chat_messages(generation.message for generation in result.generations)
    metadata = _metadata(generations[0], value_at(raw, "llm_output"))
    data = object_at(object_at(generations[0], "message"), "data")
    response = chat_response(
        raw,
        first,
        usage=_usage(object_at(data, "usage_metadata")),
        finish_reason=metadata.get("finish_reason") or metadata.get("stop_reason"),
        model_name=metadata.get("model_name") or metadata.get("model"),
        response_id=metadata.get("id"),
    )
    messages = [*response.messages, *(chat_response(raw, other).messages[0] for other in others)]
    return ObservedResponse(messages, raw, response.reasoning, response.attributes)


def _metadata(generation: Json, llm_output: JsonValue) -> dict[str, str]:
    """Returns the texts in the answer's metadata, which LangChain's models put into one of three dictionaries."""
    data = object_at(object_at(generation, "message"), "data")
    sources = (llm_output, generation.get("generation_info"), data.get("response_metadata"))
    texts: dict[str, str] = {}
    for source in sources:
        texts |= {key: value for key, value in object_of(source).items() if isinstance(value, str)}
    return texts


def _usage(usage: JsonMapping) -> dict[str, int | None]:
    into = object_at(usage, "input_token_details")
    out = object_at(usage, "output_token_details")
    return {
        names.INPUT_TOKENS: int_at(usage, "input_tokens", None),
        names.OUTPUT_TOKENS: int_at(usage, "output_tokens", None),
        names.CACHE_READ_TOKENS: int_at(into, "cache_read", None),
        names.CACHE_WRITE_TOKENS: int_at(into, "cache_creation", None),
        names.REASONING_TOKENS: int_at(out, "reasoning", None),
        names.AUDIO_INPUT_TOKENS: int_at(into, "audio") or None,
        names.AUDIO_OUTPUT_TOKENS: int_at(out, "audio") or None,
    }


def _from_message(message: JsonMapping, _call: MethodCall) -> Json:
    from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415 - as above

    [langchain_message] = langchain_messages([message])
    return _dump(ChatResult(generations=[ChatGeneration(message=langchain_message)]))


def _join(chunks: list[Json]) -> Json:
    from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415 - as above

    first, *others = [_load_chunk(chunk) for chunk in chunks]
    whole = first + others if others else first  # a chunk adds a list of chunks
    generation = ChatGeneration(message=whole.message, generation_info=whole.generation_info)
    return _dump(ChatResult(generations=[generation]))


def _split(raw: JsonValue) -> list[Json]:
    """Returns one chunk, with the whole message."""
    from langchain_core.messages import AIMessageChunk  # noqa: PLC0415 - as above
    from langchain_core.outputs import ChatGenerationChunk  # noqa: PLC0415 - as above

    message: Any = _load(raw).generations[0].message
    natives = objects_at(chat_messages([message])[0], "tool_calls")
    pieces: list[Any] = [
        {"name": call["name"], "args": object_at(native, "function")["arguments"], "id": call["id"], "index": index}
        for index, (call, native) in enumerate(zip(message.tool_calls, natives, strict=True))
    ]
    chunk = AIMessageChunk(content=message.content, tool_call_chunks=pieces)
    return [_dump_generation(ChatGenerationChunk(message=chunk))]


_WHOLE = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=_dump,
    load=_load,
    read=_read,
    from_message=_from_message,
)
_STREAMED = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=_dump_generation,
    load=_load_chunk,
    read=_read,
    from_message=_from_message,
    join=_join,
    split=_split,
)
CHAT_MODELS = (
    WrapSubclasses(
        "langchain_core.language_models.chat_models",
        "BaseChatModel",
        {
            "_generate": observing_model(_WHOLE),
            "_agenerate": observing_model_async(_WHOLE),
            "_stream": observing_model_stream(_STREAMED),
            "_astream": observing_model_stream_async(_STREAMED),
        },
    ),
)
