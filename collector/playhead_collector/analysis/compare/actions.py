"""[analysis]: what a call did, apart from its words: the tools that a model called, with their arguments.  Pure.

Models never write the same twice, so two tool calls are the same if their arguments are equal but for prose.  Whether
two answers say the same cannot be known: answers with other words differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from playhead.model.canonical import canonical_json, text_of
from playhead.model.json_value import JsonValue
from playhead.model.message import Message, message_text
from playhead_collector.analysis.transcript.arguments import scalars, without_prose
from playhead_collector.read.events import cut

_LONGEST_TEXT, _LONGEST_VALUE = 200, 60


CalledTools = tuple[tuple[str, bytes], ...]
"""Tools that a model called: the name and the key of the arguments of each."""


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A tool call that a model asked for."""

    call_id: str | None
    name: str
    arguments: JsonValue


def called_tools(message: Message) -> CalledTools:
    """The tools that a model called with this message."""
    return tuple((call.name, arguments_key(call.arguments)) for call in requested_calls(message))


def requested_calls(message: Message) -> Iterator[WantedCall]:
    """The tool calls that a message asks for."""
    for part in message["parts"]:
        if part.get("type") == "tool_call":
            call_id = part.get("id")
            yield WantedCall(
                call_id if isinstance(call_id, str) else None, str(part.get("name") or ""), part.get("arguments")
            )


def answer_text(message: Message) -> str:
    """The texts of a message, without reasoning and tool calls."""
    return message_text({**message, "parts": [part for part in message["parts"] if part.get("type") == "text"]})


def arguments_key(arguments: JsonValue) -> bytes:
    """A digest of arguments that is equal for arguments that differ only in prose."""
    return sha256(canonical_json(without_prose(arguments))).digest()


# --- in one line -----------------------------------------------------------------------------------------------------


def shown_text(text: str) -> str:
    """A text in one line, cut at 200 characters."""
    return cut(one_line(text[: 2 * _LONGEST_TEXT]), _LONGEST_TEXT)


def one_line(text: str) -> str:
    """The text with single spaces in place of its white space."""
    return " ".join(text.split())


def differing_values(ours: JsonValue, theirs: JsonValue) -> list[tuple[str, str, str]]:
    """Path and both values of each value that differs, without prose; `nothing` for one that is missing."""
    a, b = dict(scalars(without_prose(ours))), dict(scalars(without_prose(theirs)))
    return [
        (path, _shown_value(a, path), _shown_value(b, path))
        for path in dict.fromkeys((*a, *b))
        if (path in a) != (path in b) or a.get(path) != b.get(path)
    ]


def _shown_value(values: "dict[str, str | int | float | bool | None]", path: str) -> str:
    return cut(one_line(text_of(values[path])), _LONGEST_VALUE) if path in values else "nothing"
