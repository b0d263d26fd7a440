"""The Langfuse SDK (`langfuse.observation.*`, `langfuse.trace.*`)."""

from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import (
    ExtractedContent,
    extract_both,
    extract_value,
    json_or_text,
    kind_from,
)
from playhead.model import names
from playhead.model.json_value import JsonValue
from playhead.model.span import Attributes

NAME = "langfuse"
PREFIXES = frozenset({"langfuse"})
ALIASES: Mapping[str, str] = {
    "langfuse.session.id": names.CONVERSATION,
    "langfuse.user.id": names.USER,
    "langfuse.trace.tags": names.RUN_TAGS,
    "langfuse.trace.name": names.RUN_NAME,
    "langfuse.observation.model.name": names.REQUEST_MODEL,
}
_OBSERVATION, _TRACE = "langfuse.observation.", "langfuse.trace."
_KIND: Final = _OBSERVATION + "type"
_KINDS: Final = {
    "span": "step", "event": "step", "generation": "llm", "embedding": "embedding", "agent": "agent", "tool": "tool",
    "chain": "step", "retriever": "retriever", "guardrail": "guardrail", "evaluator": "step",
}  # fmt: skip
_USAGE: Final = _OBSERVATION + "usage_details"
_CONTENTS: Final = {
    _OBSERVATION + "model.parameters": names.REQUEST_REF,
    _TRACE + "input": names.INPUT_REF,
    _TRACE + "output": names.OUTPUT_REF,
    _TRACE + "metadata": names.RUN_METADATA_REF,
    _OBSERVATION + "metadata": _OBSERVATION + "metadata_ref",
    _OBSERVATION + "status_message": _OBSERVATION + "status_message_ref",
}
_METADATA: Final = (_OBSERVATION + "metadata.", _TRACE + "metadata.", "langfuse.experiment.")
# Langfuse's own keys first, then those of the providers whose usage it forwards.
_TOKENS: Final = {
    names.INPUT_TOKENS: ("input", "prompt_tokens", "input_tokens"),
    names.OUTPUT_TOKENS: ("output", "completion_tokens", "output_tokens"),
    names.CACHE_READ_TOKENS: ("input_cached_tokens", "cache_read_input_tokens", "prompt_tokens_details.cached_tokens"),
    names.CACHE_WRITE_TOKENS: ("cache_creation_input_tokens",),
    names.REASONING_TOKENS: ("output_reasoning_tokens", "completion_tokens_details.reasoning_tokens"),
}


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by any of its names."""
    return any(key.startswith("langfuse.") for key in attributes)


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `langfuse.observation.type`."""
    return kind_from(attributes, _KIND, _KINDS)


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves an observation's input and output: messages of a generation, arguments and result of a tool."""
    output_of = _streamed_answer if kind == "llm" else None
    extract_both(attributes, kind, _OBSERVATION + "input", _OBSERVATION + "output", contents, output_of)
    for key, ours in _CONTENTS.items():
        if key in attributes:
            extract_value(attributes, ours, attributes.pop(key), key, contents)
    for key in [key for key in attributes if key.startswith(_METADATA) and not key.endswith(names.REF_SUFFIX)]:
        extract_value(attributes, key + names.REF_SUFFIX, attributes.pop(key), key, contents)
    _add_tokens(attributes)


def _streamed_answer(output: JsonValue) -> JsonValue:
    """Returns a message for the bare text of a streamed answer; any other value unchanged."""
    if isinstance(output, str) and not output.startswith(("{", "[")):
        return {"role": "assistant", "content": output}
    return output


def _add_tokens(attributes: Attributes) -> None:
    try:
        usage = json_or_text(attributes.get(_USAGE))
    except ValueError:
        return
    if not isinstance(usage, dict):
        return
    for ours, theirs in _TOKENS.items():
        for path in theirs:
            value: JsonValue = usage
            for key in path.split("."):
                value = value.get(key) if isinstance(value, dict) else None
            if type(value) is int and ours not in attributes:
                attributes[ours] = value
