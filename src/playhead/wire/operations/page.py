"""Types shared by all answers: pages of lists, and errors."""

from typing import Generic, NotRequired, TypedDict, TypeVar

Item = TypeVar("Item")


class CutText(TypedDict):
    """A text that was too long for an analysis, which read only the first `read` of its `length` characters.

    `content` is the ref of the message and `part` the number of its part.  If `content` is null, the text is value
    number `part` of a tool call's arguments.
    """

    content: str | None
    part: int
    read: int
    length: int


class Page(TypedDict, Generic[Item]):
    """A page of a list.  Send `next_cursor` as `cursor` to get the next page; null: this is the last page.

    `cut`: texts that were too long and not read completely.  `hint`: a possible reason why nothing was found.
    """

    items: list[Item]
    next_cursor: str | None
    cut: NotRequired[list[CutText]]
    hint: NotRequired[str]


class ItemsPage(TypedDict, Generic[Item]):
    """What all pages of lists have: `Page`, and answers that say more beside their items."""

    items: list[Item]
    next_cursor: str | None


class ErrorDetail(TypedDict):
    """`code` is for programs and does not change; `message` says what is wrong and what to do."""

    code: str
    message: str


class ErrorAnswer(TypedDict):
    """An error response."""

    error: ErrorDetail
