"""The operations of the query API, as methods of the clients.

Most are declared in `playhead.wire.operations`. By hand are written those whose answer is not simply that of a request:
`watch`, which reconnects, `thread`, which reads the bytes of a content, and `unindexed_runs`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Literal, Self, TypeVar, cast

from playhead.client.requests import WatchRequest, watch_client_method
from playhead.model.canonical import Content, parse_json
from playhead.wire import operations
from playhead.wire.operations.bounds import time_text
from playhead.wire.operations.declared import DeclaredOperations
from playhead.wire.operations.operation import OperationCall
from playhead.wire.operations.page import Page

T = TypeVar("T")


class Operations(DeclaredOperations):
    """All operations of both clients."""

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


class BlockingClient(Operations, ABC):
    """A client whose methods wait for their answers: of a collector, or of the journal. To be used in a `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Closes connections and files."""

    @abstractmethod
    def answer_of(self, call: OperationCall[T]) -> T:
        """Returns the answer of a declared operation. Raises ClientError."""

    @abstractmethod
    def items_of(self, call: OperationCall[Page[T]]) -> Iterator[T]:
        """Yields the items of a declared list; requests the next page when it is needed. Raises ClientError."""

    @abstractmethod
    def events_of(self, call: OperationCall[T]) -> Iterator[T]:
        """Yields declared events as they happen. Raises ClientError."""

    @abstractmethod
    def stream_events(self, request: WatchRequest) -> Iterator[operations.RecordedEvent]:
        """Yields events as they happen; reconnects when the connection is lost. Raises ClientError."""

    @abstractmethod
    def unindexed_runs(self) -> int:
        """The number of sealed runs that are not indexed yet, so that searches do not find them; at most 1,000."""

    def thread(self, ref: str) -> operations.ThreadMessages:
        """The messages of a thread."""
        return messages_in(self.content(ref, view="messages"))


def messages_in(content: Content) -> operations.ThreadMessages:
    """Returns the messages in the content of a thread."""
    return cast(operations.ThreadMessages, parse_json(content.data))
