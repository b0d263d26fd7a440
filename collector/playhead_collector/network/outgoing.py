"""A transport that knows how much its client has taken."""

import asyncio
from collections.abc import Callable
from typing import Any

from playhead_collector.network.limits import MIN_TAKEN


class Outgoing:
    """Stands in front of a transport and counts what is written; `on_close` is called in place of closing it.

    Everything else is the transport's.
    """

    def __init__(self, transport: asyncio.Transport, on_close: Callable[[], None]) -> None:
        self._transport = transport
        self._on_close = on_close
        self._written = 0
        self._mark = 0  # taken when the present period began
        self._since: float | None = None  # when it began; None: nothing waits

    def write(self, data: bytes) -> None:
        """As the transport's; does nothing once the connection is cut, of which an answer under way does not know yet.

        uvloop's transport raises then, and each such request would be logged with its traceback.
        """
        if self._transport.is_closing():
            return
        self._written += len(data)
        self._transport.write(data)

    def close(self) -> None:
        """Calls `on_close`, which closes the transport sooner or later."""
        self._on_close()

    def close_now(self) -> None:
        """As the transport's `close`."""
        self._transport.close()

    def is_stuck(self, now: float, seconds: float) -> bool:
        """Whether the client took less than MIN_TAKEN in the last `seconds`, though there was more for it."""
        waiting = self._transport.get_write_buffer_size()
        taken = self._written - waiting
        if not waiting:
            self._since = None
        elif self._since is None or taken - self._mark >= MIN_TAKEN:
            self._since, self._mark = now, taken
        return self._since is not None and now - self._since > seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
