"""store: trains zstd dictionaries on a project's own contents, which halves what messages take.

Contents of one project are alike: the same prompts, tools and phrases.  The first dictionary is trained when there are
a thousand contents, the next ones each time there are sixteen times as many.  It takes 40 ms, within the request that
happens to be the one, in a thread; what is stored already stays as it is.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import zstandard

from playhead_collector.errors import StoreUnavailable
from playhead_collector.store.packing.zstd import NEWEST, Zstd
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.dictionaries import Dictionaries
from playhead_collector.store.postgres.statements import Conn

log = logging.getLogger(__name__)

FIRST_AT = 1_000
AGAIN_AT_TIMES = 16
DICTIONARY_BYTES = 32 * 1024
SAMPLES = 2_000
FEWEST_SAMPLES = 500
LARGEST_SAMPLE = 16 * 1024
# A dictionary has to make what it was not trained on smaller by this, or it is not worth another one to keep for ever.
WORTH = 0.9


class Learning:
    """Counts new contents, and trains when it is time."""

    def __init__(self, db: Database, known: Dictionaries) -> None:
        self._db = db
        self._known = known
        self._new: dict[int, int] = {}
        self._look_again_after: dict[int, int] = {}

    async def stored(self, project: int, new: int) -> None:
        """To be told after each commit.  Never fails: what was to be stored is stored."""
        self._new[project] = self._new.get(project, 0) + new
        if self._new[project] < self._look_again_after.get(project, FIRST_AT // 4):
            return
        self._new[project] = 0
        try:
            await self._learn(project)
        except StoreUnavailable:
            log.warning("could not train a dictionary; contents are stored all the same", exc_info=True)

    async def _learn(self, project: int) -> None:
        async with self._db.transaction() as conn:
            if not await sql.value(conn, "lock_dictionaries", project=project):
                return
            earlier = await sql.rows(conn, "dictionaries", project=project)
            useful = max((each["dictionary"] for each in earlier if each["useful"]), default=-NEWEST)
            self._known.use(project, useful)  # another collector may have trained one
            due = earlier[0]["contents"] * AGAIN_AT_TIMES if earlier else FIRST_AT
            self._look_again_after[project] = due // 4
            if (contents := await sql.value(conn, "count_contents", project=project, enough=due)) < due:
                return
            samples = await self._samples(conn, project)
            if len(samples) < FEWEST_SAMPLES:  # nearly all is packed: there will be more again
                return
            body = await asyncio.to_thread(train, samples, await self._known.zstd(conn, project, useful))
            number = earlier[0]["dictionary"] + 1 if earlier else 1
            await sql.run(
                conn, "insert_dictionary", project=project, dictionary=number, contents=contents, body=body or b""
            )
        if body:
            self._known.use(project, number)

    async def _samples(self, conn: Conn, project: int) -> list[bytes]:
        rows = await sql.rows(conn, "sample_contents", project=project, wanted=SAMPLES, largest=LARGEST_SAMPLE)
        return [await self._known.plain(conn, project, row["encoding"], row["body"]) for row in rows]


def train(samples: Sequence[bytes], now: Zstd) -> bytes | None:
    """A dictionary, or None when it would not make contents clearly smaller than they are `now`."""
    held_out = samples[::5]
    trained_on: list[Any] = [sample for n, sample in enumerate(samples) if n % 5]
    try:
        body = zstandard.train_dictionary(DICTIONARY_BYTES, trained_on).as_bytes()
    except zstandard.ZstdError:  # nothing repeats
        return None
    learnt = Zstd(body, trained=True)
    before = sum(len(now.compress(sample)) for sample in held_out)
    after = sum(len(learnt.compress(sample)) for sample in held_out)
    return body if after < WORTH * before else None
