"""Converts a recorded model call to the expression of `playhead.testing` that gives the same answer.  Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.model.canonical import canonical_json
from playhead.model.message import Message, Part
from playhead_collector.read.as_test.literals import LINE_CHARACTERS, call_source

# This much of the message that the model answered is kept: enough to tell messages apart.
ASKED_CHARACTERS = 200
# Parts of the names of exceptions, and the function of `playhead.testing` that provokes them.
_FAILURES = (
    (("RateLimit", "ResourceExhausted", "Throttling"), "rate_limit"),
    (("BadRequest", "InvalidRequest", "Validation"), "context_too_long"),
    (("Connection", "Timeout"), "dropped_connection"),
)
_OWN_FINISH = {"length", "content_filter"}


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A model call to be replayed: the text of the last message that the model was sent (`asked`), and its answer or
    error.

    `error`: type and message of the exception, for a call that failed.
    """

    asked: str
    answer: Message | None
    finish_reasons: Sequence[str] = ()
    error: tuple[str, str] | None = None


def asked_text(message: Message | None) -> str:
    """Returns the beginning of a message's text, in the form in which the mock model server sees that text."""
    parts = message["parts"] if message is not None else []
    if parts and parts[-1].get("type") == "tool_call_response":
        response = parts[-1].get("response")
        return response[:ASKED_CHARACTERS] if isinstance(response, str) else ""
    texts = (part.get("content") for part in parts if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))[:ASKED_CHARACTERS]


def answer_source(exchange: RecordedTurn, indent: int = 0) -> str | None:
    """Returns the source of the answer; None for a call without an answer, which cannot be played."""
    if exchange.error is not None:
        kind, message = exchange.error
        function = next((name for words, name in _FAILURES if any(word in kind for word in words)), "server_error")
        # Clients wait before they try again. In a test, they should wait for 0 seconds.
        soon = [0] if function == "rate_limit" else []
        return call_source(function, soon, {} if function == "dropped_connection" else {"message": message}, indent)
    if exchange.answer is None:
        return None
    finish = next((reason for reason in exchange.finish_reasons if reason in _OWN_FINISH), None)
    sources = _parts_sources(exchange.answer["parts"], indent, finish)
    if len(sources) <= 1:
        return sources[0] if sources else "text('')"
    joined = " + ".join(sources)
    if len(joined) + indent <= LINE_CHARACTERS and "\n" not in joined:
        return joined
    inner = " " * (indent + 4)
    sources = _parts_sources(exchange.answer["parts"], indent + 4, finish)
    return f"(\n{inner}" + f"\n{inner}+ ".join(sources) + f"\n{' ' * indent})"


def names_used(sources: Iterable[str]) -> list[str]:
    """Returns the names of the functions of `playhead.testing` that these sources call."""
    functions = ("context_too_long", "dropped_connection", "malformed_tool_call", "rate_limit", "server_error")
    text = "\n".join(sources)
    return [name for name in (*functions, "text", "thinking", "tool_call") if _calls(text, name)]


def _calls(text: str, name: str) -> bool:
    return any(f"{before}{name}(" in text for before in ("\n", " ", "(")) or text.startswith(f"{name}(")


def _parts_sources(parts: Sequence[Part], indent: int, finish: str | None) -> list[str]:
    return [source for part in parts if (source := _part_source(part, indent, finish)) is not None]


def _part_source(part: Part, indent: int, finish: str | None) -> str | None:
    match part:
        case {"type": "text", "content": str(content)}:
            return call_source("text", [content], {} if finish is None else {"finish_reason": finish}, indent)
        case {"type": "reasoning", "content": str(content)}:
            return call_source("thinking", [content], {}, indent)
        case {"type": "tool_call", "name": str(name)}:
            return _tool_call_source(name, part.get("arguments"), part.get("id"), indent)
        case _:
            return None


def _tool_call_source(name: str, arguments: Any, call_id: Any, indent: int) -> str:
    value: object = {} if arguments is None else arguments
    is_object = isinstance(value, dict)
    if not is_object and not isinstance(value, str):
        value = canonical_json(value).decode("utf-8", "replace")
    identified = {"call_id": call_id} if isinstance(call_id, str) else {}
    return call_source("tool_call" if is_object else "malformed_tool_call", [name, value], identified, indent)
