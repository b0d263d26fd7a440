"""Opens live streams: events of a run, or of all runs, as they become known."""

from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack

from playhead_collector.handlers.asking import Asking, needs_collector
from playhead_collector.handlers.replies import LiveStream
from playhead_collector.live.follower import Follower
from playhead_collector.live.messages import StreamOptions, StreamPosition, read_position
from playhead_collector.live.reading import StreamReader
from playhead_collector.read.events import EventFilter


def stream_view(kinds: AbstractSet[str], priority: str | None, since_ns: int | None, preview: int) -> StreamOptions:
    """Returns which events a client gets, and how much of their values."""
    return StreamOptions(EventFilter(frozenset(kinds), priority, since_ns), preview)


async def open_stream(
    asking: Asking,
    run: str | None,
    view: StreamOptions,
    limit: int | None,
    *,
    after: int = 0,
    since_ns: int | None = None,
) -> LiveStream | None:
    """Opens the stream to one client. `run`: the id; None: events of all runs. `limit`: ends after so many.

    Returns None if the run has ended and the client has received all its events. Raises Refused, StoreUnavailable.
    """
    services, last_event_id = asking.services, asking.request.last_event_id
    hub = services.hub
    if hub is None or services.changes is None:
        raise needs_collector()
    last_position = read_position(last_event_id) if last_event_id else None
    reader = StreamReader(services.changes, asking.project_id, run)
    if last_position is not None:
        await reader.check(last_position)
    async with AsyncExitStack() as stack:
        channel = await stack.enter_async_context(hub.follow(asking.project_id, run))
        position = last_position or channel.base
        if last_position is None and run is None:
            position = await reader.beginning(since_ns) or position
        elif last_position is None:
            position = StreamPosition(position.change, after, is_replay=True)
        follower = Follower(hub, channel, position, view, services.reading, limit)
        if last_position is not None and follower.is_done():
            return None
        return LiveStream(follower.messages(), stack.pop_all())
    raise AssertionError  # the stack suppresses no exception
