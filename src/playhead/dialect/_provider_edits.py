"""Changes that a provider itself made to the context of a call: OpenAI's `compaction` items, Anthropic's context
edits.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from playhead.model import names
from playhead.model.message import Message

_COMPACTION: Final = "compaction"
_MOST_CHARACTERS: Final = 256  # limit for the names of the edits, joined


def provider_edits(messages: Iterable[Message], rest: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the attributes that describe the provider's edits; {} if there are none. `rest`: the fields of the answer
    other than its messages. Never raises."""
    attributes: dict[str, Any] = {}
    for message in messages:
        for part in message["parts"]:
            if part.get("type") == _COMPACTION:
                attributes[names.COMPACTED] = True
    managed: Any = None if rest is None else rest.get("context_management")
    if managed is None:
        return attributes
    edits: Any = cast(dict[str, Any], managed).get("applied_edits") if isinstance(managed, dict) else None
    if not isinstance(edits, list):
        return attributes
    applied = [cast(dict[str, Any], edit) for edit in cast(list[Any], edits) if isinstance(edit, dict)]
    kinds = [kind for edit in applied if isinstance(kind := edit.get("type"), str)]
    cleared = [count for edit in applied if type(count := edit.get("cleared_input_tokens")) is int]
    if kinds:
        attributes[names.CONTEXT_EDITS] = ", ".join(kinds)[:_MOST_CHARACTERS]
        if cleared:
            attributes[names.CONTEXT_CLEARED_TOKENS] = sum(cleared)
    return attributes
