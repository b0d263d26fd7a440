"""Laminar (`lmnr.*`): input and output of spans. Its model calls also have OpenTelemetry's names."""

from collections.abc import Mapping
from typing import Final

from playhead.lift.extraction import ExtractedContent, extract_both, extract_value, kind_from
from playhead.model import names
from playhead.model.span import Attributes

NAME = "laminar"
PREFIXES = frozenset({"lmnr"})
_PROPERTIES: Final = "lmnr.association.properties."
ALIASES: Mapping[str, str] = {
    _PROPERTIES + "session_id": names.CONVERSATION,
    _PROPERTIES + "user_id": names.USER,
    _PROPERTIES + "tags": names.RUN_TAGS,
}
_KIND, _INPUT, _OUTPUT = "lmnr.span.type", "lmnr.span.input", "lmnr.span.output"
_KINDS: Final = {
    "llm": "llm", "cached": "llm", "tool": "tool", "default": "step", "executor": "step", "evaluator": "step",
    "evaluation": "step", "human_evaluator": "step", "event": "step",
}  # fmt: skip
_METADATA: Final = _PROPERTIES + "metadata."


def matches(attributes: Attributes) -> bool:
    """Recognises the dialect by any of its names."""
    return any(key.startswith("lmnr.") for key in attributes)


def kind(attributes: Attributes) -> str | None:
    """Reads the kind from `lmnr.span.type`."""
    return kind_from(attributes, _KIND, _KINDS)


def extract(attributes: Attributes, kind: str | None, contents: ExtractedContent) -> None:
    """Moves messages of a model call, arguments and result of a tool, and values of other spans."""
    extract_both(attributes, kind, _INPUT, _OUTPUT, contents)
    for key in [key for key in attributes if key.startswith(_METADATA) and not key.endswith(names.REF_SUFFIX)]:
        extract_value(attributes, key + names.REF_SUFFIX, attributes.pop(key), key, contents)
