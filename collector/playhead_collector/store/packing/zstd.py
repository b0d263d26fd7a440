"""Compresses with zstd and dictionaries: a message of 400 bytes becomes two thirds of its size without a dictionary,
and a fifth with one.

A built-in dictionary is text that Playhead's own JSON repeats (dictionaries/*.txt; the most frequent text is last,
where references to it are shortest).  Compressed data needs its dictionary for ever, so these files never change: a
better one gets the next number.  In addition, each project gets dictionaries trained on its contents.
"""

import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import zstandard

# Above this a dictionary gains nothing, and compressing at `LEVEL` would block the event loop.
LARGE_BYTES = 128 * 1024
# ARRIVING_LEVEL is for contents that are packed later: messages become 1 % larger, in two thirds of the time.
# PACK_LEVEL is for packs, which are written once and in the background: about 4 % smaller, 7 ms for 80 kB.
LEVEL, ARRIVING_LEVEL, LARGE_LEVEL, PACK_LEVEL = 9, 5, 3, 16
# The number of the dictionary for new data, and for records of conversations; data of all numbers can be read.
NEWEST = 1
NEWEST_FOR_RECORDS = 2
T = TypeVar("T")
# The library's version for PyPy does not have it.
_HAS_MANY = "multi_compress_to_buffer" in zstandard.backend_features
_FOLDER = Path(__file__).with_name("dictionaries")


class Zstd:
    """Compresses and decompresses with one dictionary.

    Frames have no magic number, dictionary id or checksum, which saves nine bytes for each of many small bodies. The
    row of a body names its dictionary, and its ref is a better checksum. `trained`: the dictionary has zstd's format,
    not plain text. `once`: the dictionary is not prepared for repeated use.
    """

    def __init__(self, dictionary: bytes, *, trained: bool = False, once: bool = False) -> None:
        self._kind = zstandard.DICT_TYPE_FULLDICT if trained else zstandard.DICT_TYPE_RAWCONTENT
        self._bytes, self._once = dictionary, once
        self._dictionary: Any = zstandard.ZstdCompressionDict(dictionary, dict_type=self._kind)
        # Threads share digested dictionaries. Each thread has its own compressors and decompressors, which are not
        # thread-safe.
        self._digested: dict[int, Any] = {}
        self._local = threading.local()

    def compress(self, data: bytes, level: int = LEVEL) -> bytes:
        """Compresses the data; more than LARGE_BYTES are compressed at LARGE_LEVEL."""
        level = level if len(data) <= LARGE_BYTES else LARGE_LEVEL
        return self._tool(f"level_{level}", lambda: self._compressor(level)).compress(data)

    def compress_pack(self, data: bytes) -> bytes:
        """Compresses a pack of contents of any size at PACK_LEVEL: packs are written once, in a thread, and kept."""
        return self._tool(f"level_{PACK_LEVEL}", lambda: self._compressor(PACK_LEVEL)).compress(data)

    def compress_many(self, items: Sequence[bytes], level: int = LEVEL) -> list[bytes]:
        """Compresses each of the items, with the same result as `compress`.

        Releases the GIL once, not once per item: a thread that releases the GIL for microseconds may wait milliseconds
        until it has the GIL again.
        """
        together: list[Any] = [data for data in items if 0 < len(data) <= LARGE_BYTES] if _HAS_MANY else []
        if not together:
            return [self.compress(data, level) for data in items]
        bodies = iter(self._tool(f"level_{level}", lambda: self._compressor(level)).multi_compress_to_buffer(together))
        return [
            next(bodies).tobytes() if 0 < len(data) <= LARGE_BYTES else self.compress(data, level) for data in items
        ]

    def read(self, body: bytes) -> bytes:
        """Decompresses a body. Raises zstandard.ZstdError when the body is damaged."""
        return self._tool("reader", self._reader).decompress(body)

    def _compressor(self, level: int) -> zstandard.ZstdCompressor:
        parameters = _parameters(level)
        if self._once:
            return zstandard.ZstdCompressor(dict_data=self._dictionary, compression_params=parameters)
        # One per level: zstd uses the level at which the dictionary was digested, not the one in the parameters.
        if level not in self._digested:
            digested: Any = zstandard.ZstdCompressionDict(self._bytes, dict_type=self._kind)
            digested.precompute_compress(compression_params=parameters)
            self._digested[level] = digested
        return zstandard.ZstdCompressor(dict_data=self._digested[level], compression_params=parameters)

    def _reader(self) -> zstandard.ZstdDecompressor:
        return zstandard.ZstdDecompressor(dict_data=self._dictionary, format=zstandard.FORMAT_ZSTD1_MAGICLESS)

    def _tool(self, name: str, make: Callable[[], T]) -> T:
        tool = getattr(self._local, name, None)
        if tool is None:
            tool = make()
            setattr(self._local, name, tool)
        return tool


def _parameters(level: int) -> Any:
    library: Any = zstandard  # its types do not know the keywords
    return library.ZstdCompressionParameters.from_level(
        level, format=zstandard.FORMAT_ZSTD1_MAGICLESS, write_dict_id=False
    )


@cache
def builtin(version: int) -> Zstd:
    """Returns the compressor of the built-in dictionary with this number."""
    return Zstd(_text(version))


def compress_json(json: bytes, reference: bytes | None = None) -> bytes:
    """Compresses JSON. The first byte of the result is the number of the dictionary. `reference`: other JSON with much
    the same content, which is needed again to decompress.

    The result may contain any string. Postgres would refuse NUL characters and lone surrogates in a text column.
    """
    return bytes((NEWEST,)) + _with(NEWEST, reference).compress(json)


def decompress_json(body: bytes, reference: bytes | None = None) -> bytes:
    """Returns the JSON that was given to `compress_json`. `reference`: the same as there."""
    return _with(body[0], reference).read(body[1:])


def _with(version: int, reference: bytes | None) -> Zstd:
    return builtin(version) if reference is None else Zstd(_text(version) + reference, once=True)


@cache
def _text(version: int) -> bytes:
    return (_FOLDER / f"{version}.txt").read_bytes()
