"""[store]: the zstd dictionaries with which each project's data is compressed."""

from collections.abc import Callable

from playhead_collector.store.packing.zstd import NEWEST, Zstd, builtin
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn

AS_IT_IS = 0
"""The encoding of uncompressed data."""


class Dictionaries:
    """The zstd dictionaries of each project, read once.  An encoding's number names one: below 0 ours, above 0 the
    project's; 0 is no compression."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Zstd] = {}
        self._newest: dict[int, int] = {}

    async def newest(self, conn: Conn, project_id: int) -> int:
        """The encoding to write with."""
        if project_id not in self._newest:
            useful = [
                each["dictionary"]
                for each in await sql.rows(conn, "dictionaries", project_id=project_id)
                if each["useful"]
            ]
            self.use(project_id, max(useful, default=-NEWEST))
        return self._newest[project_id]

    def use(self, project_id: int, encoding: int) -> None:
        """Compresses with this encoding from now on."""
        self._newest[project_id] = encoding

    async def zstd(self, conn: Conn, project_id: int, encoding: int) -> Zstd:
        """The compressor and decompressor of this encoding."""
        if encoding < 0:
            return builtin(-encoding)
        if (project_id, encoding) not in self._known:
            body = await sql.value(conn, "dictionary", project_id=project_id, dictionary=encoding)
            self._known[project_id, encoding] = Zstd(body, trained=True)
        return self._known[project_id, encoding]

    async def reader(self, conn: Conn, project_id: int, encoding: int) -> Callable[[bytes], bytes]:
        """A function that decompresses bodies of this encoding, in any thread. It raises zstandard.ZstdError."""
        return bytes if encoding == AS_IT_IS else (await self.zstd(conn, project_id, encoding)).read

    async def plain(self, conn: Conn, project_id: int, encoding: int, body: bytes) -> bytes:
        """The decompressed body. Raises zstandard.ZstdError when it is damaged."""
        return body if encoding == AS_IT_IS else (await self.zstd(conn, project_id, encoding)).read(body)
