"""[analysis]: the searched text of a content, and quotes of the words that were found in it. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model.canonical import text_of
from playhead.model.ref import ContentRef
from playhead.wire.operations.search import TextQuote
from playhead_collector.analysis.texts.passages import quote
from playhead_collector.read.values import ContentCache

_BETWEEN = "\n\n"
# Words within so many characters are quoted together. The most quotes of a content.
_NEAR, _MAX_QUOTES = 80, 3


@dataclass(frozen=True, slots=True)
class SearchableText:
    """The joined parts of a content; of a long one, only the beginning. `parts`: number and start of each part."""

    text: str
    parts: Sequence[tuple[int, int]]
    role: str | None = None
    whole: Sequence[str] = field(default=(), repr=False)
    """The unchanged texts of the parts, for quotes."""

    def place(self, position: int) -> tuple[int, int]:
        """Converts a position in `text` to an index in `parts` and an offset in that part."""
        index = bisect_right(self.parts, position, key=lambda part: part[1]) - 1
        return index, position - self.parts[index][1]


def searchable(ref: ContentRef, cache: ContentCache, most: int) -> SearchableText | None:
    """Returns the searched text of a content, at most `most` characters; None if it has no text (an image)."""
    message = cache.parsed_message(ref)
    if message is None:
        value = cache.parsed(ref)
        texts, role = ([] if value is None else [(0, text_of(value))]), None
    else:
        texts, role = list(_texts_of(message["parts"])), message["role"]
    joined, parts, whole = "", list[tuple[int, int]](), list[str]()
    for number, text in texts:
        if not text or len(joined) >= most:
            continue
        joined += _BETWEEN if joined else ""
        parts.append((number, len(joined)))
        whole.append(text)
        joined += text[: most - len(joined)] if len(joined) < most else ""
    return SearchableText(joined, parts, role, whole) if parts else None


def _texts_of(parts: Iterable[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    for number, part in enumerate(parts):
        match part.get("type"):
            case "blob":
                continue
            case "tool_call":
                value = part.get("arguments")
            case "tool_call_response":
                value = part.get("response")
            case _:
                value = part.get("content", part.get("uri"))
        if value is not None:
            yield number, text_of(value)


def quotes(searched: SearchableText, places: Iterable[tuple[int, int]]) -> list[TextQuote]:
    """Quotes the places where found words are close together, those with most different words first; at most 3.

    `places`: start and end of the found words in the searched text, in order.
    """
    groups = _groups(searched, places)
    best = sorted(groups, key=lambda group: -len({searched.text[start:end].lower() for start, end in group}))
    return [_quoted(searched, group[0][0], max(end for _, end in group)) for group in best[:_MAX_QUOTES]]


def _groups(searched: SearchableText, places: Iterable[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    groups: list[list[tuple[int, int]]] = []
    for place in places:
        last = groups[-1] if groups else None
        if last and place[1] - last[0][0] <= _NEAR and searched.place(place[1] - 1)[0] == searched.place(last[0][0])[0]:
            last.append(place)
        else:
            groups.append([place])
    return groups


def _quoted(searched: SearchableText, start: int, end: int) -> TextQuote:
    index, offset = searched.place(start)
    text, length = searched.whole[index], end - start
    return {
        "part": searched.parts[index][0],
        "offset": offset,
        "length": length,
        "quote": quote(text, offset, offset + length),
    }
