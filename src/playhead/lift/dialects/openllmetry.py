"""OpenLLMetry (Traceloop): workflows, tasks, agents and tools of its SDK, and the indexed form of its older packages.

Model calls of its newer packages are in OpenTelemetry's form. Those of older packages have `gen_ai.prompt.N...` and
`gen_ai.completion.N...`, which AgentOps writes, too. Others write the whole prompt and answer to `gen_ai.prompt` and
`gen_ai.completion`, as the conventions once did.
"""

from collections.abc import Mapping
from typing import Final

from playhead.dialect import openai_chat
from playhead.lift.extraction import (
    ExtractedContent,
    extract_answer,
    extract_input,
    extract_output,
    extract_request,
    extract_tools,
    extract_value,
    json_or_text,
    kind_from,
    set_ref_attribute,
)
from playhead.lift.indexed import pop_indexed_list
from playhead.lift.provider_bodies import AnswerBody, RequestBody
from playhead.lift.provider_messages import canonical_messages, tool_result
from playhead.model import names
from playhead.model.json_value import Json, JsonValue
from playhead.model.message import Message
from playhead.model.span import Attributes

NAME = "openllmetry"
PREFIXES = frozenset({"traceloop", "gen_ai", "llm", "mcp"})
_PROPERTIES: Final = "traceloop.association.properties."
ALIASES: Mapping[str, str] = {
    _PROPERTIES + "session_id": names.CONVERSATION,
    _PROPERTIES + "conversation_id": names.CONVERSATION,
    _PROPERTIES + "chat_id": names.CONVERSATION,
    _PROPERTIES + "thread_id": names.CONVERSATION,
    _PROPERTIES + "user_id": names.USER,
    "gen_ai.user": names.USER,
    "llm.user": names.USER,
    "llm.is_streaming": names.REQUEST_STREAM,
    "llm.usage.reasoning_tokens": names.REASONING_TOKENS,
    "gen_ai.response.finish_reason": names.FINISH_REASONS,
    "gen_ai.response.stop_reason": names.FINISH_REASONS,
    "llm.response.finish_reason": names.FINISH_REASONS,
    "llm.response.stop_reason": names.FINISH_REASONS,
}
_KIND, _TYPE = "traceloop.span.kind", "llm.request.type"
_KINDS: Final = {"workflow": "step", "task": "step", "agent": "agent", "tool": "tool"}
_TYPES: Final = {"chat": "llm", "completion": "llm", "embedding": "embedding", "rerank": "retriever"}
_PROMPT, _COMPLETION, _FUNCTIONS = "gen_ai.prompt", "gen_ai.completion", "llm.request.functions"
_OWN: Final = ("traceloop.", _PROMPT + ".", _COMPLETION + ".", _FUNCTIONS + ".")
_NOT_INDEXED: Final = "gen_ai.prompt.v"  # OpenTelemetry's variables and version of a prompt
_INPUT, _OUTPUT = "traceloop.entity.input", "traceloop.entity.output"
# Names that look like OpenTelemetry's, under which the same values are repeated.
_AGAIN: Final = {
    _INPUT: ("gen_ai.task.input", names.TOOL_ARGUMENTS),
    _OUTPUT: ("gen_ai.task.output", names.TOOL_RESULT),
}
# Arguments of callbacks other than the value.
_AROUND: Final = frozenset({"tags", "metadata", "kwargs"})
_VALUES: Final = ("inputs", "input_str", "outputs", "output")
_CONTENTS: Final = (
    "traceloop.prompt.template", "traceloop.prompt.template_variables", "mcp.request.argument", "mcp.response.value",
    "gen_ai.request.structured_output_schema", "llm.headers", "gen_ai.headers",
)  # fmt: skip


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by its own names, or by indexed prompts and completions."""
    keys = [key for key in attributes if key.startswith(_OWN) or key in (*_CONTENTS, _PROMPT, _COMPLETION)]
    return any(not key.startswith(_NOT_INDEXED) for key in keys)


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `traceloop.span.kind`, or from the type of the request to a model."""
    return kind_from(attributes, _KIND, _KINDS) or kind_from(attributes, _TYPE, _TYPES)


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves indexed messages into threads, and input and output of entities to content."""
    for key, ours in ((_INPUT, names.INPUT_REF), (_OUTPUT, names.OUTPUT_REF)):
        if key in attributes:
            _extract_entity(attributes, key, ours, kind, contents)
    prompts, completions = pop_indexed_list(attributes, _PROMPT), pop_indexed_list(attributes, _COMPLETION)
    if prompts is not None:
        extract_request(attributes, RequestBody(canonical_messages(map(_message, prompts))), _PROMPT, contents)
    if completions is not None:
        extract_answer(attributes, _answer(completions), _COMPLETION, contents)
    _extract_whole(attributes, contents)
    functions = pop_indexed_list(attributes, _FUNCTIONS)
    if functions is not None:
        extract_tools(attributes, functions, _FUNCTIONS, contents)
    for name in _CONTENTS:
        if name in attributes:
            extract_value(attributes, name + names.REF_SUFFIX, attributes.pop(name), name, contents)
    _name(attributes, kind)


def _extract_entity(attributes: Attributes, key: str, ours: str, kind: str | None, contents: ExtractedContent) -> None:
    raw = attributes.pop(key)
    for other in _AGAIN[key]:
        if raw is not None and attributes.get(other) == raw:
            del attributes[other]
    try:
        value = json_or_text(raw)
    except ValueError:
        set_ref_attribute(attributes, ours, contents.keep_unparsed_text(key, raw), key)
        return
    if isinstance(value, dict):
        value = _unwrapped(value, attributes, contents)
    if kind == "tool" and key == _OUTPUT:
        call_id, value = tool_result(value)
        if call_id is not None:
            attributes.setdefault(names.TOOL_CALL_ID, call_id)
    if kind == "tool":
        ours = names.TOOL_ARGUMENTS_REF if key == _INPUT else names.TOOL_RESULT_REF
    set_ref_attribute(attributes, ours, contents.content(value), key)


def _unwrapped(value: Json, attributes: Attributes, contents: ExtractedContent) -> JsonValue:
    """Returns the value from a callback's arguments. The other arguments are stored as the span's metadata."""
    inner = next((name for name in _VALUES if value.get(name) is not None), None)
    if inner is None or not value.keys() <= {*_AROUND, *_VALUES}:
        return value
    around: Json = {name: argument for name, argument in value.items() if name in _AROUND and argument}
    if around:
        set_ref_attribute(attributes, names.RUN_METADATA_REF, contents.content(around), "traceloop.entity.metadata")
    return value[inner]


def _extract_whole(attributes: Attributes, contents: ExtractedContent) -> None:
    """Moves a whole prompt and a whole answer, each in one attribute."""
    for key, role, extract_body in ((_PROMPT, "user", extract_input), (_COMPLETION, "assistant", extract_output)):
        raw = attributes.pop(key, None)
        is_text = isinstance(raw, str) and not raw.startswith(("{", "[", '"'))
        body: JsonValue = [{"role": role, "content": raw}] if is_text and raw else raw
        extract_body(attributes, body, key, contents, model=True)


def _message(native: JsonValue) -> Message:
    return openai_chat.to_message(_chat(native))


def _answer(natives: list[JsonValue]) -> AnswerBody:
    chats = [_chat(native) for native in natives]
    read = [openai_chat.output_message(chat) for chat in chats]
    reasons = [native.get("finish_reason") for native in natives if isinstance(native, dict)]
    return AnswerBody(
        canonical_messages(message for message, _ in read),
        [reasoning for _, reasoning in read if reasoning is not None],
        [reason for reason in reasons if isinstance(reason, str)],
    )


def _chat(native: JsonValue) -> Json:
    """Returns the Chat Completions message that indexed attributes describe."""
    if not isinstance(native, dict):
        return {"role": None, "content": native}
    chat = {key: native[key] for key in ("role", "tool_call_id", "name") if key in native}
    if "content" in native:
        chat["content"] = _content(native["content"])
    calls = native.get("tool_calls")
    if isinstance(calls, list):
        chat["tool_calls"] = [_call(call) for call in calls]
    return chat


def _content(content: JsonValue) -> JsonValue:
    """Parses a list of parts, which is sent as JSON text. Returns any other content unchanged."""
    if not isinstance(content, str) or not content.startswith("[{"):
        return content
    try:
        value = json_or_text(content)
    except ValueError:
        return content
    return value if isinstance(value, list) else content


def _call(call: JsonValue) -> JsonValue:
    if not isinstance(call, dict) or "function" in call:
        return call
    function = {"name": call.get("name"), "arguments": call.get("arguments")}
    return {"id": call.get("id"), "type": "function", "function": function}


def _name(attributes: Attributes, kind: str | None) -> None:
    name = attributes.get("traceloop.entity.name")
    if isinstance(name, str) and kind in ("tool", "agent"):
        attributes.setdefault(names.TOOL_NAME if kind == "tool" else names.AGENT_NAME, name)
