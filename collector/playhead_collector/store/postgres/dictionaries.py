"""[store]: the zstd dictionaries with which the data of each project is compressed, and their training.

A dictionary halves the size of stored messages, since contents of one project repeat the same prompts, tools and
phrases.  The first one is trained when a project has 1,000 contents, the next one each time it has 16 times as many.
Training takes 40 ms in a thread, during the request that reaches the number.  Stored contents are not compressed
again.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import zstandard

from playhead_collector.errors import StoreUnavailable
from playhead_collector.store.packing.zstd import NEWEST, Zstd, builtin
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.statements import Conn

log = logging.getLogger(__name__)

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


# --- training --------------------------------------------------------------------------------------------------------

FIRST_AT = 1_000
AGAIN_AT_TIMES = 16
_NEVER = 2**63
DICTIONARY_BYTES = 32 * 1024
SAMPLES = 2_000
FEWEST_SAMPLES = 500
LARGEST_SAMPLE = 16 * 1024
# A dictionary is stored only if samples it was not trained on compress to less than this share of their size now:
# dictionaries are kept for ever.
WORTH = 0.9


class DictionaryTrainer:
    """Counts new contents of projects, and trains a dictionary when a project has enough of them."""

    def __init__(self, db: Database, dictionaries: Dictionaries) -> None:
        self._db = db
        self._known = dictionaries
        self._new: dict[int, int] = {}
        self._look_again_after: dict[int, int] = {}

    async def stored(self, project_id: int, new: int) -> None:
        """Counts `new` contents of a project; called after each commit. Logs StoreUnavailable instead of raising it."""
        self._new[project_id] = self._new.get(project_id, 0) + new
        if self._new[project_id] < self._look_again_after.get(project_id, FIRST_AT // 4):
            return
        self._new[project_id] = 0
        try:
            await self._train_if_due(project_id)
        except StoreUnavailable:
            log.warning("could not train a dictionary; contents are stored all the same", exc_info=True)

    async def _train_if_due(self, project_id: int) -> None:
        async with self._db.transaction() as conn:
            if not await sql.value(conn, "lock_dictionaries", project_id=project_id):
                return
            if await sql.cipher_of(conn, project_id) is not None:  # a dictionary has texts of contents in it
                self._look_again_after[project_id] = _NEVER
                return
            earlier = await sql.rows(conn, "dictionaries", project_id=project_id)
            useful = max((row["dictionary"] for row in earlier if row["useful"]), default=-NEWEST)
            self._known.use(project_id, useful)  # another collector may have trained one
            due = earlier[0]["contents"] * AGAIN_AT_TIMES if earlier else FIRST_AT
            self._look_again_after[project_id] = due // 4
            if (contents := await sql.value(conn, "count_contents", project_id=project_id, enough=due)) < due:
                return
            samples = await self._samples(conn, project_id)
            if len(samples) < FEWEST_SAMPLES:  # nearly all contents are in packs: train when there are more again
                return
            body = await asyncio.to_thread(train, samples, await self._known.zstd(conn, project_id, useful))
            number = earlier[0]["dictionary"] + 1 if earlier else 1
            await sql.run(
                conn, "insert_dictionary", project_id=project_id, dictionary=number, contents=contents, body=body or b""
            )
        if body:
            self._known.use(project_id, number)

    async def _samples(self, conn: Conn, project_id: int) -> list[bytes]:
        rows = await sql.rows(conn, "sample_contents", project_id=project_id, wanted=SAMPLES, largest=LARGEST_SAMPLE)
        return [await self._known.plain(conn, project_id, row["encoding"], row["body"]) for row in rows]


def train(samples: Sequence[bytes], now: Zstd) -> bytes | None:
    """Returns a dictionary trained on the samples; None if it does not compress clearly better than `now`."""
    held_out = samples[::5]
    trained_on: list[Any] = [sample for n, sample in enumerate(samples) if n % 5]
    try:
        body = zstandard.train_dictionary(DICTIONARY_BYTES, trained_on).as_bytes()
    except zstandard.ZstdError:  # the samples have no repetitions
        return None
    learnt = Zstd(body, trained=True)
    before = sum(len(now.compress(sample)) for sample in held_out)
    after = sum(len(learnt.compress(sample)) for sample in held_out)
    return body if after < WORTH * before else None
