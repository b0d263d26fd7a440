"""MLflow: input and output of spans. Every value is JSON text, even numbers and names."""

from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import (
    ExtractedContent,
    extract_both,
    extract_tools,
    extract_value,
    json_or_text,
)
from playhead.model import names
from playhead.model.json_value import JsonValue
from playhead.model.span import Attributes

NAME = "mlflow"
PREFIXES = frozenset({"mlflow"})
ALIASES: Mapping[str, str] = {}
_KIND, _INPUT, _OUTPUT = "mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs"
_KINDS: Final = {
    "llm": "llm", "chat_model": "llm", "tool": "tool", "agent": "agent", "retriever": "retriever",
    "embedding": "embedding", "reranker": "retriever", "guardrail": "guardrail", "memory": "retriever",
    "chain": "step", "parser": "step", "workflow": "step", "task": "step", "unknown": "step", "evaluator": "step",
}  # fmt: skip
_TOOLS: Final = "mlflow.chat.tools"
_CONTENTS: Final = ("mlflow.traceInputs", "mlflow.traceOutputs", "mlflow.chat.messages", "mlflow.chunk.value")
_TEXTS: Final = {
    "mlflow.llm.model": names.REQUEST_MODEL, "mlflow.llm.provider": names.PROVIDER,
    "mlflow.trace.session": names.CONVERSATION, "mlflow.trace.user": names.USER,
}  # fmt: skip
_USAGE: Final = "mlflow.chat.tokenUsage"
_TOKENS: Final = {
    "input_tokens": names.INPUT_TOKENS, "output_tokens": names.OUTPUT_TOKENS,
    "cache_read_input_tokens": names.CACHE_READ_TOKENS, "cache_creation_input_tokens": names.CACHE_WRITE_TOKENS,
}  # fmt: skip


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by any of its names."""
    return any(key.startswith("mlflow.") for key in attributes)


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `mlflow.spanType`."""
    value = _value(attributes, _KIND)
    return _KINDS.get(value.lower()) if isinstance(value, str) else None


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves messages of a model call, arguments and result of a tool, and values of other spans."""
    extract_both(attributes, kind, _INPUT, _OUTPUT, contents)
    if _TOOLS in attributes:
        raw: JsonValue = attributes.pop(_TOOLS)
        if names.TOOL_DEFINITIONS_REF not in attributes:
            extract_tools(attributes, raw if isinstance(raw, list) else [raw], _TOOLS, contents)
    for key in _CONTENTS:
        if key in attributes:
            extract_value(attributes, key + names.REF_SUFFIX, attributes.pop(key), key, contents)
    # Autologging writes a call's parameters as attributes; lists and objects among them are JSON text.
    for key in [key for key, value in attributes.items() if _is_structure(key, value)]:
        extract_value(attributes, key + names.REF_SUFFIX, attributes.pop(key), key, contents)
    _add_names(attributes)


def _is_structure(key: str, value: JsonValue) -> bool:
    named = "." not in key and not key.endswith(names.REF_SUFFIX)
    return named and (isinstance(value, dict | list) or (isinstance(value, str) and value.startswith(("{", "["))))


def _add_names(attributes: Attributes) -> None:
    """Copies the model, provider, session, user and tokens to our names. ALIASES cannot: these values are JSON text
    here."""
    for theirs, ours in _TEXTS.items():
        value = _value(attributes, theirs)
        if isinstance(value, str) and value:
            attributes.setdefault(ours, value)
    usage = _value(attributes, _USAGE)
    if isinstance(usage, dict):
        for theirs, ours in _TOKENS.items():
            tokens: JsonValue = usage.get(theirs)
            if type(tokens) is int:
                attributes.setdefault(ours, tokens)


def _value(attributes: Attributes, key: str) -> JsonValue:
    try:
        return json_or_text(attributes.get(key))
    except ValueError:
        return None
