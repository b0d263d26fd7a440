"""An object store in front of another, that fails as a test says."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from playhead_collector.errors import ObjectStoreUnavailable
from playhead_collector.store.ports.objects import ObjectStore


class FaultyObjects:
    """Passes all calls on to `store`.

    `is_down`: every call raises. `is_full`: writing raises. `garble`: is given what is read, and returns it changed.
    `before`: is called with the name of each call before it, `after` after it. `counts`: calls by their names.
    """

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.is_down = False
        self.is_full = False
        self.garble: Callable[[bytes], bytes] | None = None
        self.before: Callable[[str], Awaitable[None]] | None = None
        self.after: Callable[[str], Awaitable[None]] | None = None
        self.counts: dict[str, int] = {}

    async def put(self, key: str, data: bytes) -> None:
        await self._begin("put")
        if self.is_full:
            raise ObjectStoreUnavailable("507 Insufficient Storage")
        await self.store.put(key, data)
        await self._end("put")

    async def get_ranges(self, key: str, ranges: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        await self._begin("get")
        found = await self.store.get_ranges(key, ranges)
        await self._end("get")
        return found if self.garble is None else list(map(self.garble, found))

    async def size(self, key: str) -> int | None:
        await self._begin("size")
        return await self.store.size(key)

    async def delete(self, keys: Collection[str]) -> None:
        await self._begin("delete")
        await self.store.delete(keys)
        await self._end("delete")

    async def keys(self, prefix: str = "") -> Sequence[str]:
        return await self.store.keys(prefix)

    async def _begin(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
        if self.before is not None:
            await self.before(name)
        if self.is_down:
            raise ObjectStoreUnavailable("the object store is down")

    async def _end(self, name: str) -> None:
        if self.after is not None:
            await self.after(name)
