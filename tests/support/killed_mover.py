"""A mover that kills its own process: `python -m tests.support.killed_mover DATABASE_URL FOLDER CALL WHEN`.

CALL is a call of the object store (put, get, size, delete), WHEN is `before` or `after` it. It moves what there is to
move, and deletes what nobody names, until then.
"""

import asyncio
import os
import signal
import sys

from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.postgres.store import connect
from tests.support.faulty_objects import FaultyObjects

LEAST = 64 * 1024
_MOST_STEPS = 50


async def main(dsn: str, folder: str, call: str, when: str) -> None:
    objects = FaultyObjects(open_object_store(f"file://{folder}", 10))

    async def die(name: str) -> None:
        if name == call:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(objects, when, die)
    store = await connect(dsn, pool_size=2, objects=objects)
    mover = ObjectMover(store.moves, store.objects, least_bytes=LEAST, grace_s=0, wait_s=0, clock=lambda: 1e9)
    for _ in range(_MOST_STEPS):
        await mover.run_once()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
