"""A model's turn that was streamed: one content a chunk, joined to one content and cut again.

The client puts the chunks of a streamed answer into its history as they came, each as a content of its own.  Joined,
the answer is one message, the same whether it was streamed or not.  Only contents of the role `model` that follow one
another are joined; of their parts, texts that follow one another, and thoughts, if nothing else stands beside them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

_TEXT, _THOUGHT, _OTHER = "text", "thought", "other"

Piece = int | list[int] | None
"""One part of a content that was joined: a text of that many characters, a thought of that many (in a list), or a part
that stayed whole (None)."""
Cuts = list[list[Piece] | None]
"""The contents that one was joined from, each as its pieces; None for a content that had no list of parts."""


def join_turns(contents: Sequence[Any]) -> tuple[list[Any], dict[int, Cuts]]:
    """The contents with each turn of the model as one, and by place how those were cut that are made of several."""
    joined: list[Any] = []
    cuts: dict[int, Cuts] = {}
    for is_turn, group in groupby(contents, _can_be_joined):
        turn = list(group)
        if is_turn and len(turn) > 1:
            content, cuts[len(joined)] = _join(turn)
            joined.append(content)
        else:
            joined += turn
    return joined, cuts


def cut_turns(joined: Iterable[Any], cuts: Mapping[int, Cuts]) -> list[Any]:
    """The contents that `join_turns` was given.  Raises ValueError where the cuts are not of these contents."""
    contents: list[Any] = []
    for place, content in enumerate(joined):
        if place in cuts:
            contents += _cut(content, cuts[place])
        else:
            contents.append(content)
    return contents


def _can_be_joined(content: Any) -> bool:
    if not isinstance(content, dict):
        return False
    said = cast(dict[str, Any], content)
    parts = said.get("parts")
    if said.get("role") != "model" or len(said) != (1 if parts is None else 2):
        return False
    return parts is None or isinstance(parts, list)


def _join(turn: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], Cuts]:
    parts: list[Any] = []
    cuts: Cuts = []
    last = _OTHER
    for content in turn:
        given = content.get("parts")
        if given is None:
            cuts.append(None)
            continue
        pieces: list[Piece] = []
        for part in given:
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
    said = cast(dict[str, Any], part) if isinstance(part, dict) else {}
    text = said.get("text")
    if not isinstance(text, str) or not _is_unicode(text):
        return _OTHER
    if len(said) == 1:
        return _TEXT
    return _THOUGHT if len(said) == 2 and said.get("thought") is True else _OTHER


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
    parts = iter(cast(dict[str, Any], content).get("parts") or ())
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


def _next(parts: Iterator[Any]) -> Any:
    for part in parts:
        return part
    raise ValueError("the turn has fewer parts than it was cut into")
