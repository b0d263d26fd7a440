"""The summariser of the table: writes by rule what a model would write, the same for all. Pure, but for its count.

A summary has a line for each message that the request shows: its first sentence of at least four words, or the
beginning of a tool call or result, at most 100 characters; together at most 500 tokens. So it says no more than it was
shown, and prompts, which differ, make no difference.
"""

import html
import json
import re
from collections.abc import Iterator, Sequence

from playhead.testing import ChatRequest
from playhead.testing.answers import AssistantMessage
from playhead.testing.answers import text as text_answer
from playhead.testing.request import JsonObject

LINE_CHARACTERS, SUMMARY_TOKENS = 100, 500
_BYTES_PER_TOKEN = 4
NOTHING = "Nothing was said."
_SENTENCE = re.compile(r"[^\n.!?]{1,400}[.!?]")
_FEWEST_WORDS = 4
_NO_WORD = re.compile(r"\W|_")
_ESCAPED = re.compile(r"\\[nrt]")


class RuleSummariser:
    """Answers requests for a summary of one conversation, and counts them."""

    def __init__(self) -> None:
        self.conversation: Sequence[JsonObject] = ()
        self.calls = 0

    def answer(self, request: ChatRequest) -> AssistantMessage:
        """Returns the summary of what the request shows of the conversation."""
        self.calls += 1
        return text_answer(summary_of(self.conversation, "\n".join(strings_in(request.body))))


def summary_of(conversation: Sequence[JsonObject], shown: str) -> str:
    """Returns the summary of the messages that occur in the text `shown`, however it is escaped."""
    squeezed = _squeezed(shown)
    lines: list[str] = []
    room = SUMMARY_TOKENS * _BYTES_PER_TOKEN
    for message in conversation:
        for line, pieces in _lines_of(message):
            size = len(line.encode()) + 1
            if size <= room and all(_squeezed(piece) in squeezed for piece in pieces):
                lines.append(line)
                room -= size
    return "\n".join(lines) or NOTHING


def strings_in(value: object) -> Iterator[str]:
    """Yields all texts, numbers and names in a JSON value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield str(name)
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)
    elif value is not None:
        yield json.dumps(value) if isinstance(value, bool) else str(value)


def _lines_of(message: JsonObject) -> Iterator[tuple[str, list[str]]]:
    """Yields the lines of a message, each with the texts that have to be shown for it."""
    if message.get("content"):
        text = str(message["content"])
        said = _cut(_first_sentence(text))
        yield f"{message['role']}: {said}", [_cut(text.strip()), said]
    for call in message.get("tool_calls") or ():
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        yield _cut(f"called {name}({arguments})"), [name, *_values(json.loads(arguments))]


def _values(arguments: JsonObject) -> list[str]:
    """The values of a call's arguments, without their names."""
    return [text for value in arguments.values() for text in strings_in(value)]


def _first_sentence(text: str) -> str:
    """The first sentence of at least four words, or the whole text if it has none."""
    sentences = (found[0].strip() for found in _SENTENCE.finditer(text))
    return next((sentence for sentence in sentences if len(sentence.split()) >= _FEWEST_WORDS), text.strip())


def _cut(text: str) -> str:
    """Cuts a long text at white space."""
    if len(text) <= LINE_CHARACTERS:
        return text
    head = text[: LINE_CHARACTERS + 1].rpartition(" ")[0]
    return head or text[:LINE_CHARACTERS]


def _squeezed(text: str) -> str:
    """Only letters and digits, so that JSON, XML and escapes make no difference."""
    return _NO_WORD.sub("", _ESCAPED.sub(" ", html.unescape(text))).casefold()
