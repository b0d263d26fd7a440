"""What single frameworks and agents write beside OpenTelemetry's names: attributes that are content, and what they are.

OpenLIT, Google ADK, Strands, Microsoft Agent Framework, Genkit, LiveKit; Claude Code, Codex, Gemini CLI and qwen-code.
A vendor that says more than content (messages in a form of its own, kinds, sessions) has a file of its own.
"""

from collections.abc import Mapping
from typing import Final

from playhead.lift.found import LiftedContent
from playhead.lift.stamps import stamp_value
from playhead.model import names
from playhead.model.span import Attributes

NAME = "vendors"
PREFIXES = frozenset({
    "gen_ai", "gcp", "genkit:input", "genkit:output", "lk", "flue", "workflow", "user_prompt", "full_command", "prompt",
    "span", "new_context", "system_prompt", "response", "tool_input", "tool_result", "tool_parameters", "message",
    "arguments", "output", "function_args", "content", "request_text", "response_text", "diff",
})  # fmt: skip
ALIASES: Mapping[str, str] = {
    "gcp.vertex.agent.session_id": names.CONVERSATION,
    "genkit:metadata:context:sessionId": names.CONVERSATION,
    "gen_ai.sdk.session.id": names.CONVERSATION,
}
_OWN: Final = names.REF_SUFFIX
# Always content, whoever writes it.
_CONTENTS: Final[Mapping[str, str]] = {
    # OpenLIT
    "gen_ai.tool.input": names.TOOL_ARGUMENTS_REF,
    "gen_ai.tool.args": "gen_ai.tool.args" + _OWN,
    "gen_ai.tool.output": names.TOOL_RESULT_REF,
    "gen_ai.tool.result": names.TOOL_RESULT_REF,
    "gen_ai.response.tool_calls": "gen_ai.response.tool_calls" + _OWN,
    "gen_ai.content.reasoning": names.REASONING_REF,
    "gen_ai.workflow.input": names.INPUT_REF,
    "gen_ai.workflow.output": names.OUTPUT_REF,
    "gen_ai.execution.input": names.INPUT_REF,
    "gen_ai.execution.output": names.OUTPUT_REF,
    # Strands
    "gen_ai.tool.json_schema": "gen_ai.tool.json_schema" + _OWN,
    # Google ADK, its older schema
    "gcp.vertex.agent.llm_request": "gcp.vertex.agent.llm_request" + _OWN,
    "gcp.vertex.agent.llm_response": "gcp.vertex.agent.llm_response" + _OWN,
    "gcp.vertex.agent.tool_call_args": names.TOOL_ARGUMENTS_REF,
    "gcp.vertex.agent.tool_response": names.TOOL_RESULT_REF,
    "gcp.vertex.agent.data": names.INPUT_REF,
    # Microsoft Agent Framework
    "workflow.definition": "workflow.definition" + _OWN,
    # LiveKit
    "lk.input_text": names.INPUT_REF,
    "lk.user_input": names.INPUT_REF,
    "lk.user_transcript": names.INPUT_REF,
    "lk.chat_ctx": names.INPUT_REF,
    "lk.response.text": names.OUTPUT_REF,
    "lk.response.function_calls": "lk.response.function_calls" + _OWN,
    "lk.function_tool.arguments": names.TOOL_ARGUMENTS_REF,
    "lk.function_tool.output": names.TOOL_RESULT_REF,
}
_CODING_AGENTS: Final = ("claude_code", "codex", "gemini_cli", "gemini-cli", "qwen-code", "qwen_code")
# Content where a coding agent writes it; others mean something else by these names.
_OF_CODING_AGENTS: Final[Mapping[str, str]] = {
    "user_prompt": names.INPUT_REF,
    "prompt": names.INPUT_REF,
    "new_context": names.INPUT_REF,
    "system_prompt": names.SYSTEM_INSTRUCTIONS_REF,
    "response.model_output": names.OUTPUT_REF,
    "request_text": names.INPUT_REF,
    "response_text": names.OUTPUT_REF,
    "tool_input": names.TOOL_ARGUMENTS_REF,
    "tool_parameters": names.TOOL_ARGUMENTS_REF,
    "function_args": names.TOOL_ARGUMENTS_REF,
    "arguments": names.TOOL_ARGUMENTS_REF,
    "full_command": names.TOOL_ARGUMENTS_REF,
    "tool_result": names.TOOL_RESULT_REF,
    "output": names.TOOL_RESULT_REF,
    "content": names.TOOL_RESULT_REF,
    "diff": "diff" + _OWN,
    "message": names.INPUT_REF,
}
_SPAN_TYPE: Final = "span.type"
_KINDS: Final = {"interaction": "agent", "llm_request": "llm", "tool": "tool"}


def speaks(attributes: Attributes) -> bool:
    """By content under one of these names."""
    return any(key in attributes for key in _CONTENTS) or _is_coding_agent(attributes)


def kind(attributes: Attributes) -> str | None:
    """By Claude Code's `span.type`; all others write OpenTelemetry's operations."""
    value = attributes.get(_SPAN_TYPE)
    return _KINDS.get(value.removeprefix("claude_code.")) if isinstance(value, str) else None


def take(attributes: Attributes, _: str | None, found: LiftedContent) -> None:
    """Each becomes content under our name for it, or its own."""
    of_agent = _OF_CODING_AGENTS if _is_coding_agent(attributes) else {}
    for key, ours in (*_CONTENTS.items(), *of_agent.items()):
        if key in attributes:
            stamp_value(attributes, ours, attributes.pop(key), key, found)


def _is_coding_agent(attributes: Attributes) -> bool:
    said = (attributes.get(_SPAN_TYPE), attributes.get("event.name"), attributes.get(names.AGENT_NAME))
    return any(isinstance(each, str) and each.startswith(_CODING_AGENTS) for each in said) or (
        isinstance(said[0], str) and said[0] in _KINDS
    )
