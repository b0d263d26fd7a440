"""What all answers share: pages of lists, and errors."""

from typing import Generic, NotRequired, TypedDict, TypeVar

Item = TypeVar("Item")


class CutText(TypedDict):
    """A text that was too long for an analysis: of its `length` characters the first `read` ones were read.

    It is a part of the message `content`; null: it is the value number `part` of a tool call's arguments.
    """

    content: str | None
    part: int
    read: int
    length: int


class Page(TypedDict, Generic[Item]):
    """Part of a list.  Give `next_cursor` back as `cursor` for the next part; null: this was the last.

    `cut`: texts that were too long to be read whole, where there were any.  `hint`: what may be wrong with a
    question that found nothing.
    """

    items: list[Item]
    next_cursor: str | None
    cut: NotRequired[list[CutText]]
    hint: NotRequired[str]


class ErrorDetail(TypedDict):
    """`code` is for programs and never changes its meaning; `message` is a sentence that ends with what to do."""

    code: str
    message: str


class ErrorAnswer(TypedDict):
    """Why there is no answer."""

    error: ErrorDetail
