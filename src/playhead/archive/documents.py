"""Reads JSON documents from a stream of bytes, and recognises the format of a file.

Documents are one per line, the items of an array, or a single document. Memory is bounded. A line that is not JSON is
reported and skipped. In an array, the end of an item that is not JSON cannot be found, so reading stops there.

The format is recognised from the first bytes of a file, or from its first document.
"""

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from playhead.archive.records import FilePlace, UnreadableRecord
from playhead.model.canonical import parse_json
from playhead.model.json_value import JsonValue, list_of, object_of

Read = Callable[[int], bytes]
"""Reads at most this many bytes; returns an empty value at the end."""

_PIECE = 1024 * 1024
_WHITE = b" \t\r\n"
_WHITE_TEXT = " \t\r\n"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON value, its position, and its approximate size in bytes."""

    value: JsonValue
    where: FilePlace
    size: int


class _TooLong(ValueError):
    pass


def json_documents(read: Read, file: str, most: int) -> Iterator[Document | UnreadableRecord]:
    """Yields the documents of a file. A document of more than `most` bytes is reported and not read."""
    first = read(_PIECE)
    if first.startswith(_BYTE_ORDER_MARK):
        first = first[len(_BYTE_ORDER_MARK) :]
    while first and not first.strip(_WHITE):
        first = read(_PIECE)
    if first.lstrip(_WHITE).startswith(b"["):
        yield from _documents_in_array(first, read, file, most)
    else:
        yield from _documents_in_lines(first, read, file, most)


def _documents_in_lines(first: bytes, read: Read, file: str, most: int) -> Iterator[Document | UnreadableRecord]:
    lines = enumerate(lines_of(first, read, most), 1)
    head = list(islice(lines, 1))
    if head and (head[0][1] is None or _parsed(head[0][1]) is not None):
        yield from _each_line(chain(head, lines), file, most)
        return
    # The first line alone is not a document: the whole file may be one, spread over lines.
    size = 0
    for number, line in lines:
        size += 1 if line is None else len(line) + 1
        head.append((number, line))
        if line is None or size > most:
            break
    whole = _parsed(b"\n".join(line or b"" for _, line in head)) if size <= most else None
    if whole is not None:
        yield Document(whole[0], FilePlace(file, 1), size)
    else:
        yield from _each_line(chain(head, lines), file, most)


def _each_line(
    lines: Iterable[tuple[int, bytes | None]], file: str, most: int
) -> Iterator[Document | UnreadableRecord]:
    for number, line in lines:
        where = FilePlace(file, number)
        if line is None:
            yield UnreadableRecord(where, too_long(most))
        elif line.strip(_WHITE):
            parsed = _parsed(line)
            yield (
                UnreadableRecord(where, "the line is no JSON")
                if parsed is None
                else Document(parsed[0], where, len(line))
            )


def too_long(most: int) -> str:
    """Returns the reason why a record of more than `most` bytes is not read."""
    return f"it has more than {most:,} bytes: raise --max-record-bytes"


def _parsed(line: bytes) -> tuple[JsonValue] | None:
    try:
        return (parse_json(line),)
    except ValueError:
        return None


def lines_of(first: bytes, read: Read, most: int) -> Iterator[bytes | None]:
    """Yields lines without their line ends; None for a line of more than `most` bytes."""
    held: list[bytes] = []
    size = 0
    piece = first
    while piece:
        *whole, tail = piece.split(b"\n")
        for line in whole:
            yield None if size + len(line) > most else b"".join([*held, line])
            held, size = [], 0
        size += len(tail)
        if size <= most:
            held.append(tail)
        else:
            held = []
        piece = read(_PIECE)
    if size:
        yield None if size > most else b"".join(held)


# --- arrays ----------------------------------------------------------------------------------------------------------


class _ArrayText:
    """The text of an array. Only the part that was not read yet is in memory."""

    def __init__(self, first: bytes, read: Read, most: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._read, self._most = read, most
        self.text = self._decoder.decode(first)
        self.at = 0
        self.line = 1
        self.ended = False

    def more(self) -> None:
        """Reads as much again as is in memory, so that parsing an item again costs no more than reading it. Raises
        _TooLong if more than `most` characters are in memory already."""
        if len(self.text) - self.at > self._most:
            raise _TooLong
        data = self._read(max(_PIECE, len(self.text) - self.at))
        self.ended = not data
        self.text = self.text[self.at :] + self._decoder.decode(data, final=not data)
        self.at = 0

    def skip(self, characters: str) -> str:
        """Skips these characters. Returns the next character; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in characters:
                self.line += self.text[self.at] == "\n"
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.more()


def _documents_in_array(first: bytes, read: Read, file: str, most: int) -> Iterator[Document | UnreadableRecord]:
    text = _ArrayText(first, read, most)
    decoder = json.JSONDecoder()
    text.skip(_WHITE_TEXT)
    text.at += 1
    while (character := text.skip(_WHITE_TEXT + ",")) not in {"", "]"}:
        where = FilePlace(file, text.line)
        try:
            value, end = _next_item(text, decoder)
        except _TooLong:
            yield UnreadableRecord(where, too_long(most))
            return
        except (ValueError, RecursionError):
            yield UnreadableRecord(where, "it is no JSON, and what follows it in the array cannot be read")
            return
        text.line += text.text.count("\n", text.at, end)
        size, text.at = end - text.at, end
        yield Document(value, where, size)
    if character == "":
        yield UnreadableRecord(FilePlace(file, text.line), "the file ends within the array: a part of it is missing")


def _next_item(text: _ArrayText, decoder: json.JSONDecoder) -> tuple[JsonValue, int]:
    while True:
        try:
            value, end = decoder.raw_decode(text.text, text.at)
            # A number at the end of the text in memory may continue.
            if end < len(text.text) or text.ended:
                return value, end
        except ValueError:
            if text.ended:
                raise
        text.more()


# --- formats ----------------------------------------------------------------------------------------------------------


Format = Literal["playhead", "otlp", "phoenix", "langfuse"]
FORMATS: tuple[Format, ...] = ("playhead", "otlp", "phoenix", "langfuse")

_OTLP_KEYS = {"resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics"}
_PARQUET = b"PAR1"
_TAR_AT, _TAR = 257, b"ustar"
# Keys that only rows of Langfuse have: camelCase from the API and the UI, snake_case from exports to blob storage.
_LANGFUSE_KEYS = {"observations", "traceId", "trace_id", "userId", "user_id", "sessionId", "session_id", "htmlPath"}


def is_parquet(first: bytes) -> bool:
    """Whether these are the first bytes of a Parquet file."""
    return first.startswith(_PARQUET)


def is_tar(first: bytes) -> bool:
    """Whether these are the first bytes of a tar file."""
    return first[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR


def is_json(first: bytes) -> bool:
    """Whether these are the first bytes of a JSON file."""
    return first.removeprefix(_BYTE_ORDER_MARK).lstrip(_WHITE)[:1] in (b"{", b"[")


def format_of(document: object) -> Format | None:
    """Returns the format of a JSON document; None if it is unknown."""
    if items := list_of(document):
        return format_of(items[0])
    fields = object_of(document)
    if not _OTLP_KEYS.isdisjoint(fields):
        return "otlp"
    if "context.span_id" in fields or isinstance(fields.get("context"), dict):
        return "phoenix"
    inner = fields.get("data")
    if isinstance(inner, list):  # a page of an API: {"data": [...], ...}
        return format_of(inner)
    if isinstance(fields.get("trace"), dict) or ("id" in fields and not _LANGFUSE_KEYS.isdisjoint(fields)):
        return "langfuse"
    return None
