"""A pass of retention that kills its own process: `... killed_retainer DSN NOW_NS FOLDER CALL WHEN`.

CALL is a call of the object store (put, get), WHEN is `before` or `after` it; `-`: it is killed by somebody else.
"""

import asyncio
import os
import signal
import sys

from playhead_collector.retain.retainer import Retainer
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.postgres.store import connect
from tests.support.faulty_objects import FaultyObjects


async def main(dsn: str, now_ns: str, folder: str, call: str, when: str) -> None:
    objects = FaultyObjects(open_object_store(f"file://{folder}", 10))

    async def die(name: str) -> None:
        if name == call:
            os.kill(os.getpid(), signal.SIGKILL)

    if call != "-":
        setattr(objects, when, die)
    store = await connect(dsn, pool_size=2, clock=lambda: int(now_ns), objects=objects)
    await Retainer(store.tiers, wall_ns=lambda: int(now_ns), objects=store.moves).run_once()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
