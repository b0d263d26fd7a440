"""Routes for exports: stored spans of a run as OTLP, and a run as one file."""

import asyncio
import tempfile
from typing import Annotated

from fastapi import Query, Response

from playhead.wire import operations
from playhead.wire.operations.runs import OtlpRequest, RunOperations
from playhead_collector.read.bundle import write_bundle
from playhead_collector.read.record import RunProjector, open_record
from playhead_collector.read.spans import list_otlp
from playhead_collector.serve import routing
from playhead_collector.serve.operations import OperationRoutes
from playhead_collector.serve.responses import FileDownload, json_answer
from playhead_collector.serve.routing import ApiRoutes, Responses, get, refusals
from playhead_collector.store.ports import ReadStore

Pages = Annotated[int, Query(ge=1, le=16, description="Stored pages to read, of up to 256 spans and log events each.")]


class ExportRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: ReadStore, runner: RunProjector, project_id: int) -> None:
        self._store, self._runner, self._project_id = store, runner, project_id
        # A pack may hold a content of 64 MiB, and is completely in memory.
        self._packing = asyncio.Semaphore(2)

    async def otlp(self, run: routing.RunId, limit: Pages = 4, cursor: routing.Cursor = None) -> Response:
        """Spans and log events of a run as they are stored, as OTLP requests in JSON.

        Each item has `resourceSpans` or `resourceLogs`, and may be sent to `/v1/traces` or `/v1/logs` of a collector.
        Payloads are refs: `POST content/pack` has their contents. A span may come more than once, as long as it has not
        ended, or when spans arrive while it is read; sending all versions gives the same record.
        """
        record = await open_record(self._store, self._runner, self._project_id, run)
        return json_answer(await list_otlp(record, limit, cursor))

    async def bundle(self, run: routing.RunId) -> Response:
        """The run with all that it names, and the runs that it was forked from, as `playhead import` reads it.

        It is a gzipped tar with the files of `playhead export`. Runs whose contents have more than 1 GiB get 413: that
        command writes them.
        """
        record = await open_record(self._store, self._runner, self._project_id, run)
        # The file has no name in the file system, so it disappears however the download ends.
        file = await asyncio.to_thread(tempfile.TemporaryFile, prefix="playhead-bundle-")
        try:
            async with self._packing:
                await write_bundle(record, file)
        except BaseException:
            file.close()
            raise
        return FileDownload(file, f"playhead-{record.run[-8:]}.tar.gz", _GZIP)


_GZIP = "application/gzip"
_BUNDLE: Responses = {200: {"description": "The bundle.", "content": {_GZIP: {}}}}


def add_routes(
    api: ApiRoutes, store: ReadStore, runner: RunProjector, project_id: int, declared: OperationRoutes
) -> None:
    """Registers the operations of this file."""
    routes = ExportRoutes(store, runner, project_id)
    get(api, "runs", "/runs/{run}/otlp", routes.otlp, operations.Page[OtlpRequest])
    declared.add(api, RunOperations.test_of)
    api.get(
        "/runs/{run}/bundle",
        tags=["runs"],
        name="bundle",
        responses=_BUNDLE | refusals(404, 413),
        response_class=Response,
    )(routes.bundle)
