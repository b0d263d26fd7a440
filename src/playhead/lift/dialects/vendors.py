"""Attributes with content that single frameworks write in addition to OpenTelemetry's names.

OpenLIT, Google ADK, Strands, Microsoft Agent Framework, Genkit, LiveKit. A vendor with more than content (messages in a
form of its own, kinds, sessions) has a file of its own.
"""

from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import ExtractedContent, extract_value
from playhead.model import names
from playhead.model.span import Attributes

NAME = "vendors"
PREFIXES = frozenset({"gen_ai", "gcp", "genkit:input", "genkit:output", "lk", "flue", "workflow"})
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


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by content under one of these names."""
    return any(key in attributes for key in _CONTENTS)


def kind(_: Attributes) -> str | None:
    """Returns None: these frameworks write OpenTelemetry's operations."""
    return None


def extract(attributes: Attributes, _: str | None, contents: ExtractedContent) -> None:
    """Moves each value to a ref, under our name for it or its own name."""
    for key, ours in _CONTENTS.items():
        if key in attributes:
            extract_value(attributes, ours, attributes.pop(key), key, contents)
