"""[analysis]: how much of each text an analysis reads.

The time of an analysis grows with the texts that it reads, and a text may be as long as the largest content. So only
the beginning of each text is read, up to a limit that the operator sets. The answer lists the texts that were cut.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

from playhead.model.ref import ContentRef
from playhead.wire.operations.page import CutText

# 256 Ki characters: longer than any model reads as one message today; read in about half a second.
MAX_TEXT_LENGTH = 256 * 1024


@dataclass(slots=True)
class TextLimit:
    """Limit of characters per text for one question, and the texts that were cut."""

    longest: int = MAX_TEXT_LENGTH
    cut: dict[tuple[ContentRef | None, int], int] = field(default_factory=dict[tuple[ContentRef | None, int], int])


_now: ContextVar[TextLimit | None] = ContextVar("reading", default=None)


def begin_reading(longest: int = MAX_TEXT_LENGTH) -> TextLimit:
    """Sets the limit of characters per text for this task and the threads that it starts."""
    reading = TextLimit(longest)
    _now.set(reading)
    return reading


def readable(text: str, content: ContentRef | None, part: int = 0) -> str:
    """Returns the beginning of the text, up to the limit. `content` and `part` identify it in the answer's `cut`."""
    reading = _now.get()
    longest = MAX_TEXT_LENGTH if reading is None else reading.longest
    if len(text) <= longest:
        return text
    if reading is not None:
        reading.cut[content, part] = len(text)
    return text[:longest]


def texts_cut() -> list[CutText]:
    """Lists the texts that were cut for this question."""
    reading = _now.get()
    if reading is None:
        return []
    return [
        {"content": None if content is None else str(content), "part": part, "read": reading.longest, "length": length}
        for (content, part), length in reading.cut.items()
    ]


def with_cuts(answer: Any) -> Any:
    """Returns the answer with the field `cut` if texts were cut, else unchanged."""
    cut = texts_cut()
    return {**cast(dict[str, Any], answer), "cut": cut} if cut and isinstance(answer, dict) else answer
