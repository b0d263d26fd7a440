"""zstd with dictionaries: a message of 400 bytes is compressed to two thirds without one, to a fifth with one.

A dictionary of ours is text that our own JSON repeats (dictionaries/*.txt; the most frequent text is last, where
references to it are shortest).  Compressed data needs its dictionary for ever, so these files never change: a better
one gets the next number.  In addition, each project gets dictionaries trained on its contents.
"""

import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import zstandard

# Above this a dictionary gains nothing, and compressing at `LEVEL` would block the event loop.
LARGE_BYTES = 128 * 1024
# ARRIVING is of contents that will be packed later: messages become 1 % larger in two thirds of the time.  PACK is of
# packs, which are written once and in the background: some 4 % smaller, 7 ms for 80 kB.
LEVEL, ARRIVING_LEVEL, LARGE_LEVEL, PACK_LEVEL = 9, 5, 3, 16
# The number of the dictionary for new data; data of all numbers can be read.
NEWEST = 1
T = TypeVar("T")
# Not in the library's version for PyPy.
_HAS_MANY = "multi_compress_to_buffer" in zstandard.backend_features
_FOLDER = Path(__file__).with_name("dictionaries")


class Zstd:
    """Compresses and reads with one dictionary.  Frames carry no magic number, dictionary id or checksum: nine bytes
    less for each of many small bodies; what they are is in the row, and a ref is a better checksum."""

    def __init__(self, dictionary: bytes, *, trained: bool = False, once: bool = False) -> None:
        self._kind = zstandard.DICT_TYPE_FULLDICT if trained else zstandard.DICT_TYPE_RAWCONTENT
        self._bytes, self._once = dictionary, once
        self._dictionary: Any = zstandard.ZstdCompressionDict(dictionary, dict_type=self._kind)
        # Digested dictionaries are shared; compressors and readers are not made for several threads.
        self._digested: dict[int, Any] = {}
        self._local = threading.local()

    def compress(self, data: bytes, level: int = LEVEL) -> bytes:
        """Compresses the data; large data at LARGE_LEVEL."""
        level = level if len(data) <= LARGE_BYTES else LARGE_LEVEL
        return self._tool(f"level_{level}", lambda: self._compressor(level)).compress(data)

    def compress_pack(self, data: bytes) -> bytes:
        """Compresses a pack of contents, of any size: packs are written once, in a thread, and kept."""
        return self._tool(f"level_{PACK_LEVEL}", lambda: self._compressor(PACK_LEVEL)).compress(data)

    def compress_many(self, items: Sequence[bytes], level: int = LEVEL) -> list[bytes]:
        """Compresses each of the items, as `compress` does.

        It releases the GIL once, not for each of them: a thread that releases it for microseconds may wait for
        milliseconds until it has it again.
        """
        together: list[Any] = [data for data in items if 0 < len(data) <= LARGE_BYTES] if _HAS_MANY else []
        if not together:
            return [self.compress(data, level) for data in items]
        bodies = iter(self._tool(f"level_{level}", lambda: self._compressor(level)).multi_compress_to_buffer(together))
        return [
            next(bodies).tobytes() if 0 < len(data) <= LARGE_BYTES else self.compress(data, level) for data in items
        ]

    def read(self, body: bytes) -> bytes:
        """Decompresses a body. Raises zstandard.ZstdError when it is damaged."""
        return self._tool("reader", self._reader).decompress(body)

    def _compressor(self, level: int) -> zstandard.ZstdCompressor:
        parameters = _parameters(level)
        if self._once:
            return zstandard.ZstdCompressor(dict_data=self._dictionary, compression_params=parameters)
        # One for each level: the level at which a dictionary was digested counts, whatever the parameters say.
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
    """A dictionary of ours."""
    return Zstd(_text(version))


def compress_json(json: bytes, reference: bytes | None = None) -> bytes:
    """Compresses JSON; the first byte names the dictionary. `reference`: other JSON with much the same content, needed
    again to decompress.

    As bytes, any string is safe: NUL characters and lone surrogates are escaped in it, which Postgres would refuse in
    a text.
    """
    return bytes((NEWEST,)) + _with(NEWEST, reference).compress(json)


def decompress_json(body: bytes, reference: bytes | None = None) -> bytes:
    """Returns the JSON that `compress_json` compressed."""
    return _with(body[0], reference).read(body[1:])


def _with(version: int, reference: bytes | None) -> Zstd:
    return builtin(version) if reference is None else Zstd(_text(version) + reference, once=True)


@cache
def _text(version: int) -> bytes:
    return (_FOLDER / f"{version}.txt").read_bytes()
