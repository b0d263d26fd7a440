"""Coding agents: spans of Claude Code and Gemini CLI, and content that these, Codex and qwen-code write to spans and
log records under names that have another meaning elsewhere. `lift.records` reads the rest of their log records.

Gemini CLI gives each call its own trace; `lift.records` moves these spans into the run of their session.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from playhead.dialect import google_genai
from playhead.lift.extraction import ExtractedContent, extract_input, extract_value, json_or_text, set_ref_attribute
from playhead.lift.oversize import move_values
from playhead.model import names
from playhead.model.json_value import JsonValue, object_of, text_at, value_at
from playhead.model.message import Message
from playhead.model.span import Attributes

NAME = "coding_agents"
PREFIXES = frozenset({
    "gen_ai", "span", "event", "user_prompt", "full_command", "prompt", "new_context", "system_prompt", "response",
    "tool_input", "tool_result", "tool_parameters", "message", "arguments", "output", "function_args", "content",
    "request_text", "response_text", "diff", "playhead",
})  # fmt: skip
ALIASES: Mapping[str, str] = {"gen_ai.tool.call_id": names.TOOL_CALL_ID}
_AGENTS: Final = ("claude_code", "codex", "gemini_cli", "gemini-cli", "qwen-code", "qwen_code")
_CONTENTS: Final[Mapping[str, str]] = {
    "user_prompt": names.INPUT_REF,
    "prompt": names.INPUT_REF,
    "prompt_text": "prompt_text_ref",
    "new_context": names.INPUT_REF,
    "system_prompt": names.SYSTEM_INSTRUCTIONS_REF,
    "response": names.OUTPUT_REF,
    "response.model_output": names.OUTPUT_REF,
    "request_text": names.INPUT_REF,
    "response_text": names.OUTPUT_REF,
    "tool_input": names.TOOL_ARGUMENTS_REF,
    "tool_parameters": "tool_parameters_ref",
    "function_args": names.TOOL_ARGUMENTS_REF,
    "arguments": names.TOOL_ARGUMENTS_REF,
    "full_command": names.TOOL_ARGUMENTS_REF,
    "bash_command": "bash_command_ref",
    "tool_result": names.TOOL_RESULT_REF,
    "output": names.TOOL_RESULT_REF,
    "content": names.TOOL_RESULT_REF,
    "diff": "diff_ref",
    "message": names.INPUT_REF,
    "body": "body_ref",
    names.LOG_BODY: names.LOG_BODY + names.REF_SUFFIX,
}
_SPAN_TYPE: Final = "span.type"
# Span types of Claude Code; its other types are parts of these.
_KINDS: Final = {"interaction": "agent", "llm_request": "llm", "tool": "tool"}
_GEMINI_KINDS: Final = {"llm_call": "llm", "tool_call": "tool", "agent_call": "agent"}
_GEMINI: Final = "gemini-cli"
# The event on a tool's span with which Claude Code records the tool's output.
TOOL_OUTPUT: Final = "tool.output"
_OUTPUTS: Final = ("output", "content", "diff")
_COMMANDS: Final = ("process.command_args", "process.command_line")
_INPUT_TOKENS: Final = ("input_tokens", "cache_read_tokens", "cache_creation_tokens")
_TOKENS: Final = {
    "output_tokens": names.OUTPUT_TOKENS,
    "cache_read_tokens": names.CACHE_READ_TOKENS,
    "cache_creation_tokens": names.CACHE_WRITE_TOKENS,
}


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by the type of a span, the name of an event, or the agent's name."""
    named = (attributes.get(_SPAN_TYPE), attributes.get("event.name"), attributes.get(names.AGENT_NAME))
    return (
        names.LOG_PART in attributes
        or any(isinstance(name, str) and name.startswith(_AGENTS) for name in named)
        or (isinstance(named[0], str) and named[0].partition(".")[0] in _KINDS)
    )


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from Claude Code's `span.type`, or from Gemini CLI's own operations."""
    value = attributes.get(_SPAN_TYPE)
    if isinstance(value, str):
        return _KINDS.get(value.removeprefix("claude_code."))
    if attributes.get(names.AGENT_NAME) == _GEMINI:
        return _GEMINI_KINDS.get(str(attributes.get(names.OPERATION)))
    return None


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves Gemini's messages into threads, and all other content to refs, under our name for it or its own name."""
    if attributes.get(names.AGENT_NAME) == _GEMINI:
        _extract_gemini(attributes, kind, contents)
    for key, ours in _CONTENTS.items():
        if key in attributes:
            extract_value(attributes, ours, attributes.pop(key), key, contents)
    if isinstance(attributes.get(_SPAN_TYPE), str):
        if kind == "agent":
            attributes.setdefault(names.AGENT_NAME, "claude-code")
        add_tokens(attributes)


def extract_event(name: str, attributes: Attributes, contents: ExtractedContent, onto: Attributes) -> None:
    """Moves a tool's output out of an event on its span, in place, and sets the ref on the span (`onto`), too."""
    if name != TOOL_OUTPUT:
        return
    for key in (*_OUTPUTS, "bash_command"):
        if key in attributes:
            ours = names.TOOL_RESULT_REF if key in ("output", "content") else key + names.REF_SUFFIX
            extract_value(attributes, ours, attributes.pop(key), key, contents)
    if names.TOOL_RESULT_REF in attributes:
        onto.setdefault(names.TOOL_RESULT_REF, attributes[names.TOOL_RESULT_REF])


def without_commands(resource: Attributes, contents: ExtractedContent) -> Attributes:
    """Returns the resource of a coding agent without its command line, which may hold a prompt. Other resources stay
    unchanged."""
    if not str(resource.get("service.name", "")).startswith(_AGENTS) and not _is_node_agent(resource):
        return resource
    return move_values(resource, [key for key in _COMMANDS if key in resource], contents)


def _is_node_agent(resource: Attributes) -> bool:
    """Whether the process is Gemini CLI, by its command line: its user can choose the service's name."""
    return any(isinstance(part, str) and "gemini" in part for part in _listed(resource.get("process.command_args")))


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list | tuple) else ()


def add_tokens(attributes: Attributes) -> None:
    """Copies Claude Code's token counts to our names. Its input tokens exclude those of the cache; ours include
    them."""
    if type(attributes.get("input_tokens")) is int:
        read = [value for key in _INPUT_TOKENS if type(value := attributes.get(key)) is int]
        attributes.setdefault(names.INPUT_TOKENS, sum(read))
    for theirs, ours in _TOKENS.items():
        if type(attributes.get(theirs)) is int:
            attributes.setdefault(ours, attributes[theirs])


def model_answer(natives: JsonValue) -> Message | None:
    """Joins the contents of a Gemini model's stream into its answer. Returns None if the value is not a list of
    contents."""
    if not isinstance(natives, list) or not natives:
        return None
    parts: list[JsonValue] = []
    for native in natives:
        native_parts = value_at(native, "parts")
        if not isinstance(native_parts, list):
            return None
        for part in native_parts:
            _add_part(parts, part)
    return google_genai.output_message({"role": "model", "parts": parts})[0] if parts else None


def _add_part(parts: list[JsonValue], part: JsonValue) -> None:
    """Appends a part; joins a text directly to a text before it."""
    if parts and _is_text(parts[-1]) and _is_text(part):
        parts[-1] = {"text": text_at(parts[-1], "text") + text_at(part, "text")}
    else:
        parts.append(part)


def _is_text(part: JsonValue) -> bool:
    fields = object_of(part)
    return fields.keys() == {"text"} and isinstance(fields["text"], str)


def _extract_gemini(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves the contents of a model call in Gemini's form, or a tool's arguments and result."""
    input_value, output_value = attributes.pop(names.INPUT_MESSAGES, None), attributes.pop(names.OUTPUT_MESSAGES, None)
    if kind == "llm":
        attributes.setdefault(names.PROVIDER, "gcp.gemini")
        _extract_contents(attributes, input_value, output_value, contents)
    elif kind == "tool":
        extract_value(attributes, names.TOOL_ARGUMENTS_REF, _inner(input_value, "args"), names.INPUT_MESSAGES, contents)
        result = _inner(_inner(output_value, "response"), "resultDisplay")
        extract_value(attributes, names.TOOL_RESULT_REF, result, names.OUTPUT_MESSAGES, contents)
    else:
        extract_value(attributes, names.INPUT_REF, input_value, names.INPUT_MESSAGES, contents)
        extract_value(attributes, names.OUTPUT_REF, output_value, names.OUTPUT_MESSAGES, contents)


def _extract_contents(
    attributes: Attributes, input_value: JsonValue, output_value: JsonValue, contents: ExtractedContent
) -> None:
    extract_input(attributes, input_value, names.INPUT_MESSAGES, contents, model=True)
    try:
        answer = model_answer(json_or_text(output_value))
    except ValueError:
        answer = None
    if answer is not None:
        set_ref_attribute(attributes, names.OUTPUT_MESSAGES_REF, contents.thread([answer]), names.OUTPUT_MESSAGES)
    else:
        extract_value(attributes, names.OUTPUT_REF, output_value, names.OUTPUT_MESSAGES, contents)


def _inner(value: JsonValue, key: str) -> JsonValue:
    """Returns the value under this key; the whole value if it has no such key."""
    try:
        read = json_or_text(value)
    except ValueError:
        return value
    return read.get(key, read) if isinstance(read, dict) else read
