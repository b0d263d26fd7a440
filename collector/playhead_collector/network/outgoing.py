"""A transport that measures how much its client has received."""

import asyncio
from collections.abc import Callable
from typing import Any

from playhead_collector.network.limits import MIN_TAKEN


class Outgoing:
    """Wraps a transport and counts the written bytes. `on_close` is called instead of closing it.

    All other attributes are those of the transport.
    """

    def __init__(self, transport: asyncio.Transport, on_close: Callable[[], None]) -> None:
        self._transport = transport
        self._on_close = on_close
        self._written = 0
        self._mark = 0  # bytes that the client had received when the current period began
        self._since: float | None = None  # start of the period; None: no bytes are waiting

    def write(self, data: bytes) -> None:
        """Writes to the transport. Does nothing once the connection is cut, which an answer in progress may not know
        yet.

        uvloop's transport raises in that case, and each such request would be logged with its traceback.
        """
        if self._transport.is_closing():
            return
        self._written += len(data)
        self._transport.write(data)

    def close(self) -> None:
        """Calls `on_close`, which closes the transport now or later."""
        self._on_close()

    def close_now(self) -> None:
        """Closes the transport."""
        self._transport.close()

    def is_stuck(self, now: float, seconds: float) -> bool:
        """Whether the client received less than MIN_TAKEN bytes in the last `seconds`, although more were waiting."""
        waiting = self._transport.get_write_buffer_size()
        received = self._written - waiting
        if not waiting:
            self._since = None
        elif self._since is None or received - self._mark >= MIN_TAKEN:
            self._since, self._mark = now, received
        return self._since is not None and now - self._since > seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
