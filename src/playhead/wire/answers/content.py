"""Answers with stored content."""

from typing import Any, NotRequired, TypedDict


class ContentValue(TypedDict):
    """A content of `size` bytes: `value` if it is JSON or text, else `base64`."""

    media_type: str
    size: int
    value: NotRequired[Any]
    base64: NotRequired[str]


class ThreadMessages(TypedDict):
    """The messages of a thread, in order.  A message that is not stored is null, and its ref is in `missing`."""

    thread: str
    messages: list[dict[str, Any] | None]
    missing: list[str]
