"""[import]: files and folders → records, contents and threads, in a fixed order.

Invalid data raises no error: a record that cannot be read becomes an `UnreadableRecord`. OSError is raised.
"""

import hashlib
import tarfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from playhead.archive import langfuse, phoenix
from playhead.archive.documents import (
    Document,
    Format,
    format_of,
    is_json,
    is_parquet,
    is_tar,
    json_documents,
    lines_of,
)
from playhead.archive.protobuf import ZSTD_MAGIC, protobuf_file
from playhead.archive.records import JSON, FilePlace, OtlpRecord, UnreadableRecord, json_records
from playhead.errors import SettingInvalid
from playhead.model.span import Span
from playhead.wire import export_layout as layout
from playhead.wire.otlp_json import span_json
from playhead.wire.pack import ThreadExtension

_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1024 * 1024
# Maximum memory for decoding a zstd frame: zstd's own default.
_ZSTD_WINDOW = 128 * 1024 * 1024
# Number of rows of a Parquet file to read at a time, and the approximate size of a row in a request, in bytes.
_PARQUET_ROWS, _PARQUET_ROW_BYTES = 200, 20_000


@dataclass(frozen=True, slots=True)
class StoredContent:
    """A content of an export; its bytes are still on disk."""

    line: layout.ContentLine
    path: Path
    where: FilePlace


@dataclass(frozen=True, slots=True)
class ExportedScore:
    """A score of an export."""

    score: layout.ScoreLine
    where: FilePlace


@dataclass(frozen=True, slots=True)
class ExportedNote:
    """A note of an export."""

    note: layout.NoteLine
    where: FilePlace


@dataclass(frozen=True, slots=True)
class StoredThread:
    """A thread of an export."""

    thread: ThreadExtension
    where: FilePlace


Item = OtlpRecord | UnreadableRecord | StoredContent | StoredThread | ExportedScore | ExportedNote


@dataclass(slots=True)
class ImportFiles:
    """The files to read, the bytes read so far, and the detected formats. `most`: maximum size of a record in bytes."""

    forced: Format | None
    most: int
    scratch: Path
    total_bytes: int = 0
    read_bytes: int = 0
    formats: dict[str, str] = field(default_factory=dict[str, str])

    def items(self, paths: Sequence[Path]) -> Iterator[Item]:
        """Yields everything in these files and folders."""
        for path in paths:
            if (path / layout.MANIFEST).is_file() and self.forced in {None, "playhead"}:
                yield from self._export(path, str(path))
            elif path.is_dir():
                for file in files_below(path):
                    yield from self._file(file)
            else:
                yield from self._file(path)

    def _file(self, path: Path) -> Iterator[Item]:
        name = str(path)
        try:
            with self._open(path) as stream:
                yield from self._stream(stream, path, name)
        except (EOFError, zlib.error, zstandard.ZstdError) as error:
            yield UnreadableRecord(FilePlace(name, 1), f"it cannot be decompressed ({error})")

    def _stream(self, stream: "_Stream", path: Path, name: str) -> Iterator[Item]:
        first = stream.read(_PIECE)
        if is_tar(first):
            yield from self._tar(path, name)
        elif is_parquet(first):
            self.formats[name] = "phoenix"
            yield from self._parquet(path, name)
        elif is_json(first):
            yield from self._json(first, stream.read, name)
        elif first:
            self.formats[name] = "otlp (protobuf)"
            yield from protobuf_file(first, stream.read, name, self.most)

    def _json(self, first: bytes, read: Callable[[int], bytes], name: str) -> Iterator[Item]:
        pieces = [first]
        documents = json_documents(lambda size: pieces.pop() if pieces else read(size), name, self.most)
        form = self.forced
        for document in documents:
            if isinstance(document, UnreadableRecord):
                yield document
                continue
            form = form or format_of(document.value)
            if form is None:
                yield UnreadableRecord(document.where, "it is of no format that is known: say which with --format")
                continue
            self.formats[name] = form
            yield from _records(form, document)

    def _parquet(self, path: Path, name: str) -> Iterator[Item]:
        try:
            for number, row in enumerate(_parquet_rows(path), 1):
                yield from _row("phoenix", row, FilePlace(name, number), _PARQUET_ROW_BYTES)
        except (ValueError, OSError) as error:
            yield UnreadableRecord(FilePlace(name, 1), f"it is damaged, or no Parquet after all ({error})")

    def _tar(self, path: Path, name: str) -> Iterator[Item]:
        folder = self.scratch / hashlib.sha256(str(path).encode()).hexdigest()[:16]
        folder.mkdir()
        try:
            with self._open(path, counted=False) as stream:
                _unpack(stream, folder)
        except (tarfile.TarError, EOFError) as error:
            yield UnreadableRecord(
                FilePlace(name, 1), f"it is damaged or cut short ({error}): what was read of it is imported"
            )
        yield from self._export(folder, name)

    # --- our own --------------------------------------------------------------------------------------------------

    def _export(self, folder: Path, name: str) -> Iterator[Item]:
        self.formats[name] = "playhead"
        try:
            manifest = layout.read_manifest((folder / layout.MANIFEST).read_bytes())
        except (OSError, layout.BadExport) as error:
            yield UnreadableRecord(FilePlace(f"{name}/{layout.MANIFEST}", 1), str(error))
            return
        for file in (layout.CONTENTS, layout.THREADS, layout.TRACES, layout.LOGS, layout.SCORES, layout.NOTES):
            if file not in layout.IN_ALL_VERSIONS and file not in manifest.files:
                continue
            yield from self._export_file(folder / file, f"{name}/{file}", manifest.files.get(file))

    def _export_file(self, path: Path, name: str, entry: layout.LineFile | None) -> Iterator[Item]:
        whole = hashlib.sha256()
        lines = 0
        try:
            with self._open(path) as stream:
                read = _hashed(stream.read, whole)
                for lines, line in enumerate(lines_of(read(_PIECE), read, self.most), 1):
                    where = FilePlace(name, lines)
                    yield from self._export_line(path, line, where)
        except FileNotFoundError:
            yield UnreadableRecord(FilePlace(name, 1), "the file is missing")
            return
        if entry is not None and (lines, whole.hexdigest()) != (entry.lines, entry.sha256):
            message = (
                f"it has {lines:,} lines, and the manifest says {entry.lines:,}, or others: it was changed or cut short"
            )
            yield UnreadableRecord(FilePlace(name, lines), message)

    def _export_line(self, path: Path, line: bytes | None, where: FilePlace) -> Iterator[Item]:
        if line is None:
            yield UnreadableRecord(where, "it is too long: raise --max-record-bytes")
            return
        try:
            if path.name == layout.CONTENTS:
                content = layout.read_content_line(line)
                file = layout.content_file(content.ref.digest.hex())
                yield StoredContent(content, path.parent / file, where)
            elif path.name == layout.THREADS:
                yield StoredThread(layout.read_thread_line(line), where)
            elif path.name == layout.SCORES:
                yield ExportedScore(layout.read_score_line(line), where)
            elif path.name == layout.NOTES:
                yield ExportedNote(layout.read_note_line(line), where)
            else:
                yield from json_records(layout.parse_json(line), where, len(line))
        except ValueError as error:
            yield UnreadableRecord(where, f"the line cannot be read ({error})")

    # --- bytes ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _open(self, path: Path, *, counted: bool = True) -> "Generator[_Stream]":
        with path.open("rb") as raw:
            yield _Stream(raw, self if counted else None)


class _Stream:
    """A file's bytes, decompressed if the first bytes show that it is gzip or zstd."""

    def __init__(self, raw: BinaryIO, counter: ImportFiles | None) -> None:
        self._raw, self._counter = raw, counter
        head = raw.read(4)
        raw.seek(0)
        self._unpacked: Any = None
        if head.startswith(_GZIP_MAGIC):
            self._unpacked = _Gzip(self._raw_read)
        elif head == ZSTD_MAGIC:
            unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
            self._unpacked = unpacker.stream_reader(cast(Any, _Readable(self._raw_read)), read_across_frames=True)

    def read(self, size: int) -> bytes:
        """Returns at most `size` bytes; empty at the end."""
        return self._raw_read(size) if self._unpacked is None else self._unpacked.read(size)

    def _raw_read(self, size: int) -> bytes:
        data = self._raw.read(size)
        if self._counter is not None:
            self._counter.read_bytes += len(data)
        return data


class _Readable:
    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read


class _Gzip:
    """Like `gzip.GzipFile`, for a source that can only be read forward; also reads several members in one file."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._rest = b""

    def read(self, size: int) -> bytes:
        while True:
            if self._unpacker.eof:
                self._rest = self._unpacker.unused_data or self._read(_PIECE)
                if not self._rest.strip(b"\0"):
                    return b""
                self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
            data = self._rest or self._read(_PIECE)
            if not data:
                raise EOFError("it ends too early")
            out = self._unpacker.decompress(data, size)
            self._rest = self._unpacker.unconsumed_tail
            if out:
                return out


def files_below(path: Path) -> list[Path]:
    """Returns the files in a folder and its subfolders, by name, without hidden ones."""
    files = (file for file in path.rglob("*") if file.is_file())
    return sorted(file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts))


def total_bytes(paths: Iterable[Path]) -> int:
    """Returns the size of all files that will be read, without contents of an export."""
    size = 0
    for path in paths:
        if (path / layout.MANIFEST).is_file():
            size += sum((path / name).stat().st_size for name in layout.LINE_FILES if (path / name).is_file())
        else:
            size += sum(file.stat().st_size for file in (files_below(path) if path.is_dir() else [path]))
    return size


def _hashed(read: Callable[[int], bytes], into: Any) -> Callable[[int], bytes]:
    def reading(size: int) -> bytes:
        data = read(size)
        into.update(data)
        return data

    return reading


def _records(form: Format, document: Document) -> Iterator[Item]:
    if form in {"otlp", "playhead"}:
        yield from json_records(document.value, document.where, document.size)
        return
    rows = _rows(document.value)
    for number, row in enumerate(rows):
        where = document.where if len(rows) == 1 else FilePlace(f"{document.where}", number + 1)
        yield from _row(form, row, where, document.size // len(rows))


def _rows(document: object) -> list[Any]:
    """Returns the rows of a document: the items of a list; of a page of an API, the items under `data`."""
    value: Any = cast(dict[str, Any], document).get("data", document) if isinstance(document, dict) else document
    return cast(list[Any], value) if isinstance(value, list) else [value]


def _row(form: Format, row: object, where: FilePlace, size: int) -> Iterator[Item]:
    if not isinstance(row, dict):
        yield UnreadableRecord(where, f"it is {str(row)[:50]!r}, and no row")
        return
    for span in _SPANS[form](cast(dict[str, Any], row)):
        if isinstance(span, ValueError):
            yield UnreadableRecord(where, str(span))
        else:
            yield OtlpRecord("traces", JSON, where, size, _NO_RESOURCE, _scope(span.scope), span_json(span))


def _phoenix_span(row: Mapping[str, Any]) -> Iterator[Span | ValueError]:
    try:
        yield phoenix.span_of_row(row)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        yield ValueError(f"it is no span of Phoenix: {error}")


_SPANS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Span | ValueError]]] = {
    "phoenix": _phoenix_span,
    "langfuse": langfuse.spans_of_row,
}
_NO_RESOURCE: dict[str, Any] = {}


@cache  # one object for each name, so that records of one scope are sent together
def _scope(name: str) -> dict[str, str]:
    return {"name": name}


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the rows of a Parquet file, a batch at a time. Raises SettingInvalid if the library is not installed;
    ValueError if the file is damaged."""
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        message = f"{path} is Parquet, and pyarrow, which reads it, is not installed: pip install 'playhead[import]'"
        raise SettingInvalid(message) from None
    for batch in parquet.ParquetFile(path).iter_batches(batch_size=_PARQUET_ROWS):
        yield from batch.to_pylist()


def _unpack(stream: _Stream, folder: Path) -> None:
    """Unpacks the files of an export, and no other files. Raises TarError, EOFError."""
    opened: Any = cast(Any, tarfile).open(fileobj=stream, mode="r|")
    with ExitStack() as stack:
        tar = stack.enter_context(opened)
        for member in tar:
            name = member.name.removeprefix("./")
            wanted = name == layout.MANIFEST or name in layout.LINE_FILES or layout.digest_of_file(name) is not None
            source = tar.extractfile(member) if member.isreg() and wanted else None
            if source is None:
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as to:
                while piece := source.read(_PIECE):
                    to.write(piece)


def existing(paths: Sequence[Path]) -> list[Path]:
    """Returns the paths. Raises SettingInvalid if one of them does not exist."""
    for path in paths:
        if not path.exists():
            raise SettingInvalid(f"there is no file or folder {path}: name what to import")
    return list(paths)
