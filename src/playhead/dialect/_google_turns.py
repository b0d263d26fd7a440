"""Converts between the contents of Gemini's API and the list of messages that all dialects share.

- The system instruction is the first message.
- A user content that answers several function calls becomes one message per response, and one per sequence of other
  parts.
- The client's history has a streamed turn of the model as one content per chunk. It becomes one message, equal to the
  message without streaming: consecutive texts are joined, and so are consecutive thoughts that have no other keys.

`TurnShape` holds what is needed to build the contents again and cannot be derived from the messages.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NotRequired, TypedDict, cast

_TEXT, _THOUGHT, _OTHER = "text", "thought", "other"
_CONTENT = {"role", "parts"}
_USUAL_SYSTEM = {"role": "user"}

Piece = int | list[int] | None
"""One part of a content that was joined: the number of characters of a text; that of a thought (in a list); None for a
part that was not joined with another.
"""
Cuts = list[list[Piece] | None]
"""The contents that a turn was joined from: the pieces of each, or None for a content that had no list of parts."""


class TurnShape(TypedDict):
    """How to build contents from messages. A missing key means the usual case."""

    cuts: NotRequired[dict[str, Cuts]]
    """Turns that were joined from several contents, by the index of their message (decimal text)."""
    pieces: NotRequired[list[int]]
    """Number of messages of each content, starting after the system instruction; a turn joined from several contents
    counts as one content of one message. Usual case: consecutive responses form one content, and every other message is
    a content of its own."""
    system: NotRequired[dict[str, Any] | None]
    """The system instruction without its parts; None: there is none, whatever the role of the first message. Usual
    case: a first message with role `system` is the instruction, and has role `user`, as the client sends it."""


def thread_of(contents: Sequence[Any], system: Any = None) -> tuple[list[Any], TurnShape]:
    """Cuts and joins the contents of a request so that each one is a message. Returns them with the shape that
    `contents_of` needs. `system`: the request's system instruction as a content (None: it has none)."""
    thread: list[Any] = []
    shape: TurnShape = {}
    pieces: list[int] = []
    cuts: dict[str, Cuts] = {}
    about: dict[str, Any] | None = None
    if system is not None:
        about = {key: value for key, value in system.items() if key != "parts"}
        thread.append({"role": "system", "parts": system["parts"]})
    for is_turn, group in groupby(contents, _can_be_joined):
        grouped = list(group)
        if is_turn and len(grouped) > 1:
            turn, cuts[str(len(thread))] = _join(grouped)
            thread.append(turn)
            pieces.append(1)
        else:
            for content in grouped:
                cut = _cut_responses(content)
                thread += cut
                pieces.append(len(cut))
    if cuts:
        shape["cuts"] = cuts
    usual, usual_system = contents_of(thread, shape)
    if usual_system != system:
        shape["system"] = about
        usual, _ = contents_of(thread, shape)
    if usual != list(contents):
        shape["pieces"] = pieces
    return thread, shape


def contents_of(thread: Sequence[Any], shape: TurnShape) -> tuple[list[Any], dict[str, Any] | None]:
    """Returns the request's contents and its system instruction (None: it has none). Raises ValueError if the shape
    does not belong to this thread."""
    system = _system(thread, shape)
    start = 0 if system is None else 1
    contents: list[Any] = []
    cuts = shape.get("cuts", {})
    index = start
    for count in shape.get("pieces") or _usual_pieces(thread[start:]):
        if index + count > len(thread):
            raise ValueError("the thread has fewer messages than the contents were cut into")
        if str(index) in cuts:
            contents += _cut(thread[index], cuts[str(index)])
        elif count == 1:
            contents.append(thread[index])
        else:
            contents.append(
                {
                    "role": "user",
                    "parts": [part for message in thread[index : index + count] for part in message["parts"]],
                }
            )
        index += count
    return contents, system


def joined_turn(contents: Sequence[Any]) -> Any:
    """Joins the contents of a streamed turn into one content. Returns None if there are none."""
    thread, _ = thread_of(contents)
    return thread[0] if thread else None


def _system(thread: Sequence[Any], shape: TurnShape) -> dict[str, Any] | None:
    first = cast("dict[str, Any]", thread[0]) if thread and isinstance(thread[0], dict) else {}
    about = shape.get("system", _USUAL_SYSTEM if _is_system(first) else None)
    return None if about is None else {**about, "parts": first.get("parts")}


def _is_system(content: dict[str, Any]) -> bool:
    return content.get("role") == "system" and content.keys() == _CONTENT


def _usual_pieces(thread: Sequence[Any]) -> Iterator[int]:
    for is_response, group in groupby(thread, _is_response):
        count = len(list(group))
        yield from [count] if is_response else [1] * count


def _cut_responses(content: Any) -> list[Any]:
    parts = _parts(content, "user")
    if len(parts) < 2 or not any(map(_has_response, parts)):
        return [content]
    pieces: list[list[Any]] = []
    for is_response, group in groupby(parts, _has_response):
        grouped = list(group)
        pieces += [[part] for part in grouped] if is_response else [grouped]
    return [{"role": "user", "parts": piece} for piece in pieces]


def _is_response(content: Any) -> bool:
    parts = _parts(content, "user")
    return len(parts) == 1 and _has_response(parts[0])


def _has_response(part: Any) -> bool:
    return isinstance(part, dict) and ("functionResponse" in part or "function_response" in part)


def _parts(content: Any, role: str) -> list[Any]:
    """Returns the parts of a content that has this role and no other keys; [] for any other content."""
    fields = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    parts = fields.get("parts")
    if fields.get("role") != role or fields.keys() != _CONTENT or not isinstance(parts, list):
        return []
    return cast("list[Any]", parts)


def _can_be_joined(content: Any) -> bool:
    return isinstance(content, dict) and (content == {"role": "model"} or bool(_parts(content, "model")))


def _join(turn: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], Cuts]:
    parts: list[Any] = []
    cuts: Cuts = []
    last = _OTHER
    for content in turn:
        if "parts" not in content:
            cuts.append(None)
            continue
        pieces: list[Piece] = []
        for part in content["parts"]:
            kind = _kind(part)
            pieces.append(_piece(kind, part))
            if kind == last and kind != _OTHER:
                parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
            else:
                parts.append(part)
            last = kind
        cuts.append(pieces)
    return {"role": "model", "parts": parts}, cuts


def _kind(part: Any) -> str:
    fields = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    text = fields.get("text")
    if not isinstance(text, str) or not _is_unicode(text):
        return _OTHER
    if len(fields) == 1:
        return _TEXT
    return _THOUGHT if fields == {"text": text, "thought": True} else _OTHER


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates. Two of them in a row, joined, would become one character when stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _piece(kind: str, part: Any) -> Piece:
    if kind == _OTHER:
        return None
    length = len(part["text"])
    return length if kind == _TEXT else [length]


def _cut(content: Any, cuts: Cuts) -> Iterator[dict[str, Any]]:
    """Cuts a joined turn into its contents. Consecutive pieces of one kind come from one part; a piece of another kind
    begins the next part. Raises ValueError if there are too few parts."""
    parts = iter(cast("dict[str, Any]", content).get("parts") or ())
    last, text, offset = _OTHER, "", 0
    for pieces in cuts:
        if pieces is None:
            yield {"role": "model"}
            continue
        content_parts: list[Any] = []
        for piece in pieces:
            kind = _OTHER if piece is None else _TEXT if isinstance(piece, int) else _THOUGHT
            if piece is None:
                content_parts.append(_next(parts))
            else:
                if kind != last:
                    text, offset = str(_next(parts).get("text")), 0
                length = piece if isinstance(piece, int) else piece[0]
                content_parts.append(
                    {"text": text[offset : offset + length], **({"thought": True} if kind == _THOUGHT else {})}
                )
                offset += length
            last = kind
        yield {"role": "model", "parts": content_parts}


def _next(parts: Iterator[Mapping[str, Any]]) -> Any:
    for part in parts:
        return part
    raise ValueError("the turn has fewer parts than it was cut into")
