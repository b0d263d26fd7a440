"""Route for the amount of stored data."""

from fastapi import APIRouter, Response

from playhead.wire.operations.storage import Storage
from playhead_collector.read.storage import read_storage
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes.registering import get
from playhead_collector.store.ports import Store


class StorageRoutes:
    """Handler of the request."""

    def __init__(self, store: Store, project_id: int) -> None:
        self._store, self._project_id = store, project_id

    async def storage(self) -> Response:
        """How much is stored, by kind: contents, their bytes, and the inline bytes that they stand for.

        Each number says whether it is exact. Estimates come from Postgres' counters and from samples, so that the
        question costs the same however much is stored.
        """
        return json_answer(await read_storage(self._store, self._project_id))


def add_routes(api: APIRouter, store: Store, project_id: int) -> None:
    """Registers the operation of this file."""
    get(api, "content", "/storage", StorageRoutes(store, project_id).storage, Storage)
