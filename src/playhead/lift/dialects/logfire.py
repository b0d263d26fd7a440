"""Logfire: attributes of its own instrumentations and of `logfire.span(..., name=value)`.

`logfire.json_schema` names the attributes that are objects or lists: these are content. So are the rendered message,
and the requests and responses of instrumented clients. Spans of OpenAI Agents are recognised by the template of their
message, and have `name`, `input`, `output` and `usage`.
"""

from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import ExtractedContent, extract_input, extract_output, extract_value, json_or_text
from playhead.model import names
from playhead.model.json_value import JsonValue, value_at
from playhead.model.span import Attributes

NAME = "logfire"
PREFIXES = frozenset({"logfire"})
ALIASES: Mapping[str, str] = {}
_SCHEMA: Final = "logfire.json_schema"
_REQUEST, _RESPONSE = "request_data", "response_data"
_CONTENTS: Final = ("logfire.msg", "prompt", "raw_input", "response", "request")
_STRUCTURED: Final = ("object", "array")
_TEMPLATE: Final = "logfire.msg_template"
# Spans of OpenAI Agents: the beginning of their template → kind.
_AGENT_SPANS: Final = {"Function: ": "tool", "Agent run: ": "agent", "Guardrail ": "guardrail"}
_TOKENS: Final = {
    names.INPUT_TOKENS: ("input_tokens",),
    names.OUTPUT_TOKENS: ("output_tokens",),
    names.CACHE_READ_TOKENS: ("input_tokens_details", "cached_tokens"),
    names.REASONING_TOKENS: ("output_tokens_details", "reasoning_tokens"),
}


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by any of its names."""
    return any(key.startswith("logfire.") for key in attributes)


def kind(attributes: Attributes) -> str | None:
    """Returns the kind of a span of OpenAI Agents by its template, else `llm` for a client's span with a request. The
    log at the end of a stream repeats the request and is a step."""
    template = attributes.get(_TEMPLATE)
    if isinstance(template, str) and "name" in attributes:
        for begin, of_agents in _AGENT_SPANS.items():
            if template.startswith(begin):
                return of_agents
    if attributes.get("logfire.span_type") == "log":
        return "step" if _REQUEST in attributes else None
    return "llm" if _REQUEST in attributes and _SCHEMA in attributes else None


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Reads requests and responses in their client's form. Moves other structured values to refs under their own
    names."""
    if kind in _AGENT_SPANS.values():
        _extract_agents(attributes, kind, contents)
    if _REQUEST in attributes and _is_agents_call(attributes):
        _extract_call(attributes, contents)
    elif _REQUEST in attributes:
        extract_input(attributes, attributes.pop(_REQUEST), _REQUEST, contents, model=True)
    if _RESPONSE in attributes:
        extract_output(attributes, _answer(attributes.pop(_RESPONSE)), _RESPONSE, contents, model=True)
    for key in (*_CONTENTS, *_structured(attributes.get(_SCHEMA))):
        if key in attributes and not key.startswith("gen_ai.") and isinstance(attributes[key], str | list | dict):
            extract_value(attributes, key + names.REF_SUFFIX, attributes.pop(key), key, contents)


def _extract_agents(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Sets the name of an agent or tool, moves a tool's arguments and result, and sets the outcome of a tripped
    guardrail."""
    name = attributes.get("name")
    if kind in ("agent", "tool") and isinstance(name, str):
        attributes.setdefault(names.AGENT_NAME if kind == "agent" else names.TOOL_NAME, name)
    if kind == "tool":
        extract_value(attributes, names.TOOL_ARGUMENTS_REF, attributes.pop("input", None), "input", contents)
        extract_value(attributes, names.TOOL_RESULT_REF, attributes.pop("output", None), "output", contents)
    if kind == "guardrail" and attributes.get("triggered") is True:
        attributes.setdefault(names.OUTCOME, names.TRIPPED)


def _is_agents_call(attributes: Attributes) -> bool:
    return "input" in attributes and "output" in attributes and _RESPONSE not in attributes


def _extract_call(attributes: Attributes, contents: ExtractedContent) -> None:
    """Reads a model call of OpenAI Agents. Its `request_data` repeats the input, followed by the answer, and is
    dropped."""
    del attributes[_REQUEST]
    extract_input(attributes, attributes.pop("input"), "input", contents, model=True)
    extract_output(attributes, attributes.pop("output"), "output", contents, model=True)
    try:
        usage = json_or_text(attributes.get("usage"))
    except ValueError:
        return
    for ours, path in _TOKENS.items():
        value: JsonValue = usage
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if type(value) is int:
            attributes.setdefault(ours, value)


def _structured(schema: JsonValue) -> list[str]:
    """Returns the names of the attributes that hold objects or lists."""
    try:
        value = json_or_text(schema)
    except ValueError:
        return []
    properties: JsonValue = value_at(value, "properties")
    if not isinstance(properties, dict):
        return []
    return [key for key, schema in properties.items() if isinstance(schema, dict) and schema.get("type") in _STRUCTURED]


def _answer(raw: JsonValue) -> JsonValue:
    """Returns the answer in a form that `extract_output` reads. A message is under `message`, the text of a stream
    under `combined_chunk_content`."""
    try:
        value = json_or_text(raw)
    except ValueError:
        return raw
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("message"), dict):
        return {"choices": [{"message": value["message"]}], **{k: v for k, v in value.items() if k != "message"}}
    if isinstance(value.get("combined_chunk_content"), str):
        return {"role": "assistant", "content": value["combined_chunk_content"]}
    return value
