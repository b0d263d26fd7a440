"""LangSmith's SDK when it exports by OpenTelemetry: whole inputs and outputs under `gen_ai.prompt` and
`gen_ai.completion`.
"""

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

NAME = "langsmith"
PREFIXES = frozenset({"langsmith"})
_METADATA: Final = "langsmith.metadata."
ALIASES: Mapping[str, str] = {
    _METADATA + "session_id": names.CONVERSATION,
    _METADATA + "thread_id": names.CONVERSATION,
    _METADATA + "conversation_id": names.CONVERSATION,
    _METADATA + "user_id": names.USER,
    _METADATA + "ls_provider": names.PROVIDER,
    "langsmith.span.tags": names.RUN_TAGS,
}
_KIND: Final = "langsmith.span.kind"
_KINDS: Final = {
    "llm": "llm", "tool": "tool", "retriever": "retriever", "embedding": "embedding", "chain": "step",
    "prompt": "step", "parser": "step",
}  # fmt: skip
_INPUT, _OUTPUT = "gen_ai.prompt", "gen_ai.completion"
_CONTENTS: Final = ("gen_ai.request.extra_body", "gen_ai.request.extra_query", "gen_ai.serialized.signature",
                    "gen_ai.serialized.doc", _METADATA + "ls_invocation_params")  # fmt: skip


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by any of its names."""
    return any(key.startswith("langsmith.") for key in attributes)


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `langsmith.span.kind`."""
    return kind_from(attributes, _KIND, _KINDS)


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves a run's inputs and outputs: messages of a model call, arguments and result of a tool."""
    extract_both(attributes, kind, _INPUT, _OUTPUT, contents, _output)
    for key in _CONTENTS:
        if key in attributes:
            extract_value(attributes, key + names.REF_SUFFIX, attributes.pop(key), key, contents)


def _output(raw: JsonValue) -> JsonValue:
    """Returns the value under `output`, where LangSmith puts a value that is not an object; any other value
    unchanged."""
    try:
        value = json_or_text(raw)
    except ValueError:
        return raw
    if isinstance(value, dict) and value.keys() == {"output"}:
        return value["output"]
    return value
