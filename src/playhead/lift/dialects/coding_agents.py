"""Coding agents: the spans of Claude Code and Gemini CLI, and what content these, Codex and qwen-code write into spans
and log records under names that mean something else elsewhere.  What their log records tell is read by `lift.records`.

Gemini CLI gives each call a trace of its own; `lift.records` puts them into the run of their session.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from playhead.dialect import google_genai
from playhead.lift.found import LiftedContent
from playhead.lift.oversize import move
from playhead.lift.stamps import parsed, stamp, stamp_input, stamp_value
from playhead.model import names
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
# Claude Code's; its other types are parts of these.
_KINDS: Final = {"interaction": "agent", "llm_request": "llm", "tool": "tool"}
_GEMINI_KINDS: Final = {"llm_call": "llm", "tool_call": "tool", "agent_call": "agent"}
_GEMINI: Final = "gemini-cli"
# The event of a tool's span in which Claude Code tells what the tool gave.
TOOL_OUTPUT: Final = "tool.output"
_OUTPUTS: Final = ("output", "content", "diff")
_COMMANDS: Final = ("process.command_args", "process.command_line")
_INPUT_TOKENS: Final = ("input_tokens", "cache_read_tokens", "cache_creation_tokens")
_TOKENS: Final = {
    "output_tokens": names.OUTPUT_TOKENS,
    "cache_read_tokens": names.CACHE_READ_TOKENS,
    "cache_creation_tokens": names.CACHE_WRITE_TOKENS,
}


def speaks(attributes: Attributes) -> bool:
    """By the type of a span, the name of an event, or the agent."""
    named = (attributes.get(_SPAN_TYPE), attributes.get("event.name"), attributes.get(names.AGENT_NAME))
    return (
        names.LOG_PART in attributes
        or any(isinstance(each, str) and each.startswith(_AGENTS) for each in named)
        or (isinstance(named[0], str) and named[0].partition(".")[0] in _KINDS)
    )


def kind(attributes: Attributes) -> str | None:
    """By Claude Code's `span.type`, or by Gemini CLI's own operations."""
    value = attributes.get(_SPAN_TYPE)
    if isinstance(value, str):
        return _KINDS.get(value.removeprefix("claude_code."))
    if attributes.get(names.AGENT_NAME) == _GEMINI:
        return _GEMINI_KINDS.get(str(attributes.get(names.OPERATION)))
    return None


def take(attributes: Attributes, kind: str | None, found: LiftedContent) -> None:
    """Gemini's messages become threads; all other content becomes so under our name for it, or its own."""
    if attributes.get(names.AGENT_NAME) == _GEMINI:
        _take_gemini(attributes, kind, found)
    for key, ours in _CONTENTS.items():
        if key in attributes:
            stamp_value(attributes, ours, attributes.pop(key), key, found)
    if isinstance(attributes.get(_SPAN_TYPE), str):
        if kind == "agent":
            attributes.setdefault(names.AGENT_NAME, "claude-code")
        add_tokens(attributes)


def take_event(name: str, attributes: Attributes, found: LiftedContent, onto: Attributes) -> None:
    """Moves what a tool gave out of its span's event, in place, and tells the span (`onto`) of it."""
    if name != TOOL_OUTPUT:
        return
    for key in (*_OUTPUTS, "bash_command"):
        if key in attributes:
            ours = names.TOOL_RESULT_REF if key in ("output", "content") else key + names.REF_SUFFIX
            stamp_value(attributes, ours, attributes.pop(key), key, found)
    if names.TOOL_RESULT_REF in attributes:
        onto.setdefault(names.TOOL_RESULT_REF, attributes[names.TOOL_RESULT_REF])


def without_commands(resource: Attributes, found: LiftedContent) -> Attributes:
    """The resource of a coding agent without its command line, which may be a prompt; all others as given."""
    if not str(resource.get("service.name", "")).startswith(_AGENTS) and not _is_node_agent(resource):
        return resource
    return move(resource, [key for key in _COMMANDS if key in resource], found)


def _is_node_agent(resource: Attributes) -> bool:
    """Gemini CLI lets its user name the service."""
    return any(isinstance(part, str) and "gemini" in part for part in _listed(resource.get("process.command_args")))


def _listed(value: Any) -> Sequence[Any]:
    return cast(Sequence[Any], value) if isinstance(value, list | tuple) else ()


def add_tokens(attributes: Attributes) -> None:
    """Claude Code's counts under our names: its input tokens leave out those of the cache."""
    if type(attributes.get("input_tokens")) is int:
        read = [value for key in _INPUT_TOKENS if type(value := attributes.get(key)) is int]
        attributes.setdefault(names.INPUT_TOKENS, sum(read))
    for theirs, ours in _TOKENS.items():
        if type(attributes.get(theirs)) is int:
            attributes.setdefault(ours, attributes[theirs])


def model_answer(natives: Any) -> Message | None:
    """The answer of a Gemini model, of which a stream has given pieces; None for what is no list of contents."""
    if not isinstance(natives, list) or not natives:
        return None
    parts: list[Any] = []
    for native in cast(list[Any], natives):
        given = cast(dict[str, Any], native).get("parts") if isinstance(native, dict) else None
        if not isinstance(given, list):
            return None
        for part in cast(list[Any], given):
            _add_part(parts, part)
    return google_genai.output_message({"role": "model", "parts": parts})[0] if parts else None


def _add_part(parts: list[Any], part: Any) -> None:
    """Adds a part; a text follows the text before it without a break."""
    if parts and _is_text(parts[-1]) and _is_text(part):
        parts[-1] = {"text": parts[-1]["text"] + part["text"]}
    else:
        parts.append(part)


def _is_text(part: Any) -> bool:
    fields = cast(dict[str, Any], part) if isinstance(part, dict) else {}
    return fields.keys() == {"text"} and isinstance(fields["text"], str)


def _take_gemini(attributes: Attributes, kind: str | None, found: LiftedContent) -> None:
    """A model call's contents in Gemini's form, or a tool's request and response."""
    asked, gave = attributes.pop(names.INPUT_MESSAGES, None), attributes.pop(names.OUTPUT_MESSAGES, None)
    if kind == "llm":
        attributes.setdefault(names.PROVIDER, "gcp.gemini")
        _take_contents(attributes, asked, gave, found)
    elif kind == "tool":
        stamp_value(attributes, names.TOOL_ARGUMENTS_REF, _inner(asked, "args"), names.INPUT_MESSAGES, found)
        result = _inner(_inner(gave, "response"), "resultDisplay")
        stamp_value(attributes, names.TOOL_RESULT_REF, result, names.OUTPUT_MESSAGES, found)
    else:
        stamp_value(attributes, names.INPUT_REF, asked, names.INPUT_MESSAGES, found)
        stamp_value(attributes, names.OUTPUT_REF, gave, names.OUTPUT_MESSAGES, found)


def _take_contents(attributes: Attributes, asked: Any, gave: Any, found: LiftedContent) -> None:
    stamp_input(attributes, asked, names.INPUT_MESSAGES, found, model=True)
    try:
        answer = model_answer(parsed(gave))
    except ValueError:
        answer = None
    if answer is not None:
        stamp(attributes, names.OUTPUT_MESSAGES_REF, found.thread([answer]), names.OUTPUT_MESSAGES)
    else:
        stamp_value(attributes, names.OUTPUT_REF, gave, names.OUTPUT_MESSAGES, found)


def _inner(value: Any, key: str) -> Any:
    """The value under this key, or all of it where it has none."""
    try:
        read = parsed(value)
    except ValueError:
        return value
    return cast(dict[str, Any], read).get(key, read) if isinstance(read, dict) else read
