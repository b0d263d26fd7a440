"""[store]: the zstd dictionaries with which the data of each project is compressed."""

from collections.abc import Callable

from playhead_collector.store.packing.zstd import NEWEST, Zstd, builtin
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn

AS_IT_IS = 0
"""The encoding of uncompressed data."""


class Dictionaries:
    """The zstd dictionaries of each project, each read only once.  An encoding is the number of a dictionary: below 0 a
    built-in one, above 0 one of the project; 0 means no compression."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Zstd] = {}
        self._newest: dict[int, int] = {}

    async def newest(self, conn: Conn, project_id: int) -> int:
        """Returns the encoding for new data."""
        if project_id not in self._newest:
            useful = [
                row["dictionary"]
                for row in await sql.rows(conn, "dictionaries", project_id=project_id)
                if row["useful"]
            ]
            self.use(project_id, max(useful, default=-NEWEST))
        return self._newest[project_id]

    def use(self, project_id: int, encoding: int) -> None:
        """Sets the encoding for new data."""
        self._newest[project_id] = encoding

    async def zstd(self, conn: Conn, project_id: int, encoding: int) -> Zstd:
        """Returns the compressor and decompressor of this encoding."""
        if encoding < 0:
            return builtin(-encoding)
        if (project_id, encoding) not in self._known:
            body = await sql.value(conn, "dictionary", project_id=project_id, dictionary=encoding)
            self._known[project_id, encoding] = Zstd(body, trained=True)
        return self._known[project_id, encoding]

    async def reader(self, conn: Conn, project_id: int, encoding: int) -> Callable[[bytes], bytes]:
        """Returns a function that decompresses bodies of this encoding, in any thread. The function raises
        zstandard.ZstdError."""
        return bytes if encoding == AS_IT_IS else (await self.zstd(conn, project_id, encoding)).read

    async def plain(self, conn: Conn, project_id: int, encoding: int, body: bytes) -> bytes:
        """Returns the decompressed body. Raises zstandard.ZstdError when the body is damaged."""
        return body if encoding == AS_IT_IS else (await self.zstd(conn, project_id, encoding)).read(body)
