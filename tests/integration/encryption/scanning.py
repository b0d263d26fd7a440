"""Looks for texts in all files of a folder: as they are, and in frames of zstd, as the collector stores bodies."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import zstandard

from playhead_collector.store.packing import zstd
from tests.support.files_below import files_below

_FOLDER = Path(zstd.__file__).with_name("dictionaries")
_MAGIC = b"\x28\xb5\x2f\xfd"
# The first byte of a frame of one segment: how many bytes the size takes that follows.
_SIZE_BYTES = {0x20: 1, 0x60: 2, 0xA0: 4}
_BLOCK_HEADER_BYTES, _LARGEST_BLOCK = 3, 128 * 1024
_MOST_BYTES = 1 << 20


def found_in(folder: Path, texts: Mapping[str, str], dictionaries: Sequence[bytes] = ()) -> dict[str, str]:
    """Returns the names of the texts that are in any file below the folder, each with the file. `dictionaries`: trained
    ones, besides those that the collector brings."""
    sought = {name: text.encode() for name, text in texts.items()}
    readers = _readers(dictionaries)
    found: dict[str, str] = {}
    for file, data in files_below(folder):
        for part in (data, *_decompressed(data, readers)):
            lower = part.lower()
            found |= {name: str(file) for name, text in sought.items() if name not in found and text.lower() in lower}
    return found


def _readers(dictionaries: Sequence[bytes]) -> list[zstandard.ZstdDecompressor]:
    raw = [zstandard.ZstdCompressionDict(file.read_bytes(), dict_type=1) for file in sorted(_FOLDER.glob("*.txt"))]
    trained = [zstandard.ZstdCompressionDict(body) for body in dictionaries]
    return [
        zstandard.ZstdDecompressor(dict_data=each, format=zstandard.FORMAT_ZSTD1_MAGICLESS) for each in raw + trained
    ]


def _decompressed(data: bytes, readers: Sequence[zstandard.ZstdDecompressor]) -> Iterator[bytes]:
    """Yields what each frame holds that begins anywhere in the data, as far as it can be read."""
    for start in _frame_starts(data):
        part = data[start : start + _LARGEST_BLOCK]
        for reader in readers:
            try:
                yield reader.decompressobj().decompress(part)
            except (zstandard.ZstdError, MemoryError):
                continue


def _frame_starts(data: bytes) -> list[int]:
    """Returns where a frame of zstd may begin: a header of one segment, and a compressed or raw block that fits."""
    numbers = np.frombuffer(data, dtype=np.uint8)
    starts: list[int] = []
    for first, size_bytes in _SIZE_BYTES.items():
        behind = 1 + size_bytes + _BLOCK_HEADER_BYTES
        at = np.flatnonzero(numbers[: max(0, len(numbers) - behind)] == first)
        size = sum(numbers[at + 1 + n].astype(np.int64) << (8 * n) for n in range(size_bytes)) + (
            256 if size_bytes == 2 else 0
        )
        header = sum(numbers[at + 1 + size_bytes + n].astype(np.int64) << (8 * n) for n in range(_BLOCK_HEADER_BYTES))
        kind, block = header >> 1 & 3, header >> 3
        fits = (block > 2) & (block <= np.minimum(size, _LARGEST_BLOCK)) & (size <= _MOST_BYTES)
        fits &= (kind == 2) | ((kind == 0) & (block == size))
        starts += at[fits].tolist()
    return starts
