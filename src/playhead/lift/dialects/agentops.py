"""AgentOps: entities of its decorators, and indexed prompts and completions in OpenLLMetry's older form.

The span of a tool call inside a model call means that the model requested the tool, not that it ran: it is a step.
"""

from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import ExtractedContent, extract_tools, extract_value, kind_from
from playhead.lift.indexed import pop_indexed_list
from playhead.model import names
from playhead.model.span import Attributes

NAME = "agentops"
PREFIXES = frozenset({"agentops", "gen_ai"})
ALIASES: Mapping[str, str] = {
    "agent.name": names.AGENT_NAME,
    "tool.call.id": names.TOOL_CALL_ID,
    "gen_ai.request.streaming": names.REQUEST_STREAM,
}
_KIND, _TYPE = "agentops.span.kind", "gen_ai.request.type"
_KINDS: Final = {
    "agent": "agent", "tool": "tool", "llm": "llm", "guardrail": "guardrail", "session": "step", "task": "step",
    "workflow": "step", "operation": "step", "chain": "step", "team": "step", "agentopsspankindvalues.tool": "step",
}  # fmt: skip
_TYPES: Final = {"chat": "llm", "completion": "llm", "embedding": "embedding"}
_TOOLS: Final = ("gen_ai.request.functions", "gen_ai.request.tools")
_INPUTS, _OUTPUTS = (".input", ".params"), (".output", ".result", ".final_output")
_CONTENTS: Final = {
    "gen_ai.request.system_instruction": names.SYSTEM_INSTRUCTIONS_REF,
    "gen_ai.request.instructions": names.SYSTEM_INSTRUCTIONS_REF,
    "tool.parameters": names.TOOL_ARGUMENTS_REF,
    "tool.result": names.TOOL_RESULT_REF,
    "workflow.input": names.INPUT_REF,
    "workflow.output": names.OUTPUT_REF,
    "workflow.final_output": names.OUTPUT_REF,
    "http.request.body": "http.request.body_ref",
    "http.response.body": "http.response.body_ref",
}


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by its own names, or by a request's tools in a form that only AgentOps writes."""
    return any(key.startswith(("agentops.", *_TOOLS)) for key in attributes)


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `agentops.span.kind`, or from the type of the request to a model."""
    return kind_from(attributes, _KIND, _KINDS) or kind_from(attributes, _TYPE, _TYPES)


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves `agentops.<entity>.input` and `.output` to content: arguments and result of a tool, input and output of
    others."""
    is_tool = kind == "tool"
    for key in [key for key in attributes if key.startswith("agentops.")]:
        if key.endswith(_INPUTS):
            ours = names.TOOL_ARGUMENTS_REF if is_tool else names.INPUT_REF
        elif key.endswith(_OUTPUTS):
            ours = names.TOOL_RESULT_REF if is_tool else names.OUTPUT_REF
        elif key.endswith(".spec"):
            ours = key + names.REF_SUFFIX
        else:
            continue
        extract_value(attributes, ours, attributes.pop(key), key, contents)
    for key, ours in _CONTENTS.items():
        if key in attributes:
            extract_value(attributes, ours, attributes.pop(key), key, contents)
    for name in _TOOLS:
        tools = pop_indexed_list(attributes, name)
        if tools is not None:
            extract_tools(attributes, tools, name, contents)
    name = attributes.get("operation.name")
    if is_tool and isinstance(name, str):
        attributes.setdefault(names.TOOL_NAME, name)
