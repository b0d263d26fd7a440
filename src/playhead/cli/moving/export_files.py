"""[export]: writes the files of an export to a folder, and packs the folder into one file if that is requested."""

import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from playhead.errors import SettingInvalid
from playhead.model.canonical import Content
from playhead.wire import export_layout as layout

_TAR = (".tar", ".tar.gz", ".tgz", ".tar.zst")


class _LineWriter:
    """Writes lines to a file; counts and hashes them."""

    def __init__(self, to: BinaryIO) -> None:
        self._to = to
        self._hash = hashlib.sha256()
        self.lines = self.bytes = 0

    def write(self, line: bytes) -> None:
        data = line + b"\n"
        self._to.write(data)
        self._hash.update(data)
        self.lines += 1
        self.bytes += len(data)

    def done(self) -> layout.LineFile:
        return layout.LineFile(self.lines, self.bytes, self._hash.hexdigest())


class ExportFiles:
    """The files of an export while it is written. Methods raise OSError."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._lines = {name: _LineWriter(stack.enter_context((folder / name).open("wb"))) for name in layout.LINE_FILES}

    def line(self, name: str, line: bytes) -> None:
        """Adds a line to the line file with this name."""
        self._lines[name].write(line)

    def content(self, content: Content) -> None:
        """Adds a content. Call this once for each content."""
        ref = content.ref.plain
        path = self._folder / layout.content_file(ref.digest.hex())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.data)
        self.line(layout.CONTENTS, layout.ContentLine(ref, content.media_type, len(content.data)).line())

    def files(self) -> dict[str, layout.LineFile]:
        """Returns the counts and hashes of the line files, for the manifest."""
        return {name: writer.done() for name, writer in self._lines.items()}

    def manifest(self, manifest: layout.Manifest) -> None:
        """Writes the manifest. Call this last: it marks the export as complete."""
        (self._folder / layout.MANIFEST).write_bytes(layout.manifest_bytes(manifest))


@contextmanager
def export_to(output: Path) -> Generator[ExportFiles]:
    """Gives the files of an export. When the block ends without an error, they are at `output`: as a folder, or as one
    file if the name has a suffix of an archive.

    Until then they are in a temporary folder beside it. Raises SettingInvalid if `output` exists and is not an empty
    folder, or cannot be written.
    """
    if output.exists() and (output.is_file() or any(output.iterdir())):
        raise SettingInvalid(f"{output} exists: name another --output, or remove it")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    except OSError as error:
        raise SettingInvalid(
            f"nothing can be written beside {output} ({error.strerror}): name another --output"
        ) from error
    try:
        with ExitStack() as stack:
            yield ExportFiles(folder, stack)
        if output.name.endswith(_TAR):
            _as_tar(folder, output)
        else:
            folder.chmod(0o755)
            if output.exists():
                output.rmdir()
            folder.rename(output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_tar(folder: Path, output: Path) -> None:
    partial = folder.with_name(folder.name + ".tar")
    try:
        with partial.open("wb") as to:
            if output.name.endswith(".zst"):
                with zstandard.ZstdCompressor(level=9).stream_writer(to, closefd=False) as packed:
                    _add_all(folder, packed, "w|")
            else:
                _add_all(folder, to, "w|" if output.name.endswith(".tar") else "w|gz")
        partial.rename(output)
    finally:
        partial.unlink(missing_ok=True)


def _add_all(folder: Path, to: object, mode: str) -> None:
    """Adds the line files before the contents: a reader of the stream then knows each content's description before its
    bytes."""
    with cast(Any, tarfile).open(fileobj=to, mode=mode, format=tarfile.PAX_FORMAT) as tar:
        for name in (layout.MANIFEST, *layout.LINE_FILES):
            tar.add(folder / name, name)
        for path in sorted((folder / layout.FOLDER).rglob("*")):
            if path.is_file():
                tar.add(path, path.relative_to(folder).as_posix())
