"""What all answers share: pages of lists, and errors."""

from typing import Generic, TypedDict, TypeVar

Item = TypeVar("Item")


class Page(TypedDict, Generic[Item]):
    """Part of a list.  Give `next_cursor` back as `cursor` for the next part; null: this was the last."""

    items: list[Item]
    next_cursor: str | None


class ErrorDetail(TypedDict):
    """`code` is for programs and never changes its meaning; `message` is a sentence that ends with what to do."""

    code: str
    message: str


class ErrorAnswer(TypedDict):
    """Why there is no answer."""

    error: ErrorDetail
