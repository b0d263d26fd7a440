"""Live streams: events of a run, or of all runs, as server-sent events."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Response
from starlette.types import Receive, Scope, Send

from playhead_collector.live.follower import Follower
from playhead_collector.live.hub import LiveHub
from playhead_collector.live.messages import StreamOptions, StreamPosition, read_position
from playhead_collector.live.reading import StreamReader
from playhead_collector.read.events import EventFilter
from playhead_collector.serve import routing
from playhead_collector.serve.routing import Responses, refusals
from playhead_collector.store.ports import Store

_MEDIA_TYPE = "text/event-stream"
_STREAM: Final[dict[str, Any]] = {
    "content": {_MEDIA_TYPE: {}},
    "description": "Server-sent events. A message without a type is an event of a run as JSON; `changed` is one that "
    "was sent before and has other data now; `moved` says from which seq on events of a run have other seqs than "
    "before; `end` says why the stream ends, and whether to connect again.",
}
EVENT_STREAM: Final[Responses] = {
    200: _STREAM,
    204: {"description": "The run has ended, and the client has received all its events: do not connect again."},
    **refusals(410),
}
_HEADERS = {"cache-control": "no-store", "vary": "accept", "x-accel-buffering": "no"}


class LiveStreams:
    """Opens live streams. `turn` limits concurrent reads of the database."""

    def __init__(
        self, hub: LiveHub, store: Store, project_id: int, turn: Callable[[], AbstractAsyncContextManager[None]]
    ) -> None:
        self._hub, self._store, self._project_id, self._turn = hub, store, project_id, turn

    async def runs(
        self,
        kinds: routing.Kinds = None,
        priority: routing.Priority | None = None,
        since: routing.Time = None,
        preview: Annotated[
            int, Query(ge=0, le=10_000, description="Length of the preview of each value, in characters; 0: none.")
        ] = 0,
        limit: Annotated[int | None, Query(ge=1, le=1_000, description="Ends after so many events.")] = None,
        last_event_id: routing.LastEventId = None,
    ) -> Response:
        """Events of all runs, live, as they become known: server-sent events.

        It begins with what becomes known from now on, with `since` with what became known since then, whenever it
        happened, and goes on behind `Last-Event-ID`. Events of one run are in order; a fork's events begin where it
        parts from its parent.
        """
        view = StreamOptions(EventFilter(routing.read_kinds(kinds), priority), preview)
        return await self.stream(None, view, last_event_id, limit, since_ns=routing.read_time(since))

    async def stream(
        self,
        run: str | None,
        view: StreamOptions,
        last_event_id: str | None,
        limit: int | None,
        *,
        after: int = 0,
        since_ns: int | None = None,
    ) -> Response:
        """Returns the response to one client. `run` None: events of all runs. Raises Refused, StoreUnavailable."""
        last_position = read_position(last_event_id) if last_event_id else None
        reader = StreamReader(self._store, self._project_id, run)
        if last_position is not None:
            await reader.check(last_position)
        async with AsyncExitStack() as stack:
            channel = await stack.enter_async_context(self._hub.follow(run))
            position = last_position or channel.base
            if last_position is None and run is None:
                position = await reader.beginning(since_ns) or position
            elif last_position is None:
                position = StreamPosition(position.change, after, is_replay=True)
            follower = Follower(self._hub, channel, position, view, self._turn, limit)
            if last_position is not None and follower.is_done():
                return Response(status_code=204, headers=_HEADERS)
            return _StreamResponse(follower, stack.pop_all())
        raise AssertionError  # the stack suppresses no exception


class _StreamResponse(Response):
    """Sends the messages of a follower until the stream ends or the client disconnects; then closes `stack`."""

    media_type = _MEDIA_TYPE

    def __init__(self, follower: Follower, stack: AsyncExitStack) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._follower, self._stack = follower, stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            sending = asyncio.create_task(self._send(send))
            gone = asyncio.create_task(_disconnected(receive))
            try:
                await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (sending, gone):
                    task.cancel()
                results = await asyncio.gather(sending, gone, return_exceptions=True)
        for error in results:
            if isinstance(error, Exception) and not isinstance(error, OSError):  # OSError: the client has disconnected
                raise error

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for data in self._follower.messages():
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def add_routes(api: APIRouter, streams: LiveStreams) -> None:
    """Registers the operation of this file. Must be called before routes with a run in their path are registered."""
    also: dict[int | str, dict[str, Any]] = {200: _STREAM, **refusals(410)}
    api.get("/runs/stream", tags=["runs"], name="stream", responses=also, response_class=Response)(streams.runs)
