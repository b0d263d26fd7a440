"""The query API on a socket, over a store in memory."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from playhead_collector.analysis.configuration import Configured
from playhead_collector.serve import errors, query_api
from playhead_collector.serve.identity import IdentityHeader
from tests.support.readers.fake import FakeRunner


def app_on(store: Any, configured: Configured | None = None) -> FastAPI:
    app = FastAPI(openapi_tags=query_api.TAGS)
    query_api.add_routes(app, store, FakeRunner(), configured=configured)
    errors.install(app)
    app.add_middleware(IdentityHeader)
    return app


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The address of the app, which is gone when the block ends."""
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started.set()

    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, ws="none", lifespan="off")
    server = Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(60)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
