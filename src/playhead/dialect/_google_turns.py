"""Between the contents that Gemini's API takes and messages as others have them.

- The system instruction is the first message.
- A user's content that answers several function calls is a message for each response, and one for what stands between
  them.
- A model's turn that was streamed stands in the client's history as a content a chunk.  It is one message, the same
  whether it was streamed or not: of its parts, texts that follow one another are joined, and thoughts, if nothing else
  stands beside them.

`TurnShape` says how the contents are made again, as far as the messages do not say it themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NotRequired, TypedDict, cast

_TEXT, _THOUGHT, _OTHER = "text", "thought", "other"
_CONTENT = {"role", "parts"}
_USUAL_SYSTEM = {"role": "user"}

Piece = int | list[int] | None
"""One part of a content that was joined: a text of that many characters, a thought of that many (in a list), or a part
that stayed whole (None)."""
Cuts = list[list[Piece] | None]
"""The contents that a turn was joined from, each as its pieces; None for a content that had no list of parts."""


class TurnShape(TypedDict):
    """How contents are made of messages; what is left out is as usual."""

    cuts: NotRequired[dict[str, Cuts]]
    """By place among the messages, in decimal: turns that were joined from several contents."""
    pieces: NotRequired[list[int]]
    """How many messages each content is, beginning after the system instruction, turns of several contents as one.
    Usual: responses that follow one another are one content, and all else is one each."""
    system: NotRequired[dict[str, Any] | None]
    """The system instruction without its parts; None: there is none, whatever the first message is.  Usual: the first
    message, if its role is `system`, with the role `user`, as the client sends it."""


def thread_of(contents: Sequence[Any], system: Any = None) -> tuple[list[Any], TurnShape]:
    """The request's contents, a content for each message; `system` is its instruction as a content (None: it has
    none)."""
    thread: list[Any] = []
    shape: TurnShape = {}
    pieces: list[int] = []
    cuts: dict[str, Cuts] = {}
    about: dict[str, Any] | None = None
    if system is not None:
        about = {key: value for key, value in system.items() if key != "parts"}
        thread.append({"role": "system", "parts": system["parts"]})
    for is_turn, group in groupby(contents, _can_be_joined):
        given = list(group)
        if is_turn and len(given) > 1:
            turn, cuts[str(len(thread))] = _join(given)
            thread.append(turn)
            pieces.append(1)
        else:
            for content in given:
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
    """The request's contents and its system instruction (None: it has none).  Raises ValueError where the shape is not
    of this thread."""
    system = _system(thread, shape)
    start = 0 if system is None else 1
    contents: list[Any] = []
    cuts = shape.get("cuts", {})
    at = start
    for count in shape.get("pieces") or _usual_pieces(thread[start:]):
        if at + count > len(thread):
            raise ValueError("the thread has fewer messages than the contents were cut into")
        if str(at) in cuts:
            contents += _cut(thread[at], cuts[str(at)])
        elif count == 1:
            contents.append(thread[at])
        else:
            contents.append(
                {"role": "user", "parts": [part for each in thread[at : at + count] for part in each["parts"]]}
            )
        at += count
    return contents, system


def joined_turn(contents: Sequence[Any]) -> Any:
    """The content that a streamed turn's contents are; None for none."""
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
        given = list(group)
        pieces += [[part] for part in given] if is_response else [given]
    return [{"role": "user", "parts": piece} for piece in pieces]


def _is_response(content: Any) -> bool:
    parts = _parts(content, "user")
    return len(parts) == 1 and _has_response(parts[0])


def _has_response(part: Any) -> bool:
    return isinstance(part, dict) and ("functionResponse" in part or "function_response" in part)


def _parts(content: Any, role: str) -> list[Any]:
    """The parts of a content of that role with nothing else in it; [] for another."""
    said = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    parts = said.get("parts")
    if said.get("role") != role or said.keys() != _CONTENT or not isinstance(parts, list):
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
    said = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    text = said.get("text")
    if not isinstance(text, str) or not _is_unicode(text):
        return _OTHER
    if len(said) == 1:
        return _TEXT
    return _THOUGHT if said == {"text": text, "thought": True} else _OTHER


def _is_unicode(text: str) -> bool:
    """Whether it has no lone surrogates: two of them, joined, would be one character once they are stored."""
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
    """Takes the parts one after the other; a part is taken whole when what comes after it is of another kind."""
    parts = iter(cast("dict[str, Any]", content).get("parts") or ())
    last, text, at = _OTHER, "", 0
    for pieces in cuts:
        if pieces is None:
            yield {"role": "model"}
            continue
        own: list[Any] = []
        for piece in pieces:
            kind = _OTHER if piece is None else _TEXT if isinstance(piece, int) else _THOUGHT
            if piece is None:
                own.append(_next(parts))
            else:
                if kind != last:
                    text, at = str(_next(parts).get("text")), 0
                length = piece if isinstance(piece, int) else piece[0]
                own.append({"text": text[at : at + length], **({"thought": True} if kind == _THOUGHT else {})})
                at += length
            last = kind
        yield {"role": "model", "parts": own}


def _next(parts: Iterator[Mapping[str, Any]]) -> Any:
    for part in parts:
        return part
    raise ValueError("the turn has fewer parts than it was cut into")
