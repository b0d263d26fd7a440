"""Answers about content."""

from typing import Any, NotRequired, TypedDict


class ContentValue(TypedDict):
    """A content: `value` for JSON and text, `base64` for all else."""

    media_type: str
    size: int
    value: NotRequired[Any]
    base64: NotRequired[str]


class ThreadMessages(TypedDict):
    """A thread as the list of messages that it stands for.  A message that is not stored is null, and in `missing`."""

    thread: str
    messages: list[dict[str, Any] | None]
    missing: list[str]
