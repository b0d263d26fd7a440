"""[client]: live events of runs: server-sent events, with automatic reconnection."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, cast

import httpx

from playhead.client.requests import ApiRequest, WatchRequest, only_what_can_be_sent, run_path
from playhead.client.responses import answer
from playhead.errors import CollectorUnreachable
from playhead.model.canonical import parse_json
from playhead.wire.delays import delay_s, jittered
from playhead.wire.operations import RecordedEvent, RunDetail

# The collector sends something every 15 s by default: a connection that is silent for longer than this is lost.
_SILENCE_SECONDS = 60.0
_FIRST_DELAY, _LAST_DELAY = 0.25, 10.0
# Maximum number of events that the collector sends on one connection.
_MOST = 1_000
# For how long a busy collector is tried again, if no connection was made yet.
_FIRST_SECONDS = 10.0
_NOTHING_NEW: Final = 204
_BUSY: Final = frozenset({429, 502, 503, 504})


def named_run(run: str) -> ApiRequest[RunDetail]:
    """Returns the request for the run with this name, to get its id: a name such as `last` may mean another run
    later."""
    return ApiRequest(run_path(run))


@dataclass(slots=True)
class StreamMessage:
    """A server-sent event. `kind` is empty for the default type."""

    kind: str = ""
    data: bytes = b""


@dataclass(slots=True)
class MessageDecoder:
    """Decodes server-sent events from bytes that arrive in any portions. `last_id`: the last id that was received."""

    last_id: str | None = None
    _rest: bytes = b""
    _id: str | None = None
    _message: StreamMessage = field(default_factory=StreamMessage)

    def feed(self, data: bytes) -> Iterator[StreamMessage]:
        """Yields the messages that these bytes complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if (message := self._line(line.removesuffix(b"\r"))) is not None:
                yield message

    def cut(self) -> None:
        """Drops the beginning of a message, after the connection has ended."""
        self._rest, self._message, self._id = b"", StreamMessage(), self.last_id

    def _line(self, line: bytes) -> StreamMessage | None:
        if not line:
            message, self._message = self._message, StreamMessage()
            self.last_id = self._id
            return message if message.data else None
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._message.data += (b"\n" if self._message.data else b"") + value
            case b"event":
                self._message.kind = value.decode("utf-8", "replace")
            case b"id":
                self._id = value.decode("utf-8", "replace")
            case _:
                pass  # comments, and what a later version may send
        return None


class Watch:
    """One stream of events, over several connections. `clock` returns seconds."""

    def __init__(self, request: WatchRequest, run: str | None, clock: Callable[[], float]) -> None:
        """`run`: the id of the run that `request` names."""
        self.is_done = request.limit == 0
        self._request = request
        self._path = "runs/stream" if run is None else run_path(run, "events")
        self._left = request.limit
        self._decoder = MessageDecoder()
        self._clock = clock
        self._was_open = False
        self._lost_at: float | None = None
        self._attempts = 0

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Returns the request for the next connection."""
        params = {name: value for name, value in self._request.params.items() if value is not None}
        if self._left is not None:
            params["limit"] = min(self._left, _MOST)
        headers = {"accept": "text/event-stream", "cache-control": "no-store"}
        if self._decoder.last_id is not None:
            headers["last-event-id"] = self._decoder.last_id
        timeout = httpx.Timeout(**{**http.timeout.as_dict(), "read": _SILENCE_SECONDS})
        with only_what_can_be_sent():
            return http.build_request("GET", self._path, params=params, headers=headers, timeout=timeout)

    def opened(self, response: httpx.Response) -> bool:
        """Whether the response is a stream. If not, either the stream has ended (then `is_done` is set), or the request
        was refused: call `check`."""
        self.is_done = response.status_code == _NOTHING_NEW
        return response.is_success and not self.is_done

    def check(self, base_url: str, response: httpx.Response) -> None:
        """Raises ClientError for an error response, unless the request may be sent again later."""
        is_new = not self._was_open and self._lost_at is not None and self._clock() - self._lost_at > _FIRST_SECONDS
        if response.status_code not in _BUSY or is_new:
            request: ApiRequest[object] = ApiRequest(self._path)
            answer(base_url, request, response)

    def feed(self, data: bytes) -> Iterator[RecordedEvent]:
        """Yields the events in these bytes."""
        self._was_open, self._lost_at, self._attempts = True, None, 0
        for message in self._decoder.feed(data):
            value = parse_json(message.data)
            match message.kind:
                case "":
                    if self._left is not None:
                        self._left -= 1
                        self.is_done = self._left <= 0
                    yield cast(RecordedEvent, value)
                case "changed":
                    if self._request.on_changed is not None:
                        self._request.on_changed(value)
                case "moved":
                    if self._request.on_moved is not None:
                        self._request.on_moved(value)
                case "end":
                    self.is_done = self.is_done or not (value["reconnect"] or value["reason"] == "limit")
                case _:
                    pass  # a message of a later version

    def lost(self, unreachable: CollectorUnreachable | None = None) -> float:
        """Handles a connection that has ended or was refused. Returns the seconds to wait before the next one.

        Raises CollectorUnreachable (`unreachable`, if it is given) if there was never a connection, or none for
        `reconnect_seconds`.
        """
        self._decoder.cut()
        now = self._clock()
        if self._lost_at is None:
            self._lost_at = now
        if unreachable is not None and not self._was_open:
            raise unreachable
        if now - self._lost_at > self._request.reconnect_seconds:
            raise unreachable or CollectorUnreachable(
                "the collector refuses live streams for too long: try again later"
            )
        self._attempts += 1
        # Jitter, so that clients of a restarted collector come one by one.
        return jittered(delay_s(self._attempts, _FIRST_DELAY, _LAST_DELAY))
