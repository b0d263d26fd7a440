"""reading → [archive] → file.  Writes the files of an export (see `export_layout`) to one gzipped tar."""

import hashlib
import io
import tarfile
from collections import Counter, defaultdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import BinaryIO, Self

from playhead.model.canonical import Content
from playhead.model.thread import extend
from playhead.wire import export_layout as layout
from playhead.wire.pack import Pack, ThreadExtension

# Contents are compressed little better at higher levels, which take several times as long.
_COMPRESSION = 3


class Archive:
    """Writes an export to `file`.  Blocks.  Contents are written at once, the files of lines by `finish`.

    `known`: digests of contents and thread nodes that were written; `counts`: the numbers for the manifest.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._to = file
        self._lines: defaultdict[str, list[bytes]] = defaultdict(list)
        self.known: set[bytes] = set()
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._tar = tarfile.open(fileobj=self._to, mode="w:gz", compresslevel=_COMPRESSION, format=tarfile.PAX_FORMAT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tar.close()

    def line(self, name: str, line: bytes) -> set[bytes]:
        """Adds a line to one of the files of lines. Returns the digests of the refs in the line."""
        self._lines[name].append(line + b"\n")
        return layout.refs_in(line)

    def pack(self, pack: Pack) -> set[bytes]:
        """Adds contents and threads, each once. Returns the digests of the refs in those that are new."""
        digests: set[bytes] = set()
        for content in pack.contents:
            digests |= self._content(content)
        for thread in pack.threads:
            digests |= self._thread(thread)
        return digests

    def _content(self, content: Content) -> set[bytes]:
        ref = content.ref.plain
        if ref.digest in self.known:
            return set()
        self.known.add(ref.digest)
        self.counts.update(contents=1, content_bytes=len(content.data))
        self._file(layout.content_file(ref.digest.hex()), content.data)
        self.line(layout.CONTENTS, layout.ContentLine(ref, content.media_type, len(content.data)).line())
        return layout.refs_in(content.data)

    def _thread(self, thread: ThreadExtension) -> set[bytes]:
        new = [node for node in extend(thread.messages, thread.parent) if node.ref.digest not in self.known]
        if not new:
            return set()
        messages = tuple(node.message for node in new)
        self.known.update(node.ref.digest for node in new)
        self.line(layout.THREADS, layout.thread_line(ThreadExtension(new[0].parent, messages)))
        return {message.digest for message in messages}

    def finish(self) -> None:
        """Writes the files of lines and the manifest, which completes the export."""
        files: dict[str, layout.LineFile] = {}
        for name in layout.LINE_FILES:
            data = b"".join(self._lines[name])
            files[name] = layout.LineFile(len(self._lines[name]), len(data), hashlib.sha256(data).hexdigest())
            self._file(name, data)
        names = ("runs", "spans", "logs", "contents", "content_bytes", "missing", "scores")
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = layout.Manifest(_version(), made_at, **{name: self.counts[name] for name in names}, files=files)
        self._file(layout.MANIFEST, layout.manifest_bytes(manifest))

    def _file(self, name: str, data: bytes) -> None:
        about = tarfile.TarInfo(name)
        about.size = len(data)
        self._tar.addfile(about, io.BytesIO(data))


def _version() -> str:
    try:
        return version("playhead")
    except PackageNotFoundError:
        return "0"
