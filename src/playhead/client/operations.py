"""The operations of the query API, as methods of both clients.

Most are declared in `playhead.wire.operations`. Of the others, each method returns a request as an object (`requests`),
which `Client` and `AsyncClient` send. `Operations` has all of them.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal
from urllib.parse import quote

from playhead.client.requests import (
    ApiRequest,
    WatchRequest,
    client_method,
    watch_client_method,
)
from playhead.wire import operations
from playhead.wire.operations.bounds import time_text
from playhead.wire.operations.declared import DeclaredOperations

# --- runs, and what was recorded in them ------------------------------------------------------------------------------


class RunsOperations:
    """Runs, and what was recorded in them."""

    @watch_client_method
    def watch(
        self,
        run: str | None = None,
        *,
        after: int = 0,
        kinds: Sequence[str] = (),
        priority: Literal["critical", "normal"] | None = None,
        since: str | datetime | None = None,
        preview: int = 0,
        limit: int | None = None,
        on_changed: Callable[[operations.RecordedEvent], None] | None = None,
        on_moved: Callable[[operations.EventsMoved], None] | None = None,
        reconnect_seconds: float = 300.0,
    ) -> WatchRequest:
        """Events of a run as they happen: first the stored ones (with a seq greater than `after`), then each new one,
        until the run has ended. Without `run`: events of all runs from now on (or from `since`), without an end.

        Yields each event once. After a lost connection, reconnects for up to `reconnect_seconds`; no event is missed.
        `on_changed` is called with an event that was yielded before and whose data has changed, `on_moved` when a late
        event changed the seqs of other events.
        """
        params = {
            "preview": preview or None,
            "after": None if run is None else after or None,
            "kinds": ",".join(kinds) or None,
            "priority": priority,
            "since": time_text(since),
        }
        return WatchRequest(run, params, limit, on_changed, on_moved, reconnect_seconds)


class ThreadsOperations:
    """Threads of messages."""

    @client_method
    def thread(self, ref: str) -> ApiRequest[operations.ThreadMessages]:
        """The messages of a thread."""
        return ApiRequest("content/" + quote(ref, safe=":"), {"as": "messages"})


# --- operating the collector ------------------------------------------------------------------------------------------


class IndexOperations:
    """The search index."""

    @client_method
    def unindexed_runs(self) -> ApiRequest[int]:
        """The number of sealed runs that are not indexed yet, so that searches do not find them; at most 1,000."""
        return ApiRequest("search/decisions", {"limit": 1}, read=lambda response: response.json()["unindexed"])


# --- all operations ---------------------------------------------------------------------------------------------------


class Operations(
    DeclaredOperations,
    RunsOperations,
    ThreadsOperations,
    IndexOperations,
):
    """All operations: what `Client` and `AsyncClient` have in common."""
