"""What a content is: a system prompt, a tool's result, the state of a checkpoint, and so on.  Pure.

A message says it by its role, and a large part of a message by its type.  Of other contents it is known from the
attribute that names their ref.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, get_args

from playhead.model import names

ContentKind = Literal[
    "system_prompt", "user_message", "assistant_message", "reasoning", "tool_arguments", "tool_result", "checkpoint",
    "request", "response", "input", "output", "other",
]  # fmt: skip
CONTENT_KINDS: Final[tuple[ContentKind, ...]] = get_args(ContentKind)
OTHER: Final = "other"

OF_ATTRIBUTE: Final[Mapping[str, ContentKind]] = {
    names.SYSTEM_INSTRUCTIONS_REF: "system_prompt",
    names.ASKED_SYSTEM_REF: "system_prompt",
    names.REASONING_REF: "reasoning",
    names.TOOL_ARGUMENTS_REF: "tool_arguments",
    names.TOOL_RESULT_REF: "tool_result",
    names.STATE_REF: "checkpoint",
    names.TOOL_DEFINITIONS_REF: "request",
    names.REQUEST_REF: "request",
    names.EXACT_REF: "request",
    names.SENT_REF: "request",
    names.RESPONSE_REF: "response",
    names.INPUT_REF: "input",
    names.OUTPUT_REF: "output",
}
"""The kind of a content that an attribute names. Attributes that name other values are not listed."""
OF_EVENT_FIELD: Final[Mapping[str, ContentKind]] = {
    "system": "system_prompt",
    "reasoning": "reasoning",
    "arguments": "tool_arguments",
    "result": "tool_result",
    "state": "checkpoint",
    "tools": "request",
    "request": "request",
    "exact": "request",
    "sent": "request",
    "response": "response",
    "input": "input",
    "output": "output",
}
"""The same, for the fields of events that hold these refs."""

_OF_ROLE: Final[Mapping[str, ContentKind]] = {
    "system": "system_prompt",
    "developer": "system_prompt",
    "user": "user_message",
    "assistant": "assistant_message",
    "model": "assistant_message",
    "tool": "tool_result",
    "function": "tool_result",
}
_OF_PART: Final[Mapping[str, ContentKind]] = {
    "tool_call": "tool_arguments",
    "tool_call_response": "tool_result",
    "reasoning": "reasoning",
}
# Keys are sorted in canonical JSON, so that a part's type comes last.
_TYPE_AT_END = re.compile(rb'"type":"([a-z_]{1,40})"}\Z')
_LONGEST_END = 60


def kind_of_role(role: str | None) -> ContentKind | None:
    """Returns the kind of a message with this role; None for None, and for an unknown role."""
    return _OF_ROLE.get(role or "")


def kind_of_part(data: bytes) -> ContentKind | None:
    """Returns the kind of a part of a message that is content of its own; None if its type does not say it, or the
    content is no such part."""
    return _OF_PART.get(part_type(data) or "")


def part_type(data: bytes) -> str | None:
    """Returns the type of a part of a message from its canonical bytes; None if they do not end as one does."""
    end = _TYPE_AT_END.search(data[-_LONGEST_END:])
    return end[1].decode() if end else None
